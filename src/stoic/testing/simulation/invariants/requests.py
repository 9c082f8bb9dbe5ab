"""Invariants 9, 15 and 17: requests extend what was accepted, retries are few, and nothing goes on for ever."""

from collections import Counter, defaultdict

from stoic.core.history import is_for_cooldown
from stoic.records import Json, Row
from stoic.testing.simulation.invariants.watching import Watching
from stoic.testing.simulation.ledger import Ledger, Sent, Taken
from stoic.testing.simulation.models import BY_NAME
from stoic.testing.simulation.setting import MAX_ROUNDS, hold
from stoic.wire.messages import without_markers

_SENDS_PER_ROUND = 4
_NUDGES = 3
_CHANGES = 3
_LADDER = 3
_CANDIDATES = 3
_MOST_STEPS_A_TURN = 400
_STEPS = 3
_LADDERS = 2
_COOLDOWN_WAITS = 8
_ONCE = frozenset({"nudge", "compaction", "attempt"})
"""Rows that may tell that a turn asks for something in another way."""


class Extensions(Watching):
    """9: each request begins with the last accepted one's bytes of its prefix and generation, its closing apart.

    A rendering that a failure has changed begins anew; cache breakpoints may move.
    """

    def __init__(self, ledger: Ledger) -> None:
        """Begin with nothing accepted."""
        super().__init__(ledger)
        self._accepted: dict[tuple[str, int, bytes], bytes] = {}
        self._waiting: dict[str, tuple[tuple[str, int, bytes], bytes]] = {}

    def sent(self, sent: Sent) -> None:
        """It extends what was accepted."""
        if sent.is_stale or sent.is_summary:
            return  # a sender that lost its lease without knowing it cannot know the newest accepted bytes either
        body = without_markers(sent.body) if sent.api == "messages" else sent.body
        tail = BY_NAME[sent.provider].renderer.TAIL
        key = (sent.thread, sent.generation, f"{sent.provider} {sent.fingerprint} {self._plain(sent)}".encode())
        before = self._accepted.get(key, b"")
        hold(body.startswith(before), 9, lambda: f"{sent.id} of {sent.thread} does not extend what was accepted")
        self._waiting[sent.id] = (key, body[: -len(tail)] if tail and body.endswith(tail) else body)

    def stepped(self, taken: Taken) -> None:
        """Remember what was accepted."""
        for row in taken.step.rows:
            accepted = self._waiting.get(row.meta.get("request_id", "")) if row.kind == "reply" else None
            if accepted is not None:
                self._accepted[accepted[0]] = accepted[1]

    def _plain(self, sent: Sent) -> bool:
        """Tell whether the thread is rendered in its plainest form for this provider.

        So it is after a failure has made it so, for the rest of the turn; once the provider has answered, for the generation.
        """
        turn, was_answered = 0, False
        for row in self.ledger.rows[sent.thread]:
            if row.generation != sent.generation:
                continue
            if row.kind == "attempt" and row.content["provider"] == sent.provider:
                is_changed = row.content.get("change", {}).get("kind") == "plain"
                turn = row.turn if is_changed else turn
            elif row.kind == "reply" and row.turn == turn and row.meta["provider"] == sent.provider:
                was_answered = True
        return was_answered or turn == sent.turn


class RetryBudget(Watching):
    """15: a round has at most three transport retries on a route, and nothing below sends by itself."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with no failure."""
        super().__init__(ledger)
        self._failed: Counter[tuple[str, int, int, str, int]] = Counter()
        self._parks: Counter[tuple[str, int]] = Counter()
        self._newest: dict[tuple[str, str], Sent] = {}
        """The newest send of each thread in each process."""

    def sent(self, sent: Sent) -> None:
        """What came of the send before is stored, or was lost."""
        before = self._newest.get((sent.thread, sent.process))
        self._newest[sent.thread, sent.process] = sent
        is_known = before is None or before.id in self.ledger.settled or before.id in self.ledger.lost
        hold(
            is_known or (before is not None and before.is_summary),
            15,
            lambda: (
                f"{sent.id} of {sent.thread} is sent, and no attempt of the log accounts for {before and before.id}"
            ),
        )

    def stepped(self, taken: Taken) -> None:
        """Count the round's failures."""
        thread = taken.lease.thread
        for row in taken.step.rows:
            if row.kind == "parked":
                self._parks[thread, row.turn] += 1
            if row.kind != "attempt" or row.content["recovers_with"] != "time":
                continue
            key = (thread, row.turn, row.round, row.content["provider"], self._parks[thread, row.turn] + row.generation)
            self._failed[key] += 1
            times = self._failed[key]
            hold(times <= _SENDS_PER_ROUND, 15, lambda key=key, times=times: f"{key}: {times} transport failures")

    def ended(self) -> None:
        """Every send is accounted for by a row, or its answer was lost with a process, a lease or a disk."""
        known = self.ledger.settled | self.ledger.lost
        unknown = [one.id for one in self.ledger.sent if one.id not in known and not one.is_summary]
        hold(not unknown, 15, lambda: f"sends that no attempt of the log accounts for: {unknown}")


