"""A thread's position, folded from its rows and open operations and from nothing else (SPEC §4)."""

from typing import Literal

import msgspec
from msgspec import structs

from stoic.core.refusal import RefusalState, state_of
from stoic.core.rows import kind_of
from stoic.core.segment import segment_id
from stoic.records import CallPart, Json, Operation, Outcome, Row, Usage, ViewChange

EFFECTS = frozenset({"write", "send", "exec"})
"""Effects that change the world; `read`, `poll` and `wait` do not."""
OPEN_STATES = ("intended", "running", "unknown")
LEAVES_PARKED = frozenset({"switch", "reveal"})
"""Rows that come into the log of a parked turn without waking it."""
COUNTED = frozenset({"message", "grant", "event", "compaction", "fresh", "reply", "result", "let_through"})
"""Rows that the loop detector counts."""


class CallState:
    """One call of the open round: settled when its result row is there."""

    __slots__ = ("call", "index", "operation", "round", "settled")

    def __init__(self, index: int, call: CallPart, operation: str, round: int) -> None:  # noqa: A002 - SPEC §4's name
        self.index = index
        self.call = call
        self.operation = operation
        self.round = round
        self.settled = False


class RoundState:
    """One accepted reply and the results that have come for it; its calls are read when somebody needs them."""

    def __init__(self, reply: Row) -> None:
        self.reply = reply
        self.results: list[Row] = []
        self._calls: list[CallState] | None = None

    @property
    def texts(self) -> list[str]:
        """What the assistant said, part by part."""
        return [part["text"] for part in self.reply.content["parts"] if part["type"] == "text"]

    @property
    def calls(self) -> list[CallState]:
        """The calls in their order."""
        if self._calls is None:
            self._calls = calls_of(self.reply)
            for row in self.results:
                self._settle(self._calls, row)
        return self._calls

    def take(self, row: Row) -> None:
        """Take in the result of one of the calls."""
        self.results.append(row)
        if self._calls is not None:
            self._settle(self._calls, row)

    @staticmethod
    def _settle(calls: list[CallState], row: Row) -> None:
        index: int = row.content["call"]
        if index < len(calls):
            calls[index].settled = True


def brief_operation(thread: str) -> str:
    """Return what a question about a task's brief is called."""
    return f"{thread}.brief"


def is_unknown_twin(operation: Operation, other: Operation) -> bool:
    """Tell whether another operation is the same call, and nobody knows whether it took effect."""
    return (
        other.state == "unknown"
        and other.id != operation.id
        and other.tool == operation.tool
        and other.arguments_key == operation.arguments_key
        and other.status not in {"done", "not_done"}
    )


def _is_of_call(event: str | None) -> bool:
    return event in {"trial", "call"} or (event is not None and event.startswith("tool "))


def is_for_route(parked: Json) -> bool:
    """Tell whether a row by which a turn was parked says that it waits for a route."""
    return parked["waits_for"] in {"time", "event"} and not _is_of_call(parked.get("event"))


def is_for_cooldown(parked: Json) -> bool:
    """Tell whether a row by which a turn was parked says that it waits for a route that merely cools down."""
    event: str = parked.get("event") or ""
    return any(each.startswith("time ") for each in event.split(", "))


def calls_of(reply: Row) -> list[CallState]:
    """Return the calls of a reply, in their order and as not settled."""
    called = [part for part in reply.content["parts"] if part["type"] == "call"]
    prefix = f"{reply.thread}.{reply.turn}.{reply.round}"
    return [
        CallState(index, CallPart(name=part["name"], arguments=part["arguments"]), f"{prefix}.{index}", reply.round)
        for index, part in enumerate(called)
    ]


