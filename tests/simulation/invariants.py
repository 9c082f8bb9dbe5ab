"""The invariants of SPEC §16 that what is built can break, each as a function of the record of a run."""

from collections import Counter, defaultdict

import msgspec
from tests.simulation.agents import MAX_ROUNDS, REPEATABLE
from tests.simulation.models import VOID
from tests.simulation.outside import Outside

from stoic.core.replay import gate, messages
from stoic.events import (
    Happening,
    OutcomeReached,
    RoundEnded,
    RoundRolledBack,
    RoundStarted,
    TextDelta,
    TurnStarted,
)
from stoic.ports import Renderer
from stoic.records import Outcome, Parked, Row, UserMessage
from stoic.runtime.transcript import Transcript
from stoic.testing.chat_style import find_fault
from stoic.wire import chat

_SENDS_PER_ROUND = 4
_NUDGES = 3
_CHANGES = 3
_NEXT = Row(
    id="next",
    thread="next",
    seq=0,
    generation=1,
    segment="",
    turn=0,
    round=0,
    role="user",
    kind="message",
    content={"text": "next"},
    created_at=0,
    visible=True,
)


def check_after_step(outside: Outside, thread: str, renderer: Renderer = chat) -> None:
    """Check what must hold after every step."""
    rows = outside.rows[thread]
    _renders(rows, renderer)
    check_18_a_stale_writer_cannot_append(outside)
    outcomes = Counter(row.turn for row in rows if row.kind == "outcome")
    assert all(times == 1 for times in outcomes.values()), f"5: {thread} has turns with several outcomes: {outcomes}"


def check_all(outside: Outside, renderer: Renderer = chat) -> None:
    """Check everything at the end of a run, when every thread is at rest."""
    check_5_every_turn_ends_in_one_outcome(outside)
    check_7_no_write_runs_twice_without_proof(outside)
    check_8_no_half_call_runs(outside)
    check_9_requests_extend_the_last_accepted_one(outside)
    check_12_events_rebuild_the_accepted_text(outside)
    check_14_any_prefix_renders(outside, renderer)
    check_15_one_retry_budget(outside)
    check_17_no_turn_runs_for_ever(outside)
    check_18_a_stale_writer_cannot_append(outside)


def check_5_every_turn_ends_in_one_outcome(outside: Outside) -> None:
    """Every message that reached the inbox has one turn, every turn one outcome, and callers are told just that."""
    for thread, rows in outside.rows.items():
        opened = [row.meta["entry"] for row in rows if row.kind == "message"]
        wanted = [entry.id for entry in outside.put if entry.thread == thread and entry.kind == "message"]
        assert opened == wanted, f"5: {thread} took {opened} of the messages {wanted}"
        turns = [row.turn for row in rows if row.kind == "message"]
        ended = [row.turn for row in rows if row.kind == "outcome"]
        assert turns == ended == list(range(1, len(turns) + 1)), f"5: {thread} has turns {turns}, outcomes {ended}"
    for told in outside.told:
        if told.text is None or isinstance(told.ending, Parked):
            continue
        rows = outside.rows[told.thread]
        turn = next(row.turn for row in rows if row.kind == "message" and row.content["text"] == told.text)
        stored = next(row.content for row in rows if row.kind == "outcome" and row.turn == turn)
        assert msgspec.convert(stored, Outcome) == told.ending, f"5: {told.text} was told {told.ending}, not {stored}"


def check_7_no_write_runs_twice_without_proof(outside: Outside) -> None:
    """One operation runs once, unless `not_done` was recorded; an equal one does not run while the first is unknown."""
    runs = Counter(ran.operation for ran in outside.ran if ran.tool not in REPEATABLE)
    proofs = Counter(outside.not_done)
    for operation, times in runs.items():
        assert times <= 1 + proofs[operation], f"7: {operation} ran {times} times with {proofs[operation]} proofs"
    for ran in outside.ran:
        harmless = ran.tool in {"look", "set"}
        assert harmless or ran.twin is None, f"7: {ran.operation} ran while its equal {ran.twin} was unknown"
        assert not ran.again, f"7: {ran.operation} of {ran.tool} ran again though it had ended"


def check_8_no_half_call_runs(outside: Outside) -> None:
    """No call of a half, cut, refused or failed reply runs."""
    for ran in outside.ran:
        assert not ran.argument.startswith(VOID), f"8: {ran.operation} ran with {ran.argument}"
        assert ran.tool != "wipe", f"8: {ran.operation} ran without its arguments"


def check_9_requests_extend_the_last_accepted_one(outside: Outside) -> None:
    """Each request begins with the last accepted one's bytes of its head and generation, but for its closing.

    A rendering that a failure has changed begins anew.
    """
    sent, accepted = {one.id: one for one in outside.sent}, dict[tuple[str, int, bytes], bytes]()
    attempts = [row for rows in outside.rows.values() for row in rows if row.kind == "attempt"]
    changed = {row.content["request_id"] for row in attempts if row.content.get("change") == {"kind": "plain"}}
    for what, request in outside.order:
        one = sent[request]
        key = (one.thread, one.generation, one.head)
        if what == "accepted":
            accepted[key] = one.body[: -len(chat.TAIL)]
        elif not one.stale:
            # A sender that lost its lease without knowing it cannot know the newest accepted bytes either.
            assert one.body.startswith(accepted.get(key, b"")), f"9: {request} does not extend what was accepted"
            if request in changed:
                accepted = {each: body for each, body in accepted.items() if each[0] != one.thread}