class Bounds(Watching):
    """17: rounds of a turn, its waits, sends of a round and steps of a turn are bounded."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with no send."""
        super().__init__(ledger)
        self._sends: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
        self._again: Counter[tuple[str, int, str]] = Counter()
        """How often a turn has had what it may have once: each nudge, each changed re-send, a summary."""
        self._ladders: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
        """The last step of each refused round's ladder, by turn."""
        self._steps: Counter[tuple[str, int]] = Counter()
        self._cooldowns: dict[tuple[str, int], list[Json]] = defaultdict(list)
        """Until when a turn waits for a route to cool down, wait by wait."""

    def stepped(self, taken: Taken) -> None:
        """Count on."""
        thread = taken.lease.thread
        turn = self.ledger.turn_of(thread)
        self._steps[thread, turn] += 1
        hold(self._steps[thread, turn] <= _MOST_STEPS_A_TURN, 17, lambda: f"turn {turn} of {thread} has no end")
        for row in taken.step.rows:
            if row.kind in _ONCE:
                self._count_once(row)
            elif row.kind == "quarantine" and row.content["step"]:
                self._count_step(row)
            elif row.kind == "parked" and is_for_cooldown(row.content):
                self._count_cooldown(row)
            if row.kind not in {"attempt", "reply"}:
                continue
            sends = self._sends[thread, row.turn]
            sends[row.round] += 1
            hold(row.round <= MAX_ROUNDS, 17, lambda row=row: f"{thread} turn {row.turn} has {row.round} rounds")
            most = (_SENDS_PER_ROUND + _NUDGES + _CHANGES + _LADDER) * _CANDIDATES
            hold(sends[row.round] <= most, 17, lambda row=row, s=sends: f"{thread} turn {row.turn}: {s} sends a round")

    def _count_once(self, row: Row) -> None:
        """What is asked for again in another way is asked for so once in a turn."""
        match row.kind:
            case "nudge":
                what = row.content["reason"]
            case "compaction":
                what = "summary" if row.meta["cause"] != "person" else ""
            case _:
                what = row.content.get("change", {}).get("kind", "")
        place = (row.thread, row.turn, what)
        self._again[place] += 1
        hold(not what or self._again[place] == 1, 17, lambda: f"turn {row.turn} of {row.thread} has {what} again")

    def _count_cooldown(self, row: Row) -> None:
        """Only a chat's turn that no person has caused waits for its route to cool down, and few times."""
        thread, ledger = row.thread, self.ledger
        hold(not ledger.is_human(thread), 17, lambda: f"a person waits in {thread} for a route to cool down")
        is_chat = thread not in ledger.tasks and not thread.startswith("repair")
        hold(is_chat, 17, lambda: f"{thread} is no chat and waits for a route to cool down")
        waits = self._cooldowns[thread, row.turn]
        if row.content["until_ms"] not in waits:  # one that is woken before its time tells the same again
            waits.append(row.content["until_ms"])
        hold(len(waits) <= _COOLDOWN_WAITS, 17, lambda: f"turn {row.turn} of {thread} waits {len(waits)} times")

    def _count_step(self, row: Row) -> None:
        """A ladder has few steps, each higher than the one before, and a turn has few ladders."""
        ladders = self._ladders[row.thread, row.turn]
        step, before = row.content["step"], ladders.get(row.round, 0)
        ladders[row.round] = step
        hold(before < step <= _STEPS, 17, lambda: f"{row.thread} takes step {step} of a ladder after step {before}")
        hold(len(ladders) <= _LADDERS, 17, lambda: f"turn {row.turn} of {row.thread} has {len(ladders)} ladders")