class RouteWaits:
    """A turn's waits for routes that were closed."""

    __slots__ = ("cooldowns", "events", "now")

    def __init__(self) -> None:
        self.now: dict[str, Json] | None = None
        """What it waits for: None once something was sent again."""
        self.events = 0
        """How often it waited for a date that a provider had stated, or for an event."""
        self.cooldowns = 0
        """How often it waited for a route that merely cools down."""

    def take(self, parked: dict[str, Json]) -> None:
        """Take in what the row of a wait says."""
        if parked == self.now:
            return  # it was woken in vain, and waits on
        is_cooldown = is_for_cooldown(parked)
        self.cooldowns += is_cooldown
        self.events += not is_cooldown
        self.now = parked


class TurnState:
    """The newest turn: open while `outcome` is None."""

    def __init__(self, number: int, entry: str | None, started_ms: int = 0) -> None:
        self.number = number
        self.started_ms = started_ms
        """When its input was stored."""
        self.entry = entry
        """The inbox entry that opened it."""
        self.round = 1
        self.failed_attempts = 0
        """Recorded attempts of this round, whatever their class."""
        self.transport_failures = 0
        """Those of them that counted against the retry budget."""
        self.retry_at_ms: int | None = None
        self.nudges: set[str] = set()
        self.rounds: list[RoundState] = []
        """The replies so far with their results; empty once the turn has its outcome."""
        self.is_human = False
        """Whether a person's message or grant opened it, not an event or the clock."""
        self.ladder = 0
        """The last step by which this round's increment was withheld."""
        self.ladders = 0
        """How many of its rounds were refused and sent again with less."""
        self.is_exhausted = False
        """Whether withholding has not helped: what comes now is one send a candidate."""
        self.asked: dict[str, int | None] = {}
        """Operations that a person was asked about, with the time when nobody's answer counts as a denial."""
        self.answers: dict[str, str] = {}
        self.decisions: dict[str, dict[str, Json]] = {}
        """The whole answers, by operation: who decided, and maybe with which other arguments."""
        self.parked: dict[str, Json] | None = None
        """What the turn waits for since its newest row; None: it goes on."""
        self.waits = RouteWaits()
        """How it waited for routes that were closed."""
        self.next_due_ms: int | None = None
        """When the schedule whose prompt opened it is due next; None: no schedule did."""
        self.usage = Usage()
        self.cost_usd: float | None = 0.0
        """None once anything was used whose price is not known."""
        self.shown: list[Row] = []
        """The turn's visible rows."""
        self.compaction: Literal["no", "wanted", "done", "failed"] = "no"
        self.stand_in: tuple[str, str] | None = None
        """Provider and model that this turn has fallen back to."""
        self.changes: set[str] = set()
        """Kinds of the changed re-sends that this turn has had, each once (`core.repairs`)."""
        self.max_tokens: int | None = None
        """The longest reply that the turn's present route said it has room for."""
        self.plain: tuple[str, str] | None = None
        """Provider and model for which this turn took to the plainest rendering."""
        self.warned: set[tuple[str, str]] = set()
        """Scopes and kinds of the bounds of whose use a person was warned."""
        self.outcome: Outcome | None = None

    @property
    def calls(self) -> list[CallState]:
        """The open round's calls."""
        return self.rounds[-1].calls if self.rounds else []

    @property
    def texts(self) -> list[str]:
        """What the assistant said in this turn."""
        return [text for each in self.rounds for text in each.texts]

    def pending(self) -> list[CallState]:
        """Return the open round's calls without a result, in the order of the calls."""
        return [call for call in self.calls if not call.settled]


def changed_row(row: Row, change: ViewChange) -> Row:
    """Return the row with the view that the change gives it."""
    return structs.replace(row, view=change.view, quarantine=change.quarantine)


def _changed_rows(rows: list[Row], by_seq: dict[int, ViewChange]) -> list[Row]:
    """Return the rows as the changes leave them; those that leave the view are gone."""
    changed = [changed_row(row, by_seq[row.seq]) if row.seq in by_seq else row for row in rows]
    return [row for row in changed if row.quarantine != "excluded"]


