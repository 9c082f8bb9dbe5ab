"""What a person is told: the notices with their keys and texts, and which of them go out on one day (SPEC §13).

A text is built from enumerated fields only. What a provider or a model wrote gets into one as a single word of harmless
characters, or as `other`; names that a person chose (threads, models) stand in commands as they are, quoted.
"""

import re
import shlex
from collections import Counter
from collections.abc import Sequence

from stoic.core import notes
from stoic.core.budget import SCOPES, Use, amounts
from stoic.core.commands import Route
from stoic.core.notice_forms import DIGEST, FORMS
from stoic.core.quarantine import NeutralEvent
from stoic.core.quarantine.template import OTHER, field
from stoic.core.refusal import FROZEN_AT, RefusalState, rule
from stoic.moments import date_of
from stoic.records import DAY_MS, Health, Notice, Operation, Outcome, Question, Record, StoredNotice

GRANTED_CALLS = 10
"""What the notice of a stopped loop offers; a person may write another number."""

_MODEL = re.compile(r"[A-Za-z0-9._:@/+-]{1,128}")
"""A model's name, which may have slashes; one that does not fit is `other`."""


# ---- builders -----------------------------------------------------------------------------------


def chat_refused(thread: str, segment: str, state: RefusalState, *, withheld: bool = False) -> Notice:
    """Say that a chat was stopped by a refusal; one notice in a segment, however often it is refused there.

    Args:
        thread: its id
        segment: where the refusal was
        state: of the provider after it
        withheld: whether something was withheld and asked without, in vain
    """
    return _refusal("chat_refused", thread, segment, [state], probes=0, withheld=withheld)


def task_refused(thread: str, segment: str, state: RefusalState) -> Notice:
    """Say that a task which nobody owns was ended by a refusal."""
    return _refusal("task_refused", thread, segment, [state], probes=0)


def repair_refused(
    thread: str, segment: str, states: Sequence[RefusalState], *, withheld: bool = False
) -> Notice | None:
    """Say that a repair thread's candidates have refused, first and when none may be asked again; None: neither.

    Args:
        thread: its id
        segment: where the refusals began
        states: of each provider that has refused in it, as they stand after the newest refusal
        withheld: whether something was withheld and asked without, in vain
    """
    if all(each.is_frozen for each in states):
        return _refusal("repair_frozen", thread, segment, states, probes=FROZEN_AT - 1)
    if any(each.probes_used == 0 for each in states):
        return _refusal("repair_refused", thread, segment, states, probes=0, withheld=withheld)
    return None


def access_revoked(thread: str, route: Route, credential: str, category: str | None, now_ms: int) -> Notice:
    """Say that a provider refuses the account; `credential` is its fingerprint."""
    return _notice("access_revoked", thread, **_asked(route, category), credential=credential, day=_date(now_ms))


def decision_wanted(thread: str, segment: str, route: Route, category: str | None) -> Notice:
    """Say that a provider wants a person to decide about what the agent does."""
    return _notice("decision_wanted", thread, **_asked(route, category), segment=segment)


def approval_wanted(thread: str, question: Question) -> Notice:
    """Say that a call waits for a person; never with what, beyond the tool's name."""
    expires_at_ms = question.expires_at_ms
    return _notice(
        "approval_wanted",
        thread,
        operation_id=question.operation,
        operation=shlex.quote(question.operation),
        tool=field(question.tool),
        effect=field(question.effect),
        expires="" if expires_at_ms is None else f", at the latest until {_moment(expires_at_ms)}",
    )


def stuck_loop(thread: str, turn: int, loop_rule: str | None) -> Notice:
    """Say that a turn was stopped as a loop; `loop_rule` is the id of the detector's rule."""
    by = f" (rule {field(loop_rule)})" if loop_rule else ""
    return _notice("stuck_loop", thread, turn=turn, loop_rule=by, calls=GRANTED_CALLS)


def turn_ended(outcome: Outcome, route: Route | None) -> Notice:
    """Say that a turn which nobody watched did not complete; `route` is the one it was at, None: it had none."""
    why = outcome.failure_class or outcome.reason
    return _notice(
        "turn_ended",
        outcome.thread,
        turn=outcome.turn,
        outcome=field(outcome.outcome),
        why=f" ({field(why)})" if why else "",
        asked_model="" if route is None else f", with {_model(route.provider, route.model)}",
    )


def input_withheld(thread: str, segment: str, by: NeutralEvent, turn: int) -> Notice:
    """Say that a turn which nobody watched answered nothing of what it was given; `by` is what stands for that."""
    return _notice(
        "input_withheld",
        thread,
        segment=segment,
        provider=field(by.provider),
        category=_category(by.category),
        turn=turn,
    )


def unknown_operation(operation: Operation) -> Notice:
    """Say that an operation's effect is unknown; once for each of its runs."""
    return _notice(
        "unknown_operation",
        operation.thread,
        operation_id=operation.id,
        operation=shlex.quote(operation.id),
        runs=operation.runs,
        tool=field(operation.tool),
        effect=field(operation.effect),
    )


def route_closed(thread: str, route: Route, health: Health) -> Notice:
    """Say that a route waits for its credential or configuration."""
    waits = f"nothing is sent there until its {field(health.waits_for)} changes or a person says so"
    by_clock = "" if health.until_ms is None else f", at the latest until {_moment(health.until_ms)}"
    return _notice(
        "route_closed",
        thread,
        **_asked(route, None),
        failure=field(health.failure_class),
        credential=health.credential or "none",
        day=_date(health.failed_at_ms),
        opens=waits + by_clock,
    )


