"""What a refusal means for a thread: who may be asked again, when, and when nobody is any more (SPEC §8).

A refusal is a verdict on the request's bytes. Its cause does not fade with time, so what is bounded here is not how
often to ask again but whether: a few probes, then never until the bytes change.
"""

from datetime import UTC, datetime
from typing import Literal

from stoic.records import Json, Record

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
PROBE_DELAYS_MS = (15 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS)
"""After the first, second and third refusal: how long until the next send that no person caused."""
FROZEN_AT = len(PROBE_DELAYS_MS) + 1
"""So many refusals leave no probe: nothing is sent until a boundary."""
REMEMBERED_MS = 6 * HOUR_MS
"""So long a request that was refused is not sent again, whatever thread it comes from."""
LADDERS_A_TURN = 2
"""One more refused round ends the turn, even if withholding helped before."""

ThreadKind = Literal["chat", "task", "repair"]


class Disposition(Record, frozen=True):
    """What follows from a refusal."""

    ladder: bool
    """Whether parts of the increment are withheld and the round is sent again, to the same provider."""
    others: bool
    """Whether another provider may be asked in the same turn."""
    tombstone: bool
    """Whether the thread never runs again."""


class RefusalState(Record, frozen=True):
    """What one provider's refusals in one segment have come to."""

    provider: str
    model: str
    category: str | None
    refusals: int
    """Verdicts; a turn whose ladder is exhausted counts once."""
    refused_at_ms: int | None
    """The last real refusal; None: nobody knows, and then it is frozen."""
    segment: str = ""
    """Where it began; notices are counted by it."""

    @property
    def is_frozen(self) -> bool:
        """Whether no probe is left."""
        return self.refusals >= FROZEN_AT or self.refused_at_ms is None

    @property
    def probe_at_ms(self) -> int | None:
        """When the next send that no person caused is due; None: never."""
        if self.is_frozen or self.refused_at_ms is None:
            return None
        return self.refused_at_ms + PROBE_DELAYS_MS[self.refusals - 1]

    @property
    def probes_used(self) -> int:
        """How many probes were refused."""
        return min(self.refusals, FROZEN_AT) - 1


def counts_as_task(kind: str, scope: str) -> bool:
    """Tell whether a thread stops at its first refusal: a task, or a worker of whatever kind but repair (SPEC §2)."""
    return kind != "repair" and (kind == "task" or scope == "worker")


def disposition(kind: str, scope: str, refusal_scope: str | None) -> Disposition:
    """Return what follows from a refusal.

    Args:
        kind: the thread's: `chat`, `task` or `repair`
        scope: the thread's: `main` or `worker`
        refusal_scope: what the verdict is about; `account` and `agent_action` are no matter of the bytes
    """
    if counts_as_task(kind, scope):
        return Disposition(ladder=False, others=False, tombstone=True)
    about_bytes = refusal_scope not in {"account", "agent_action"}
    return Disposition(ladder=about_bytes, others=about_bytes and kind == "repair", tombstone=False)


def may_send(state: RefusalState | None, now_ms: int, *, human: bool) -> Literal["yes", "probe", "no"]:
    """Tell whether a provider may be asked: `probe` is one send without a ladder, `no` is a skip.

    Args:
        state: of this provider in this segment; None: it has not refused
        now_ms: epoch milliseconds
        human: whether a person's message causes the send
    """
    if state is None or human:
        return "yes"
    due_ms = state.probe_at_ms
    return "no" if due_ms is None or now_ms < due_ms else "probe"


def after_refusal(
    known: RefusalState | None,
    *,
    provider: str,
    model: str,
    category: str | None,
    now_ms: int,
    human: bool,
    segment: str = "",
) -> RefusalState:
    """Return the state after a real refusal; one that a person caused raises the count to 1 but not further."""
    before = known.refusals if known else 0
    return RefusalState(
        provider=provider,
        model=model,
        category=category,
        refusals=max(before, 1) if human else min(before + 1, FROZEN_AT),
        refused_at_ms=now_ms,
        segment=known.segment if known else segment,
    )


def card(state: RefusalState, *, skipped: bool) -> dict[str, Json]:
    """Return what the log keeps of a refusal or a skip; a skip copies both count and time, so no clock moves."""
    return {
        "provider": state.provider,
        "model": state.model,
        "category": state.category,
        "refusals": state.refusals,
        "refused_at": state.refused_at_ms,
        "segment": state.segment,
        "skipped": skipped,
        "rule": rule_of(state),
    }


def state_of(content: dict[str, Json]) -> RefusalState:
    """Read a card. One without a count or with an unreadable time is frozen: a boundary can undo that."""
    count = content.get("refusals")
    known = count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else FROZEN_AT
    return RefusalState(
        provider=str(content.get("provider") or ""),
        model=str(content.get("model") or ""),
        category=content["category"] if isinstance(content.get("category"), str) else None,
        refusals=min(known, FROZEN_AT),
        refused_at_ms=_time_ms(content.get("refused_at")),
        segment=str(content.get("segment") or ""),
    )


def rule() -> str:
    """Say the whole rule, from the numbers it is made of."""
    steps = ", ".join(duration(delay) for delay in PROBE_DELAYS_MS)
    return (
        f"After a refusal, what no person sends (events, probes of a repair thread) is sent to that provider once after each "
        f"of {steps}; after {FROZEN_AT} refusals not again until a person starts fresh, compacts or switches. A person's "
        "message is always sent."
    )


def rule_of(state: RefusalState) -> str:
    """Say what happens next, from the numbers the rule is made of."""
    if state.is_frozen:
        return f"frozen after {state.refusals} refusals: not asked again until a boundary or a person's message"
    delay = duration(PROBE_DELAYS_MS[state.refusals - 1])
    return f"refusal {state.refusals} of {FROZEN_AT}: what no person sends waits {delay}; a person's message is always sent"


def duration(ms: int) -> str:
    """Return a length of time in whole hours or minutes."""
    return f"{ms // HOUR_MS} h" if ms % HOUR_MS == 0 else f"{ms // MINUTE_MS} min"


def _time_ms(value: Json) -> int | None:
    """Return a time that is a whole number of epoch milliseconds, or a date and time in ISO 8601; None: it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)
