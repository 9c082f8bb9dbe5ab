"""The transport retry budget of one round on one route: how long to wait, or that it is used up (SPEC §6)."""

from stoic.core.classify.verdict import Verdict
from stoic.core.failures import Axis
from stoic.records import Record


class RetryPolicy(Record, frozen=True):
    """The numbers of SPEC §6; one budget for all layers."""

    delays_ms: tuple[int, ...] = (1_000, 2_000, 4_000)
    """The wait before each retry; its length is the number of retries."""
    longest_stated_wait_ms: int = 60_000
    """A longer stated wait is not waited for within the round."""


def retry_at_ms(policy: RetryPolicy, verdict: Verdict, failed_attempts: int, now_ms: int) -> int | None:
    """Tell when the round may be sent again.

    Args:
        policy: the numbers
        verdict: what the newest attempt's failure is
        failed_attempts: recorded failed attempts of this round on this route, the newest included
        now_ms: the time the newest attempt ended

    Returns:
        Epoch milliseconds, or None when the round is not sent again.
    """
    if verdict.recovers_with is not Axis.TIME or failed_attempts > len(policy.delays_ms):
        return None
    delay_ms = policy.delays_ms[failed_attempts - 1]
    if verdict.retry_after_ms is not None:
        if verdict.retry_after_ms > policy.longest_stated_wait_ms:
            return None
        delay_ms = max(delay_ms, verdict.retry_after_ms)
    return now_ms + delay_ms