def _told_of(increment: list[Row]) -> set[str]:
    """Return the operations of which rows of the view tell what became known."""
    return {name for row in increment if kind_of(row) == "known" for name in row.content["operations"]}


def add_usage(left: Usage, right: Usage) -> Usage:
    """Return the sum of two token counts."""
    return Usage(
        input_tokens=left.input_tokens + right.input_tokens,
        output_tokens=left.output_tokens + right.output_tokens,
        cache_read_tokens=left.cache_read_tokens + right.cache_read_tokens,
        cache_write_tokens=left.cache_write_tokens + right.cache_write_tokens,
    )


class History:
    """What the core knows of a thread. Feed it rows by seq and operations as they change; nothing else alters it."""

    def __init__(self, thread: str) -> None:
        self.thread = thread
        self.last_seq = 0
        self.generation = 1
        self.segment_number = 0
        self.fingerprint: str | None = None
        self.turn: TurnState | None = None
        self.operations: dict[str, Operation] = {}
        """Open operations by id: `intended`, `running` or `unknown`."""
        self.increment: list[Row] = []
        """Visible rows not yet accepted, as they came."""
        self.grants: dict[str, str] = {}
        """Tools a person allowed for a session: tool -> session."""
        self.uncounted: list[Row] = []
        """Rows since the last outcome that a loop detector made anew has to count: with an outcome its state is saved."""
        self._plain: set[tuple[str, str]] = set()
        """Providers and models that answered in this generation once the view was rendered in its plainest form."""
        self._refusals: dict[tuple[str, str], RefusalState] = {}
        """By fingerprint and provider: what no later reply has cleared. A fingerprint that comes back resumes it."""
        self._unanswered: dict[tuple[str, str], int] = {}
        """Fingerprints and providers that refused a round, without a reply since: by which step it was sent again with less."""
        self._withheld: dict[str, dict[str, tuple[str, str, str | None]]] = {}
        """By fingerprint: the bodies that a refusal has withheld under it, by hash, with the provider, the model and the category."""
        self._not_summed_up: set[tuple[str, str]] = set()
        """Fingerprints and providers that refused to sum up this generation."""
        self.context_tokens = 0
        """What the newest exchange of this generation took, request and reply together."""
        self.binding: str | None = None
        """`PROVIDER:NAME` that a person switched to; None: the agent's own model."""
        self.mode: str | None = None
        """The mode that a person switched to; None: none yet."""
        self.past: int = 0
        """Visible rows of this generation before the newest turn."""
        self.was_answered = False
        """Whether any reply was ever accepted."""
        self.brief_answer: str | None = None
        """What a person decided about a task's brief that was refused before; None: nothing yet."""
        self.tombstone: dict[str, Json] | None = None
        """The refusal that ended the thread for ever; None: it may run."""
        self._folds = {
            "message": self._fold_input,
            "reply": self._fold_reply,
            "result": self._fold_result,
            "nudge": self._fold_nudge,
            "attempt": self._fold_attempt,
            "question": self._fold_question,
            "answer": self._fold_answer,
            "outcome": self._fold_outcome,
            "fallback": self._fold_fallback,
            "switch": self._fold_switch,
            "compaction": self._fold_compaction,
            "compaction_failed": self._fold_compaction_failed,
            "fresh": self._fold_fresh,
            "event": self._fold_input,
            "wake": self._fold_input,
            "grant": self._fold_input,
            "quarantine": self._fold_quarantine,
            "refusal": self._fold_refusal,
            "parked": self._fold_parked,
            "refusal_stop": self._fold_tombstone,
            "budget": self._fold_budget,
            "resolution": self._fold_resolution,
            "status": self._fold_status,
        }
        self._known: dict[str, dict[str, Json]] = {}
        """What has become known of operations that a model was told of as unknown, until it has answered knowing it."""

    @property
    def segment(self) -> str:
        """The current segment's id."""
        return segment_id(self.thread, self.generation, self.segment_number)

    @property
    def next_segment(self) -> str:
        """The id of the segment that a changed prefix would open."""
        return segment_id(self.thread, self.generation, self.segment_number + 1)

    @property
    def refusals(self) -> list[RefusalState]:
        """The refusals under the current fingerprint that no later reply of their provider has cleared."""
        return self.refusals_under(self.fingerprint or "")

    @property
    def has_refusal(self) -> bool:
        """Whether any refusal under the current fingerprint was not followed by a reply of its provider."""
        return bool(self.refusals) or any(each == self.fingerprint for each, _ in self._unanswered)

    def refusals_under(self, fingerprint: str) -> list[RefusalState]:
        """Return the uncleared refusals under a fingerprint of this generation."""
        return [state for (each, _), state in self._refusals.items() if each == fingerprint]

    def refusers_under(self, fingerprint: str) -> set[str]:
        """Return the providers whose refusal under a fingerprint was not followed by a reply of theirs."""
        return {provider for each, provider in [*self._refusals, *self._unanswered] if each == fingerprint}

    def refusal_of(self, provider: str) -> RefusalState | None:
        """Return what a provider's refusals under the current fingerprint have come to; None: there is none."""
        return self._refusals.get((self.fingerprint or "", provider))

    def ladder_of(self, provider: str) -> int:
        """Return the last step by which a round was sent again that a provider refused and has not answered since; 0: none."""
        return self._unanswered.get((self.fingerprint or "", provider), 0)

    def was_summary_refused(self, provider: str) -> bool:
        """Tell whether a provider refused to sum up this generation, under the current fingerprint."""
        return (self.fingerprint or "", provider) in self._not_summed_up

    @property
    def has_withheld(self) -> bool:
        """Whether any body was quarantined under the current fingerprint."""
        return bool(self._withheld.get(self.fingerprint or ""))

    def withheld_by(self, body: str) -> tuple[str, str, str | None] | None:
        """Return the provider and model that refused a body, by its hash, under the current fingerprint, and the category."""
        return self._withheld.get(self.fingerprint or "", {}).get(body)

    @property
    def open_turn(self) -> TurnState | None:
        """The turn without an outcome, if there is one."""
        return self.turn if self.turn and self.turn.outcome is None else None

    def fold(self, row: Row) -> None:
        """Take in the next row; kinds this version does not know change nothing."""
        self.last_seq = row.seq
        if self.turn is not None and row.kind not in LEAVES_PARKED:
            self.turn.parked = None
        fold = self._folds.get(row.kind)
        if fold:
            fold(row)
        if row.kind in COUNTED:
            self.uncounted.append(row)
        if row.visible and row.quarantine != "excluded":
            if not row.accepted:
                self.increment.append(row)
            else:
                self._answered([row])
            if self.turn is not None:
                self.turn.shown.append(row)

    def fold_operation(self, operation: Operation) -> None:
        """Take in an operation's newest state."""
        if operation.state in OPEN_STATES:
            self.operations[operation.id] = operation
        else:
            self.operations.pop(operation.id, None)

    def fold_views(self, changes: list[ViewChange]) -> None:
        """Take in what changed of the unaccepted rows' views."""
        by_seq = {change.seq: change for change in changes}
        of_turn = {row.seq for row in self.turn.shown} if self.turn else set[int]()
        self.past -= sum(
            row.seq not in of_turn and row.seq in by_seq and by_seq[row.seq].quarantine == "excluded"
            for row in self.increment
        )
        self.increment = _changed_rows(self.increment, by_seq)
        if self.turn is not None:
            self.turn.shown = _changed_rows(self.turn.shown, by_seq)

    def is_plain(self, provider: str, model: str) -> bool:
        """Tell whether a route's requests are rendered in their plainest form, since it did not take the usual one."""
        route = (provider, model)
        return route in self._plain or (self.turn is not None and self.turn.plain == route)

    def unknown_twin(self, operation: Operation) -> Operation | None:
        """Return an earlier operation with the same tool and arguments whose effect is still unknown."""
        return next((other for other in self.operations.values() if is_unknown_twin(operation, other)), None)

    def _open(self) -> TurnState:
        if self.turn is None:
            self.turn = TurnState(0, None)
        return self.turn

    def _fold_input(self, row: Row) -> None:
        fingerprint = row.meta.get("fingerprint")
        if fingerprint:
            self.fingerprint = fingerprint
            self.segment_number += 1
        if self.turn is None or self.turn.number != row.turn:
            self.past += len(self.turn.shown) if self.turn else 0
            self.turn = TurnState(row.turn, row.meta.get("entry"), row.created_at)
            self.turn.is_human = row.kind in {"message", "grant"}
            self.turn.next_due_ms = row.content.get("next_due_ms")

    def _fold_reply(self, row: Row) -> None:
        turn = self._open()
        self.was_answered = True
        by = (self.fingerprint or "", row.meta.get("provider", ""))
        self._refusals.pop(by, None)
        self._unanswered.pop(by, None)
        self._answered(self.increment)
        self.increment.clear()
        turn.waits.now = None
        turn.failed_attempts = turn.transport_failures = turn.ladder = 0
        turn.retry_at_ms = None
        if turn.plain is not None and turn.plain == (row.meta.get("provider"), row.meta.get("model")):
            self._plain.add(turn.plain)
        turn.rounds.append(RoundState(row))
        self._add_usage(turn, row.meta)
        took = row.meta.get("usage", {})
        self.context_tokens = took.get("input_tokens", 0) + took.get("output_tokens", 0)
        has_calls = any(part["type"] == "call" for part in row.content["parts"])
        turn.round = row.round + 1 if has_calls else row.round

    def _fold_result(self, row: Row) -> None:
        rounds = self._open().rounds
        self._known.pop(row.content["operation"], None)  # decided before its result was told
        if rounds:
            rounds[-1].take(row)

    def untold(self) -> list[dict[str, Json]]:
        """Return what has become known of operations and is not told to the model yet."""
        told = _told_of(self.increment)
        return [each for name, each in self._known.items() if name not in told]

    def _fold_resolution(self, row: Row) -> None:
        content = row.content
        self._learn(content["operation"], content["tool"], content["decision"], by_person=True)

    def _fold_status(self, row: Row) -> None:
        content = row.content
        if content.get("late"):
            self._learn(content["operation"], content["tool"], content["answer"], by_person=False)

    def _answered(self, rows: list[Row]) -> None:
        """Note that the model has answered, knowing what these rows tell."""
        for operation in _told_of(rows):
            self._known.pop(operation, None)

    def _learn(self, operation: str, tool: str, answer: str, *, by_person: bool) -> None:
        self._known[operation] = {"operation": operation, "tool": tool, "answer": answer, "by_person": by_person}

    def _fold_nudge(self, row: Row) -> None:
        self._open().nudges.add(row.content["reason"])

    def _fold_attempt(self, row: Row) -> None:
        turn, content = self._open(), row.content
        turn.waits.now = None
        turn.failed_attempts += 1
        turn.transport_failures += content["recovers_with"] == "time"
        turn.retry_at_ms = content.get("retry_at_ms")
        self._add_usage(turn, content)
        if content["recovers_with"] == "compaction" and turn.compaction == "no":
            turn.compaction = "wanted"
        self._fold_change(turn, content)

    def _fold_change(self, turn: TurnState, attempt: dict[str, Json]) -> None:
        """Take in what the next attempt does differently."""
        change: dict[str, Json] = attempt.get("change", {})
        if change:
            turn.changes.add(change["kind"])
            turn.max_tokens = change.get("max_tokens", turn.max_tokens)
        if change.get("kind") == "plain":
            turn.plain = (attempt["provider"], attempt["model"])

    def _fold_fallback(self, row: Row) -> None:
        turn, to = self._open(), row.content["to"]
        turn.stand_in = (to["provider"], to["model"])
        turn.max_tokens = None
        turn.transport_failures = 0
        turn.retry_at_ms = None

    def _add_usage(self, turn: TurnState, said: dict[str, Json]) -> None:
        usage, cost_usd = said.get("usage"), said.get("cost_usd")
        if usage:
            turn.usage = add_usage(turn.usage, msgspec.convert(usage, Usage))
            turn.cost_usd = None if turn.cost_usd is None or cost_usd is None else turn.cost_usd + cost_usd

    def _fold_budget(self, row: Row) -> None:
        self._open().warned.add((row.content["scope"], row.content["bound"]))

    def _fold_switch(self, row: Row) -> None:
        self.binding = row.content.get("model", self.binding)
        self.mode = row.content.get("mode", self.mode)

    def _fold_fresh(self, row: Row) -> None:
        self.generation, self.past = row.generation, 0
        self.segment_number = 0 if self.fingerprint is None else 1
        self._refusals.clear()
        self._unanswered.clear()
        self._withheld.clear()
        self._not_summed_up.clear()
        self._plain.clear()
        self.increment.clear()
        self.context_tokens = 0
        if self.turn is not None:
            self.turn.shown = []

    def _fold_compaction(self, row: Row) -> None:
        self._fold_fresh(row)
        turn = self.open_turn
        if turn is not None:
            self._add_usage(turn, row.meta)
            turn.max_tokens = None
            turn.compaction = "done"
            turn.transport_failures = 0
            turn.retry_at_ms = None

    def _fold_compaction_failed(self, row: Row) -> None:
        turn, content = self.open_turn, row.content
        if content["why"] == "refused":
            self._not_summed_up.add((self.fingerprint or "", content["provider"]))
        if turn is not None:
            self._add_usage(turn, content)
            turn.compaction = "failed"

    def _fold_quarantine(self, row: Row) -> None:
        turn = self._open()
        step: int = row.content["step"]
        turn.ladders += step > 0 and turn.ladder == 0
        turn.ladder = max(turn.ladder, step)
        if step:
            refuser = (self.fingerprint or "", row.content["provider"])
            self._unanswered[refuser] = max(step, self._unanswered.get(refuser, 0))
        self._remember_withheld(row.content)

    def _remember_withheld(self, content: dict[str, Json]) -> None:
        for body in content.get("bodies", []):
            by = (content["provider"], content["model"], content.get("category"))
            self._withheld.setdefault(self.fingerprint or "", {})[body] = by

    def _fold_refusal(self, row: Row) -> None:
        turn, state = self._open(), state_of(row.content)
        self._remember_withheld(row.content)
        self._refusals[self.fingerprint or "", state.provider] = state
        turn.is_exhausted = turn.is_exhausted or not row.content.get("skipped")

    def _fold_question(self, row: Row) -> None:
        questions: list[dict[str, Json]] = row.content["questions"]
        self._open().asked |= {each["operation"]: each.get("expires_at_ms") for each in questions}

    def _fold_answer(self, row: Row) -> None:
        content = row.content
        self._open().answers[content["operation"]] = content["answer"]
        self._open().decisions[content["operation"]] = content
        if content["operation"] == brief_operation(self.thread):
            self.brief_answer = content["answer"]
        if content["answer"] == "session":
            self.grants[content["tool"]] = content["session"]

    def _fold_parked(self, row: Row) -> None:
        turn = self._open()
        turn.parked = row.content
        if is_for_route(row.content):
            turn.waits.take(row.content)
            if turn.stand_in is not None and turn.stand_in[0] not in self.refusers_under(self.fingerprint or ""):
                turn.stand_in = None  # afterwards the bound model is asked first again
            turn.transport_failures = 0

    def _fold_tombstone(self, row: Row) -> None:
        self.tombstone = row.content

    def _fold_outcome(self, row: Row) -> None:
        turn = self._open()
        turn.outcome = msgspec.convert(row.content, Outcome)
        self.uncounted = []
        turn.rounds = []
