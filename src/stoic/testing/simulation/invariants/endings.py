"""Invariants 5, 6 and 13: every turn ends once, a tombstone holds, and people hear what they must hear."""

from collections import Counter, defaultdict

import msgspec

from stoic.records import Notice, Outcome, Parked, Row
from stoic.testing.simulation.invariants.watching import Watching
from stoic.testing.simulation.ledger import Ledger, Ran, Sent, Taken
from stoic.testing.simulation.setting import DAILY_NOTICES, hold

_OPENS = frozenset({"message", "event", "wake", "grant"})
_FEW_ATTEMPTS = 3
"""After so many attempts no notice is given up."""
_DAY_MS = 24 * 3_600_000
_OF_ONE_THING = frozenset({"approval_wanted", "unknown_operation", "stuck_loop", "turn_ended"})
"""Notices about one call or one turn: what one can do about it names it."""


class Endings(Watching):
    """5: every turn ends in exactly one outcome; every task's result is delivered exactly once."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with no outcome."""
        super().__init__(ledger)
        self._outcomes: set[tuple[str, int]] = set()
        self._delivered: set[str] = set()

    def stepped(self, taken: Taken) -> None:
        """No turn ends twice, and a task's end is delivered with it."""
        thread, step = taken.lease.thread, taken.step
        ended = [row.turn for row in step.rows if row.kind == "outcome"]
        for turn in ended:
            hold((thread, turn) not in self._outcomes, 5, lambda turn=turn: f"turn {turn} of {thread} ended twice")
            self._outcomes.add((thread, turn))
        self._check_taken(taken)
        ids = [each.id for each in step.deliveries]
        for one in ids:
            hold(one not in self._delivered, 5, lambda one=one: f"{one} was delivered twice")
            self._delivered.add(one)
        wanted = [f"{thread}.{turn}" for turn in ended] if thread in self.ledger.tasks else []
        hold(ids == wanted, 5, lambda: f"{thread} delivered {ids} with the ends of {wanted}")

    def ended(self) -> None:
        """Every message has one turn with one outcome, callers were told just that, and owners heard of every end."""
        for thread, rows in self.ledger.rows.items():
            opened = sorted({row.turn for row in rows if row.turn > 0})
            ended = sorted(row.turn for row in rows if row.kind == "outcome")
            hold(opened == ended, 5, lambda t=thread, o=opened, e=ended: f"{t} has turns {o} and outcomes {e}")
            taken = Counter(
                row.meta["entry"] for row in rows if row.kind in {"message", "event"} and "entry" in row.meta
            )
            twice = {entry for entry, times in taken.items() if times > 1}
            hold(not twice, 5, lambda t=thread, x=twice: f"{t} took {x} twice")
            if thread not in self.ledger.tombstoned:
                missing = [
                    entry.id
                    for entry in self.ledger.put.values()
                    if entry.thread == thread and entry.kind == "message" and entry.id not in taken
                ]
                hold(not missing, 5, lambda t=thread, m=missing: f"{t} never took the messages {m}")
                self._check_events(thread, set(taken))
        self._check_told()
        self._check_owners()

    def _check_taken(self, taken: Taken) -> None:
        """Nothing that came is taken out of the inbox without being in the log, but behind a tombstone."""
        thread, step = taken.lease.thread, taken.step
        if not step.inbox_taken or thread in self.ledger.tombstoned:
            return
        entries = [self.ledger.put[entry] for entry in step.inbox_taken]
        stored = {row.meta.get("entry") for row in step.rows}
        lost = [entry.id for entry in entries if entry.kind in {"message", "event", "grant"} and entry.id not in stored]
        lost = [entry for entry in lost if self.ledger.put[entry].kind != "grant"]
        hold(not lost, 5, lambda: f"{thread} takes {lost} and stores nothing of it")
        switches = sum(entry.kind == "switch" for entry in entries)
        told = sum(row.kind == "switch" for row in step.rows)
        hold(switches == told, 5, lambda: f"{thread} takes {switches} switches and stores {told}")

    def _check_told(self) -> None:
        for told in self.ledger.told:
            if told.text is None or not isinstance(told.ending, Outcome | Parked):
                continue
            rows = self.ledger.rows[told.thread]
            turn = next((row.turn for row in rows if row.kind == "message" and row.content["text"] == told.text), None)
            outcome = next((row.content for row in rows if row.kind == "outcome" and row.turn == turn), None)
            hold(outcome is not None, 5, lambda told=told: f"{told.text!r} of {told.thread} has no outcome")
            if isinstance(told.ending, Outcome):
                same = msgspec.convert(outcome, Outcome) == told.ending
                hold(same, 5, lambda told=told, o=outcome: f"{told.text!r} was told {told.ending}, not {o}")

    def _check_events(self, thread: str, taken: set[str]) -> None:
        """Every event was read, but where a refusal of this generation may forbid it."""
        generation = self.ledger.generation_of(thread)
        rows = self.ledger.rows[thread]
        if any(row.kind in {"quarantine", "refusal"} and row.generation == generation for row in rows):
            return
        events = [each for each in self.ledger.put.values() if each.thread == thread and each.kind == "event"]
        unread = [entry.id for entry in events if entry.id not in taken]
        hold(not unread, 5, lambda: f"{thread} never read the events {unread}")

    def _check_owners(self) -> None:
        heard: Counter[str] = Counter()
        for rows in self.ledger.rows.values():
            for row in rows:
                if row.kind == "event" and row.content.get("kind") == "task_ended" and "replaces" not in row.meta:
                    payload = row.content["payload"]
                    heard[f"{payload['task']}.{payload['turn']}"] += 1
        for delivery in self.ledger.deliveries.values():
            owner = delivery.owner
            times = heard[delivery.id]
            hold(times <= 1, 5, lambda d=delivery, n=times: f"{d.owner} heard {n} times of {d.id}")
            entered = [
                entry
                for entry in self.ledger.put.values()
                if entry.thread == owner and entry.content.get("payload", {}).get("task") == delivery.task
            ]
            if owner is not None and owner not in self.ledger.tombstoned:
                hold(entered, 5, lambda d=delivery: f"{d.owner} never heard of {d.id}")


