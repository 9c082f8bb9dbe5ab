"""What is outside every simulated process and outlives all of them: the log, what tools did, what providers got."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from msgspec.structs import replace

from stoic.core.commands import Ending
from stoic.events import Happening
from stoic.records import (
    Delivery,
    Health,
    InboxEntry,
    Json,
    Lease,
    Notice,
    Operation,
    Record,
    RefusedBytes,
    Row,
    Step,
    ThreadRecord,
)
from stoic.testing.simulation.setting import Violation

HUMAN = frozenset({"message", "grant"})
"""Kinds of rows by which a person makes a turn."""


class Sent(Record, frozen=True):
    """One request as a provider got it."""

    number: int
    thread: str
    process: str
    provider: str
    api: str
    model: str
    body: bytes
    at_ms: int
    generation: int
    fingerprint: str
    turn: int
    is_human: bool
    """Whether a person's message opened the turn, or a person asked for the summary."""
    is_stale: bool
    """Whether the sender had lost the thread's lease by then, or the thread was another's."""
    is_summary: bool = False

    @property
    def id(self) -> str:
        """The request id that its report carries."""
        return f"req-{self.number}"


class Ran(Record, frozen=True):
    """One real execution of a tool."""

    thread: str
    process: str
    operation: str
    tool: str
    argument: str
    twin: str | None = None
    """An equal operation whose effect was unknown at that time."""
    is_again: bool = False
    """Whether an earlier run of the operation had ended."""
    is_stale: bool = False


class Told(Record, frozen=True):
    """What one caller was told about its message."""

    thread: str
    text: str | None
    """None: a resume."""
    ending: Ending | None


class Followed(Record, frozen=True):
    """What one subscriber saw of one thread."""

    thread: str
    process: str
    events: list[Happening] = []


class Taken(Record, frozen=True):
    """A step that took effect, and how its thread stood before."""

    lease: Lease
    step: Step
    at_ms: int
    is_stale: bool
    before: list[Row]
    """The rows that it changed, as they were."""


class Watcher(Protocol):
    """Looks at everything that happens; each invariant is watched by one."""

    def sent(self, sent: Sent) -> None:
        """Look at a request as a provider gets it."""

    def ran(self, ran: Ran) -> None:
        """Look at a real execution of a tool as it begins."""

    def stepped(self, taken: Taken) -> None:
        """Look at a step that has taken effect."""

    def ended(self) -> None:
        """Look at the whole when every thread is at rest."""