def gate_violation(thread: str, turn: int) -> Notice:
    """Say that the gate kept a request back."""
    return _notice("gate_violation", thread, turn=turn)


def compaction_refused(thread: str, segment: str, route: Route, category: str | None) -> Notice:
    """Say that a compaction was refused."""
    return _notice("compaction_refused", thread, **_asked(route, category), segment=segment)


def budget(thread: str, use: Use, now_ms: int) -> Notice:
    """Say that what a thread or a day may take is nearly or wholly used; a limit that was changed is said again."""
    of_day = use.scope == "day"
    used, limit = amounts(use)
    return _notice(
        "budget_reached" if use.is_full else "budget_near",
        thread,
        whose=f"{_date(now_ms) if of_day else thread}:{use.limit}",
        bound=use.bound,
        unit={"cost_usd": "USD", "seconds": "seconds of work"}.get(use.bound, use.bound),
        used=used,
        limit=limit,
        scope=SCOPES[use.scope],
        until="midnight (UTC), or a higher limit" if of_day else "its limit is raised",
    )


def digest(folded: Sequence[StoredNotice], budget: int, now_ms: int) -> Notice:
    """Say what several notices were about, instead of each of them."""
    count = f"{len(folded)} notice{'' if len(folded) == 1 else 's'}"
    kinds = ", ".join(
        f"{number} {kind}" for kind, number in sorted(Counter(each.notice.kind for each in folded).items())
    )
    return _notice(DIGEST, "", day=_date(now_ms), count=count, budget=budget, kinds=kinds)


def trial(now_ms: int) -> Notice:
    """Return the notice by which a person tests the channels."""
    return _notice("test", "", moment=now_ms)


def _refusal(
    form: str, thread: str, segment: str, states: Sequence[RefusalState], *, probes: int, withheld: bool = False
) -> Notice:
    refusers = sorted({f"{_model(each.provider, each.model)}{_category(each.category)}" for each in states})
    providers = ",".join(sorted({field(each.provider) for each in states}))
    return _notice(
        form,
        thread,
        segment=segment,
        probes=probes,
        providers=providers,
        refusers=", ".join(refusers),
        also=notes.ALSO_WITHHELD if withheld else "",
        rule=rule(),
    )


def _notice(name: str, thread: str, **fields: object) -> Notice:
    form = FORMS[name]
    filled = {"thread": shlex.quote(thread), "thread_id": thread, **fields}
    return Notice(
        key=form.key.format_map(filled),
        thread=thread,
        kind=form.kind,
        priority=form.priority,
        text=form.text.format_map(filled),
        actions=[action.format_map(filled) for action in form.actions],
    )


def _asked(route: Route, category: str | None) -> dict[str, str]:
    """Return the fields of the model that was asked: as the configuration names it, never as an answer does."""
    return {
        "provider": field(route.provider),
        "model": _model(route.provider, route.model),
        "asked": shlex.quote(f"{route.provider}:{route.model}"),
        "category": _category(category),
    }


def _model(provider: str, model: str) -> str:
    return f"{field(provider)}:{model if _MODEL.fullmatch(model) else OTHER}"


def _category(category: str | None) -> str:
    return "" if category is None else f" (category {field(category)})"


def _date(ms: int) -> str:
    return f"{date_of(ms):%Y-%m-%d}"


def _moment(ms: int) -> str:
    return f"{date_of(ms):%Y-%m-%d %H:%M} UTC"


# ---- how many a day -----------------------------------------------------------------------------


class Outgoing(Record, frozen=True):
    """What becomes of the notices that are due."""

    send: list[StoredNotice] = []
    """One by one, critical ones first."""
    fold: list[StoredNotice] = []
    """Into the day's one digest."""
    wait: list[StoredNotice] = []
    """For a later day's budget or digest."""


def plan(
    due: Sequence[StoredNotice],
    sent_today: int,
    budget: int,
    now_ms: int,
    *,
    digested: bool = False,
    fold_now: bool = False,
) -> Outgoing:
    """Decide what is sent now, what a digest holds and what waits.

    Args:
        due: not settled yet, in order of arrival; those that wait for a retry are left out of everything
        sent_today: how much of the day's budget is used, by notices whose sending has begun
        budget: how many normal notices are sent one by one on a day
        now_ms: epoch milliseconds; a day is one of UTC
        digested: whether this day has its digest already
        fold_now: whether a person wants the surplus now; else it is folded when its day is over
    """
    ready = [each for each in due if each.retry_at is None or each.retry_at <= now_ms]
    free = [each for each in ready if not is_counted(each)]
    counted = [each for each in ready if is_counted(each)]
    today_ms = now_ms - now_ms % DAY_MS
    over = [each for each in counted if each.notice.created_at < today_ms and not digested]
    fresh = [each for each in counted if each.notice.created_at >= today_ms or digested]
    room = max(0, budget - sent_today)
    surplus = fresh[room:]
    folds = fold_now and not digested
    return Outgoing(
        send=[*sorted(free, key=lambda each: each.notice.priority != "critical"), *fresh[:room]],
        fold=[*over, *surplus] if folds else over,
        wait=[] if folds else surplus,
    )


def is_counted(stored: StoredNotice) -> bool:
    """Tell whether a notice needs room in the day's budget: not a critical one, a digest, or one that has its room."""
    begun = stored.state == "due" and stored.attempts > 0
    return stored.notice.priority == "normal" and stored.notice.kind != DIGEST and not begun