class Tombstones(Watching):
    """6: a tombstoned task never runs again."""

    def sent(self, sent: Sent) -> None:
        """Nothing of it is sent."""
        hold(
            sent.is_stale or sent.thread not in self.ledger.tombstoned,
            6,
            lambda: f"{sent.id} of {sent.thread}, a tombstone",
        )

    def ran(self, ran: Ran) -> None:
        """None of its tools runs."""
        hold(ran.is_stale or ran.thread not in self.ledger.tombstoned, 6, lambda: f"{ran.operation} behind a tombstone")

    def stepped(self, taken: Taken) -> None:
        """Each task that is refused gets one, and nothing that a model could be shown is stored behind it."""
        thread = taken.lease.thread
        refused = any(row.kind == "outcome" and row.content.get("refused") for row in taken.step.rows)
        is_open = refused and thread in self.ledger.tasks and thread not in self.ledger.tombstoned
        hold(not is_open, 6, lambda: f"task {thread} was refused and has no tombstone")
        since = self.ledger.tombstoned.get(thread, self.ledger.steps)
        if since < self.ledger.steps:
            shown = [row.kind for row in taken.step.rows if row.visible]
            hold(not shown and not taken.step.views, 6, lambda: f"{thread} stored {shown} behind its tombstone")


class Notices(Watching):
    """13: one notice a key, critical ones are never dropped, the others stay within the day's budget."""

    def __init__(self, ledger: Ledger) -> None:
        """Begin with no notice."""
        super().__init__(ledger)
        self._known: dict[str, Notice] = {}
        self._refusals: dict[tuple[str, int, str, str], set[str]] = defaultdict(set)
        """Keys of notices about refusals, by thread, generation, prefix and who has refused and not answered since."""

    def stepped(self, taken: Taken) -> None:
        """What two things have to say has two keys, and what a segment's refusals have to say has few."""
        thread = taken.lease.thread
        for row in taken.step.rows:
            if row.kind == "reply":
                self._begin_anew(thread, row)
        for notice in taken.step.notices:
            known = self._known.setdefault(notice.key, notice)
            is_same = notice.kind not in _OF_ONE_THING or known.actions == notice.actions
            hold(is_same, 13, lambda n=notice, k=known: f"{n.key} stands for {n.actions} and for {k.actions}")
            if notice.kind != "refusal":
                continue
            who = notice.key.rpartition(":")[2]
            place = (thread, self.ledger.generation_of(thread), self.ledger.fingerprints.get(thread, ""), who)
            keys = self._refusals[place]
            keys.add(notice.key)
            most = 2 if thread.startswith("repair") and thread not in self.ledger.tasks else 1
            hold(len(keys) <= most, 13, lambda keys=keys: f"{thread} tells of one segment's refusals {keys}")

    def _begin_anew(self, thread: str, reply: Row) -> None:
        """Know that who has answered may be told of once more when it refuses again."""
        here = (thread, reply.generation, self.ledger.fingerprints.get(thread, ""))
        for place in [
            each for each in self._refusals if each[:3] == here and reply.meta["provider"] in each[3].split(",")
        ]:
            del self._refusals[place]

    def ended(self) -> None:
        """Everything critical was heard; of the rest no more a day than may be."""
        by_key = {notice.key: notice for notice in reversed(self.ledger.notices)}
        heard = Counter(key for _, key in self.ledger.heard)
        for key, notice in by_key.items():
            hold(notice.priority != "critical" or heard[key], 13, lambda key=key: f"nobody was told {key}")
        early = {key: attempts for key, attempts in self.ledger.given_up.items() if attempts <= _FEW_ATTEMPTS}
        hold(not early, 13, lambda: f"given up after so few attempts: {early}")
        if not self.ledger.has_disturbance:
            twice = [key for key, times in heard.items() if times > 1]
            hold(not twice, 13, lambda: f"told twice: {twice}")
        days: Counter[int] = Counter()
        for key, at_ms in self.ledger.first_heard.items():
            if key in by_key and by_key[key].priority == "normal":
                days[at_ms // _DAY_MS] += 1
        many = {day: count for day, count in days.items() if count > DAILY_NOTICES}
        hold(not many or self.ledger.has_disturbance, 13, lambda: f"normal notices a day: {many}")
