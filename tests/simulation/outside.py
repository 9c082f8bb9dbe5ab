"""What is outside every simulated process and outlives all of them: the log, what tools did, what providers got."""

from collections.abc import Callable

from stoic.core.commands import Ending
from stoic.events import Happening
from stoic.ports import HeldLeaseError, Loaded, Store
from stoic.records import InboxEntry, Lease, Operation, Owner, Record, Row, Step


class Sent(Record, frozen=True):
    """One request as the provider got it."""

    number: int
    thread: str
    process: str
    body: bytes
    head: bytes
    generation: int
    stale: bool
    """Whether the sender had lost the thread's lease by then."""

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
    again: bool = False
    """Whether an earlier run of the operation had ended."""


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


class Outside:
    """The record of a run, in the order in which things took effect."""

    def __init__(self, after_step: Callable[[str], None] | None = None) -> None:
        """Begin empty; `after_step` is called with the thread after each step that took effect."""
        self.after_step = after_step
        self.story: list[str] = []
        """One line a thing that happened; equal for equal seeds."""
        self.sent: list[Sent] = []
        self.order: list[tuple[str, str]] = []
        """`("sent", request id)` and `("accepted", request id)`, as they happened."""
        self.lost: set[str] = set()
        """Request ids whose answer could not be stored: its process was cancelled, killed or late."""
        self.ran: list[Ran] = []
        self.ended: set[str] = set()
        """Operations of which a run has ended, in a process that held the thread's lease."""
        self.told: list[Told] = []
        self.followed: list[Followed] = []
        self.journal: dict[str, Operation] = {}
        self.not_done: list[str] = []
        """Operation ids, once for each `not_done` that was recorded before a run."""
        self.holders: dict[str, Lease] = {}
        """The newest lease of each thread, released or not."""
        self.stale_appends: list[str] = []
        """Appends that took effect under an old lease."""
        self.rejected: list[str] = []
        """Appends of stale writers that were rejected."""
        self.put: list[InboxEntry] = []
        self.rows: dict[str, list[Row]] = {}
        """Each thread's log as it was last read."""
        self.generations: dict[str, int] = {}
        """Each thread's generation, as its newest row has it."""
        self.settled: set[str] = set()
        """Request ids whose answer was stored, as a reply or as a failed attempt."""
        self.summaries = 0
        """Requests that the runtime made for itself."""
        self.steps = 0

    def tell(self, line: str) -> None:
        """Add a line to the story."""
        self.story.append(line)

    def note_step(self, lease: Lease, step: Step) -> None:
        """Remember a step that took effect."""
        self.steps += 1
        holder = self.holders[lease.thread]
        if holder.epoch != lease.epoch:
            self.stale_appends.append(f"{lease.owner} at epoch {lease.epoch}, the thread is at {holder.epoch}")
        for row in step.rows:
            self.generations[lease.thread] = row.generation
            request = row.meta.get("request_id")
            settled = request or (row.content.get("request_id") if row.kind == "attempt" else None)
            if settled:
                self.settled.add(settled)
            if row.kind == "reply" and request:
                self.order.append(("accepted", request))
        for operation in step.operations:
            if operation.status == "not_done" and operation.state == "running":
                self.not_done.append(operation.id)
            self.journal[operation.id] = operation
        said = [f"{row.seq}:{row.kind}" for row in step.rows]
        said += [f"{operation.id}={operation.state}" for operation in step.operations]
        said += [f"takes {entry[-4:]}" for entry in step.inbox_taken]
        self.tell(f"{lease.owner} commits {lease.thread} {' '.join(said)}")

    def lose_answer(self, process: str, thread: str) -> None:
        """Note that what the process got last for the thread cannot be stored: it died, or lost its lease."""
        mine = [one.id for one in self.sent if one.process == process and one.thread == thread]
        self.lost.update(mine[-1:])

    def lose_unsettled(self, process: str) -> None:
        """Note that the process died between an answer and the step that would have stored it."""
        self.lost.update(one.id for one in self.sent if one.process == process and one.id not in self.settled)

    def note_end(self, process: str, thread: str, operation: str) -> None:
        """Remember that a tool's function has ended; one whose process has lost the thread does not count."""
        if self.holders[thread].owner == process:
            self.ended.add(operation)

    def unknown_twin(self, operation: str) -> str | None:
        """Return an equal operation of the thread whose effect is unknown now."""
        mine = self.journal.get(operation)
        if mine is None:
            return None
        for other in self.journal.values():
            same = other.thread == mine.thread and other.arguments_key == mine.arguments_key and other.id != operation
            if same and other.state == "unknown" and other.status not in {"done", "not_done"}:
                return other.id
        return None