@dataclass
class Ledger:
    """The record of a run, in the order in which things took effect."""

    now_ms: Callable[[], int]
    watchers: list[Watcher] = field(default_factory=list[Watcher])
    story: list[str] = field(default_factory=list[str])
    """One line a thing that happened; equal for equal seeds."""
    sent: list[Sent] = field(default_factory=list[Sent])
    lost: set[str] = field(default_factory=set[str])
    """Request ids whose answer could not be stored: its process was cancelled, killed, late, or found the disk full."""
    settled: set[str] = field(default_factory=set[str])
    """Request ids whose answer was stored, as a reply or as a failed attempt."""
    void: set[str] = field(default_factory=set[str])
    """Request ids whose answer was no reply: half, empty, refused, or with an end that nobody knows."""
    ran: list[Ran] = field(default_factory=list[Ran])
    ended: set[str] = field(default_factory=set[str])
    """Operations of which a run has ended, in a process that held the thread's lease."""
    told: list[Told] = field(default_factory=list[Told])
    followed: list[Followed] = field(default_factory=list[Followed])
    journal: dict[str, Operation] = field(default_factory=dict[str, Operation])
    not_done: list[str] = field(default_factory=list[str])
    """Operation ids, once for each `not_done` that was recorded before a run."""
    said_not_done: list[str] = field(default_factory=list[str])
    """Operation ids, once for each time that a status function or a person said so."""
    clear: set[str] = field(default_factory=set[str])
    """Operations of which a run has ended in a way that tells whether it took effect."""
    holders: dict[str, Lease] = field(default_factory=dict[str, Lease])
    """The newest lease of each thread, released or not."""
    rejected: list[str] = field(default_factory=list[str])
    """Steps of stale writers that were rejected."""
    put: dict[str, InboxEntry] = field(default_factory=dict[str, InboxEntry])
    rows: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])
    """Each thread's log, kept beside the store by what the steps say."""
    _accepted_upto: dict[str, int] = field(default_factory=dict[str, int])
    _told_of_kin: dict[str, int] = field(default_factory=dict[str, int])
    """Unknown operations of which a task or its owner has recorded `not_done`, with the number of the run."""
    _ended_turns: dict[str, int] = field(default_factory=dict[str, int])
    """The number of each thread's newest turn that has ended."""
    fingerprints: dict[str, str] = field(default_factory=dict[str, str])
    inputs: dict[str, Row] = field(default_factory=dict[str, Row])
    """The row that opened each thread's newest turn."""
    tombstoned: dict[str, int] = field(default_factory=dict[str, int])
    """Threads that ended by refusal, with the number of the step."""
    records: dict[str, ThreadRecord] = field(default_factory=dict[str, ThreadRecord])
    """Each thread as it was created."""
    tasks: dict[str, None] = field(default_factory=dict[str, None])
    """The oldest first."""
    owners: dict[str, str] = field(default_factory=dict[str, str])
    """Each owned task's owner."""
    deliveries: dict[str, Delivery] = field(default_factory=dict[str, Delivery])
    notices: list[Notice] = field(default_factory=list[Notice])
    heard: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Notices that reached a person: the process that sent it, and its key."""
    given_up: dict[str, int] = field(default_factory=dict[str, int])
    """Notices that no channel took, each with the number of attempts; a person may send them by hand."""
    refused: list[RefusedBytes] = field(default_factory=list[RefusedBytes])
    health: dict[str, Health] = field(default_factory=dict[str, Health])
    reports: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Refused tasks, each with what somebody who asked was told of it."""
    log_lines: list[str] = field(default_factory=list[str])
    struck: list[int] = field(default_factory=list[int])
    """Numbers of the strikes of fate that happened."""
    steps: int = 0
    has_disturbance: bool = False
    """Whether any process died or stood still, or the clock was set."""
    was_clock_set: bool = False
    violations: list[Violation] = field(default_factory=list[Violation])
    """What a watcher saw inside a process, where nobody waited for it."""
    first_heard: dict[str, int] = field(default_factory=dict[str, int])
    """When a person first heard of a notice, by its key."""
    surprises: list[str] = field(default_factory=list[str])
    """What nobody had foreseen."""

    def tell(self, line: str) -> None:
        """Add a line to the story."""
        self.story.append(line)

    def surprise(self, what: str) -> None:
        """Note something that must not happen at all."""
        self.surprises.append(what)
        self.tell(f"SURPRISE {what}")

    @property
    def turns(self) -> int:
        """How many turns have ended."""
        return sum(row.kind == "outcome" for rows in self.rows.values() for row in rows)

    # ---- what happens -------------------------------------------------------------------------------

    def is_over(self, thread: str, lease: Lease | None) -> bool:
        """Tell whether somebody else has taken the thread's lease since, also in the same process."""
        holder = self.holders.get(thread)
        return holder is None or lease is None or lease.thread != thread or holder.epoch != lease.epoch

    def note_sent(self, sent: Sent) -> None:
        """Remember a request."""
        self.sent.append(sent)
        if sent.is_stale:  # its sender cannot store what comes
            self.lost.add(sent.id)
        what = "a summary" if sent.is_summary else f"{len(sent.body)} bytes"
        self.tell(f"{sent.process} sends {sent.id} of {sent.thread} to {sent.provider}, {what}")
        self._watched(lambda watcher: watcher.sent(sent))

    def note_ran(self, ran: Ran) -> None:
        """Remember that a tool's function began to act."""
        self.ran.append(ran)
        self.tell(f"{ran.process} runs {ran.operation} {ran.tool} {ran.argument}")
        self._watched(lambda watcher: watcher.ran(ran))

    def note_end(self, thread: str, lease: Lease | None, operation: str, *, is_clear: bool) -> None:
        """Remember that a tool's function has ended; one whose process has lost the thread does not count."""
        if is_clear:
            self.clear.add(operation)
        if not self.is_over(thread, lease):
            self.ended.add(operation)

    def note_entry(self, entry: InboxEntry) -> None:
        """Remember what came into an inbox."""
        if entry.id not in self.put:
            self.put[entry.id] = entry
            self.tell(f"inbox {entry.thread} {entry.kind} {entry.id[-6:]} {_short(entry.content)}")

    def note_step(self, lease: Lease, step: Step) -> None:
        """Remember a step that took effect."""
        self.steps += 1
        thread = lease.thread
        rows = self.rows.setdefault(thread, [])
        before = [rows[change.seq - 1] for change in step.views]
        is_stale = self.holders[thread].epoch != lease.epoch
        self._keep_rows(thread, rows, step)
        for row in step.rows:
            self._note_row(thread, row)
        for operation in step.operations:
            if operation.status == "not_done" and operation.state == "running":
                self.not_done.append(operation.id)
            self.journal[operation.id] = operation
        self.deliveries |= {each.id: each for each in step.deliveries}
        self.notices += step.notices
        said = [f"{row.seq}:{row.kind}" for row in step.rows]
        said += [f"{operation.id}={operation.state}" for operation in step.operations]
        said += [f"withholds {change.seq}" for change in step.views]
        said += [f"takes {entry[-6:]}" for entry in step.inbox_taken]
        self.tell(f"{lease.owner} commits {thread} {' '.join(said)}")
        taken = Taken(lease=lease, step=step, at_ms=self.now_ms(), is_stale=is_stale, before=before)
        self._watched(lambda watcher: watcher.stepped(taken))
        self.refused += step.refused
        for health in step.health:
            self.health[health.route] = health.onto(self.health.get(health.route))

    def _keep_rows(self, thread: str, rows: list[Row], step: Step) -> None:
        """Do to the kept rows what the step does to the stored ones."""
        accepted_upto = self._accepted_upto.get(thread, 0)
        self._accepted_upto[thread] = max(accepted_upto, step.accept_upto)
        rows += step.rows
        for change in step.views:
            rows[change.seq - 1] = replace(rows[change.seq - 1], view=change.view, quarantine=change.quarantine)
        for index in range(accepted_upto, step.accept_upto):
            row = rows[index]
            if row.visible and not row.accepted and row.quarantine != "excluded":
                rows[index] = replace(row, accepted=True)

    def _note_row(self, thread: str, row: Row) -> None:
        request = row.meta.get("request_id") or (row.content.get("request_id") if row.kind == "attempt" else None)
        if request:
            self.settled.add(request)
        if "fingerprint" in row.meta:
            self.fingerprints[thread] = row.meta["fingerprint"]
        if row.kind in {"message", "event", "wake", "grant"} and self.turn_of(thread) != row.turn:
            self.inputs[thread] = row
        if row.kind == "kin_status":
            self._told_of_kin[row.content["operation"]] = self.journal[row.content["operation"]].runs
        if row.kind == "outcome":
            self._ended_turns[thread] = row.turn
        if row.kind == "refusal_stop":
            self.tombstoned[thread] = self.steps

    def violate(self, violation: Violation) -> None:
        """Note what somebody saw where nobody waits for it."""
        self.violations.append(violation)
        self.tell(f"VIOLATION {violation}")

    def _watched(self, look: Callable[[Watcher], None]) -> None:
        """Let every watcher look; what one sees is kept, since the program may catch what is raised inside of it."""
        for watcher in self.watchers:
            try:
                look(watcher)
            except Violation as seen:
                self.violations.append(seen)
                raise

    # ---- what is known ------------------------------------------------------------------------------

    def turn_of(self, thread: str) -> int:
        """Return the number of a thread's newest turn; 0: there was none."""
        opened = self.inputs.get(thread)
        return opened.turn if opened else 0

    def is_human(self, thread: str) -> bool:
        """Tell whether a person's message opened a thread's newest turn; what a task is told comes from its owner."""
        opened = self.inputs.get(thread)
        return opened is not None and opened.kind in HUMAN and thread not in self.tasks

    def generation_of(self, thread: str) -> int:
        """Return a thread's generation, as its newest row has it."""
        rows = self.rows.get(thread)
        return rows[-1].generation if rows else 1

    def has_open_turn(self, thread: str) -> bool:
        """Tell whether a thread's newest turn has no outcome."""
        turn = self.turn_of(thread)
        return turn > self._ended_turns.get(thread, 0)

    def tasks_of(self, owner: str) -> list[str]:
        """Return the tasks of a thread, the oldest first."""
        return [task for task, of in self.owners.items() if of == owner]

    def lose_answers(self, process: str, thread: str | None = None) -> None:
        """Note that what a process got, for one thread or any, and has not stored cannot be stored any more."""
        for one in reversed(self.sent[-60:]):
            if one.process == process and thread in {None, one.thread} and one.id not in self.settled:
                self.lost.add(one.id)

    def unknown_twin(self, operation: str) -> str | None:
        """Return an equal operation of the thread, its owner or its tasks whose effect is unknown now."""
        mine = self.journal.get(operation)
        if mine is None:
            return None
        kin = {mine.thread, self.owners.get(mine.thread), *self.tasks_of(mine.thread)}
        for other in self.journal.values():
            if other.id in self._told_of_kin and self._told_of_kin[other.id] >= other.runs:
                continue
            same = other.tool == mine.tool and other.arguments_key == mine.arguments_key and other.id != operation
            if same and other.thread in kin and other.state == "unknown" and other.status not in {"done", "not_done"}:
                return other.id
        return None


def _short(content: Json) -> str:
    text = str(content)
    return text if len(text) <= 160 else f"{text[:160]}…"  # noqa: PLR2004 -- the number that is cut to
