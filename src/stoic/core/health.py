"""The breaker of a route: what attempts say about its health, and whether a request may go there (SPEC §7).

```mermaid
stateDiagram-v2
    closed --> open: bad, the budget used up or too often
    open --> half_open: its time or event came
    half_open --> closed: the trial was good
    half_open --> open: the trial was bad
    half_open --> half_open: the trial said nothing
```
"""

from enum import StrEnum
from typing import Literal

from msgspec.structs import asdict, replace

from stoic.core.failures import Axis, FailureClass
from stoic.records import Health, Record


class Says(StrEnum):
    """What an attempt says about its route."""

    GOOD = "good"
    """A complete reply."""
    BAD = "bad"
    """A failure of the route: time-shaped, or one that waits for somebody outside."""
    NOTHING = "nothing"
    """A request-shaped error, a refusal or a cancel: no evidence either way."""


class HealthPolicy(Record, frozen=True):
    """The numbers of SPEC §7."""

    threshold: int = 4
    """Bad attempts in a row that open a breaker, whatever round they belong to."""
    cooldowns_ms: tuple[int, ...] = (30_000, 60_000, 300_000)
    """How long it stays open the first, second, … time in a row; the last repeats."""
    trial_ms: int = 600_000
    """How long a half-open route's one trial may take before another may try."""
    human_try_ms: int = 600_000
    """How often a human message may try a route that waits for its quota."""


class Signs(Record, frozen=True):
    """Fingerprints of what a closed route may wait for."""

    credential: str
    config: str


class Attempt(Record, frozen=True):
    """What an attempt said about its route, with all that its consequences depend on."""

    policy: HealthPolicy
    signs: Signs
    """The route's credential and configuration as the attempt used them."""
    ended_at_ms: int
    said: Says
    failure: FailureClass | None = None
    axis: Axis | None = None
    """What the failure recovers with."""
    retry_after_ms: int | None = None
    """The stated wait."""
    used_up: bool = False
    """Whether the round's retry budget is used up with this attempt."""


class Attempted(Health, frozen=True, kw_only=True):
    """A route's health after an attempt, as this turn knows it; what others have stored meanwhile counts as well."""

    attempt: Attempt

    def onto(self, stored: Health | None) -> Health:
        """Return the health after the attempt on a route that stands as it is stored."""
        return after_attempt(stored or Health(route=self.route), self.attempt)


class Admission(Record, frozen=True):
    """Whether a request may go to a route now."""

    kind: Literal["yes", "trial", "no"]
    until_ms: int | None = None
    """When `no` ends by the clock; None: an event ends it, or a running trial."""
    waits_for: str | None = None
    failure_class: str | None = None


OPEN_AT_ONCE = frozenset({FailureClass.AUTH, FailureClass.QUOTA, FailureClass.PERMISSION, FailureClass.MODEL_NOT_FOUND})
"""Classes that no further attempt of the same kind can cure."""


def says(failure: FailureClass | None, axis: Axis | None, scope: str | None = None) -> Says:
    """Tell what an attempt's verdict says about its route; a refusal says something only when access was revoked."""
    if failure is None:
        return Says.GOOD
    if failure is FailureClass.REFUSAL:
        return Says.BAD if scope == "account" else Says.NOTHING
    return Says.BAD if axis in {Axis.TIME, Axis.CREDENTIAL, Axis.CONFIG} else Says.NOTHING


def admit(health: Health | None, policy: HealthPolicy, signs: Signs, now_ms: int, *, human: bool = False) -> Admission:
    """Tell whether a request may go to a route.

    Args:
        health: the route's state; None: nothing is known, it is closed
        policy: the numbers
        signs: the route's credential and configuration as they are now
        now_ms: epoch milliseconds
        human: whether a person's message asks for it
    """
    if health is None or health.state == "closed":
        return Admission(kind="yes")
    if health.state == "half_open":
        return _admit_trial(health, now_ms)
    if _event_came(health, signs) or (health.until_ms is not None and now_ms >= health.until_ms):
        return _admit_trial(health, now_ms)
    may_try = health.failure_class == FailureClass.QUOTA and health.until_ms is None and human
    if may_try and now_ms >= (health.tried_at_ms or health.failed_at_ms) + policy.human_try_ms:
        return Admission(kind="trial")
    return Admission(
        kind="no", until_ms=health.until_ms, waits_for=health.waits_for, failure_class=health.failure_class
    )


def begin_trial(health: Health, policy: HealthPolicy, now_ms: int, holder: str | None = None) -> Health:
    """Return the state while the one trial runs; its deadline frees the slot if nobody reports."""
    until_ms = now_ms + policy.trial_ms
    return replace(health, state="half_open", trial_until_ms=until_ms, trial_holder=holder, tried_at_ms=now_ms)


def free_trial(health: Health) -> Health:
    """Return the state after a trial that said nothing: half-open for the next."""
    return replace(health, trial_until_ms=None, trial_holder=None)


def retry_now(health: Health) -> Health:
    """Return the state after a person said "retry now" or selected the route again: the next request is a trial."""
    return health if health.state == "closed" else replace(free_trial(health), state="half_open")


def give_back(known: Health) -> Attempted:
    """Return what is to be stored of a route whose trial was taken and not used: it is half-open for the next."""
    nothing = Attempt(policy=HealthPolicy(), signs=Signs(credential="", config=""), ended_at_ms=0, said=Says.NOTHING)
    return attempted(known, nothing)


def attempted(known: Health, attempt: Attempt) -> Attempted:
    """Return what is to be stored after an attempt on a route that stands as it is known."""
    return Attempted(**asdict(after_attempt(known, attempt)), attempt=attempt)


def after_attempt(health: Health, attempt: Attempt) -> Health:
    """Return a route's state after an attempt on it."""
    if attempt.said is Says.GOOD:
        return Health(route=health.route)
    if attempt.said is Says.NOTHING:
        return free_trial(health)
    policy, failure, stated_ms = attempt.policy, attempt.failure, attempt.retry_after_ms
    bad = health.bad_in_a_row + 1
    failed_at_ms = max(health.failed_at_ms, attempt.ended_at_ms)
    known = replace(free_trial(health), bad_in_a_row=bad, failed_at_ms=failed_at_ms, failure_class=failure)
    waits = attempt.axis in {Axis.CREDENTIAL, Axis.CONFIG} or failure in OPEN_AT_ONCE
    if not (waits or attempt.used_up or health.state != "closed" or bad >= policy.threshold):
        return known
    # One that had begun before it opened opens nothing anew.
    openings = health.openings + (health.state != "open")
    cooldown_ms = policy.cooldowns_ms[min(openings, len(policy.cooldowns_ms)) - 1]
    until_ms = failed_at_ms + max(cooldown_ms, stated_ms or 0)
    if waits:
        until_ms = failed_at_ms + stated_ms if stated_ms is not None else None
    return replace(
        known,
        state="open",
        openings=openings,
        until_ms=until_ms,
        waits_for=attempt.axis if waits else Axis.TIME,
        credential=attempt.signs.credential,
        config=attempt.signs.config,
        tried_at_ms=None,
    )


def _admit_trial(health: Health, now_ms: int) -> Admission:
    taken = health.trial_until_ms is not None and now_ms < health.trial_until_ms
    if taken:
        return Admission(kind="no", waits_for="trial", failure_class=health.failure_class)
    return Admission(kind="trial")


def _event_came(health: Health, signs: Signs) -> bool:
    if health.waits_for == Axis.CREDENTIAL:
        return signs.credential != health.credential
    return health.waits_for == Axis.CONFIG and (signs.config, signs.credential) != (health.config, health.credential)