class WatchedStore:
    """A Store that remembers what took effect in it."""

    def __init__(self, inner: Store, outside: Outside) -> None:
        self._inner = inner
        self._outside = outside
        self.open = inner.open
        self.close = inner.close
        self.register = inner.register
        self.create_thread = inner.create_thread
        self.threads = inner.threads
        self.release = inner.release
        self.operations = inner.operations
        self.inbox = inner.inbox
        self.calls = inner.calls
        self.health = inner.health
        self.delete_thread = inner.delete_thread
        self.claim_trial = inner.claim_trial
        self.put_health = inner.put_health
        self.holder = inner.holder
        self.refused_since = inner.refused_since
        self.unknown_of_kin = inner.unknown_of_kin
        self.work = inner.work
        self.next_wake_ms = inner.next_wake_ms
        self.parked = inner.parked
        self.tasks = inner.tasks
        self.deliveries = inner.deliveries
        self.refused_briefs = inner.refused_briefs
        self.remember = inner.remember
        self.recall = inner.recall
        self.memories = inner.memories
        self.forget = inner.forget
        self.put_schedule = inner.put_schedule
        self.schedules = inner.schedules
        self.delete_schedule = inner.delete_schedule
        self.fire_schedule = inner.fire_schedule
        self.put_notice = inner.put_notice
        self.notices = inner.notices
        self.notices_used = inner.notices_used
        self.settle_notice = inner.settle_notice
        self.changes = inner.changes

    async def put(self, entry: InboxEntry) -> InboxEntry:
        stored = await self._inner.put(entry)
        self._note_entry(entry)
        return stored

    def _note_entry(self, entry: InboxEntry | None) -> None:
        if entry is not None and entry.id not in {known.id for known in self._outside.put}:
            self._outside.put.append(entry)
            self._outside.tell(f"inbox {entry.thread} {entry.kind} {entry.id[-4:]} {entry.content}")

    async def acquire(self, thread: str, owner: str, now_ms: int, *, enter: InboxEntry | None = None) -> Lease:
        try:
            lease = await self._inner.acquire(thread, owner, now_ms, enter=enter)
        except HeldLeaseError:
            # The entry is stored all the same; after any other error it is not.
            self._note_entry(enter)
            raise
        self._note_entry(enter)
        self._outside.holders[thread] = lease
        self._outside.tell(f"{owner} leases {thread} epoch {lease.epoch}")
        return lease

    async def load(self, thread: str, *, after_seq: int = 0) -> Loaded:
        return await self._inner.load(thread, after_seq=after_seq)

    async def append(self, lease: Lease, step: Step) -> None:
        await self._inner.append(lease, step)
        self._outside.note_step(lease, step)
        self._outside.rows[lease.thread] = (await self._inner.load(lease.thread)).rows
        if self._outside.after_step:
            self._outside.after_step(lease.thread)


def owner_of(name: str, now_ms: int) -> Owner:
    """Describe a simulated process."""
    return Owner(id=name, host="simulated", boot_id="boot", pid=1, started_at=1, heartbeat_at=now_ms)