def check_12_events_rebuild_the_accepted_text(outside: Outside) -> None:
    """What each subscriber rebuilds is accepted text, nothing twice; who follows to the end has all of the turn."""
    shown: Counter[tuple[str, int, int]] = Counter()
    for followed in outside.followed:
        accepted = {
            (row.turn, row.round): "".join(part["text"] for part in row.content["parts"] if part["type"] == "text")
            for row in outside.rows.get(followed.thread, [])
            if row.kind == "reply"
        }
        for seen in _rebuilt(followed.events):
            place = f"12: {followed.thread} turn {seen.turn}"
            for number, text in seen.rounds.items():
                shown[followed.thread, seen.turn, number] += 1
                assert accepted.get((seen.turn, number)) == text, f"{place} round {number}: {text!r}"
            if seen.from_beginning and seen.ended:
                whole = [number for turn, number in accepted if turn == seen.turn]
                assert list(seen.rounds) == whole, f"{place} showed rounds {list(seen.rounds)} of {whole}"
    assert all(times == 1 for times in shown.values()), f"12: shown twice: {shown}"


class _Seen:
    """One turn as a subscriber sees it."""

    def __init__(self, started: TurnStarted) -> None:
        self.turn = started.turn
        self.from_beginning = not started.resumed
        self.rounds: dict[int, str] = {}
        self.provisional: list[str] = []
        self.ended = False

    def take(self, event: Happening) -> None:
        """Take in the next event, as a terminal would."""
        place = f"12: turn {self.turn}"
        match event:
            case RoundStarted() | OutcomeReached():
                assert not self.provisional, f"{place}: {self.provisional} was neither ended nor rolled back"
            case TextDelta(round=number, text=text):
                assert number not in self.rounds, f"{place}: round {number} is shown again after its end"
                self.provisional.append(text)
            case RoundRolledBack():
                self.provisional = []
            case RoundEnded(round=number, text=text):
                assert "".join(self.provisional) == text, f"{place}: {self.provisional} became {text!r}"
                assert number not in self.rounds, f"{place}: round {number} ended twice"
                self.rounds[number], self.provisional = text, []
            case _:
                pass


def _rebuilt(events: list[Happening]) -> list[_Seen]:
    turns: list[_Seen] = []
    for event in events:
        if isinstance(event, TurnStarted):
            if turns:
                turns[-1].ended = True
            turns.append(_Seen(event))
        if turns:
            turns[-1].take(event)
    if turns and isinstance(events[-1], OutcomeReached):
        turns[-1].ended = events[-1].outcome != "parked"
    return turns


def check_14_any_prefix_renders(outside: Outside, renderer: Renderer = chat) -> None:
    """Any prefix of any log, and every request sent, is one that a strict server takes."""
    for rows in outside.rows.values():
        for count in range(len(rows) + 1):
            _renders(rows[:count], renderer)
    for one in outside.sent:
        fault = find_fault(msgspec.json.decode(one.body))
        assert fault is None, f"14: {one.id}: {fault}"


def _renders(rows: list[Row], renderer: Renderer) -> None:
    """Render the rows with a next message behind them, as the runtime does, and check it as a strict server does."""
    gate([*messages(rows), UserMessage(text="next")])
    transcript = Transcript(renderer)
    for row in [*rows, _NEXT]:
        transcript.fold(row)
    body = transcript.body(b'{"model":"m","messages":[')
    fault = find_fault(msgspec.json.decode(body))
    assert fault is None, f"14: a prefix of {len(rows)} rows: {fault}"


def check_15_one_retry_budget(outside: Outside) -> None:
    """A round has at most three transport retries, and nothing below sends by itself."""
    known: set[str] = set()
    for thread, rows in outside.rows.items():
        failed = Counter(
            (row.turn, row.round) for row in rows if row.kind == "attempt" and row.content["recovers_with"] == "time"
        )
        for place, times in failed.items():
            assert times <= _SENDS_PER_ROUND, f"15: {thread} {place}: {times} transport failures"
        known |= {row.meta.get("request_id") or row.content.get("request_id") for row in rows if row.kind != "message"}
    unknown = [one.id for one in outside.sent if one.id not in known and one.id not in outside.lost]
    assert not unknown, f"15: sends that no attempt of the log accounts for: {unknown}"


def check_17_no_turn_runs_for_ever(outside: Outside) -> None:
    """Rounds of a turn and recorded sends of a round are bounded."""
    for thread, rows in outside.rows.items():
        sends: dict[int, Counter[int]] = defaultdict(Counter)
        for row in rows:
            if row.kind in {"attempt", "reply"}:
                sends[row.turn][row.round] += 1
        for turn, rounds in sends.items():
            assert max(rounds) <= MAX_ROUNDS, f"17: {thread} turn {turn} has {max(rounds)} rounds"
            most = max(rounds.values())
            assert most <= _SENDS_PER_ROUND + _NUDGES + _CHANGES, f"17: {thread} turn {turn}: {most} sends in a round"


def check_18_a_stale_writer_cannot_append(outside: Outside) -> None:
    """No step takes effect under a lease that is over."""
    assert not outside.stale_appends, f"18: {outside.stale_appends}"
