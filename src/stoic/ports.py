"""Protocols of the outside: what the runtime needs from a store, a provider, a clock and an id source."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Protocol

from stoic.errors import StoreError, UsageError
from stoic.records import (
    Health,
    InboxEntry,
    Json,
    Lease,
    Memory,
    Message,
    Notice,
    NoticeBudget,
    Operation,
    Owner,
    Price,
    Record,
    RefusedBytes,
    Report,
    Row,
    Schedule,
    Spending,
    Spent,
    Step,
    StoredDelivery,
    StoredNotice,
    ThreadRecord,
    ToolSchema,
    Work,
)
from stoic.sampling import Sampling


class Clock(Protocol):
    """The only source of time."""

    def now_ms(self) -> int:
        """Return the current time in epoch milliseconds."""
        ...

    async def sleep_until(self, until_ms: int) -> None:
        """Return when `now_ms()` has reached `until_ms`."""
        ...


class Ids(Protocol):
    """The only source of randomness in ids."""

    def new(self) -> str:
        """Return a new time-sortable id (UUIDv7 text)."""
        ...


class Loaded(Record, frozen=True):
    """A thread as it stands in the store."""

    thread: ThreadRecord
    rows: list[Row]
    """By seq, from the asked one on."""
    operations: list[Operation]
    """Those in state `intended`, `running` or `unknown`, oldest first."""
    inbox: list[InboxEntry]
    """Not yet taken, in order of arrival."""
    guard: Json = None
    """The loop detector's state as it was stored last."""


class DamagedRowsError(StoreError):
    """Rows of a thread hold something else than rows of their kinds do: nothing runs on it, and people are shown the rest."""

    def __init__(self, text: str, rest: Loaded) -> None:
        """Keep what can be read.

        Args:
            text: names the thread, the first such row and what is wrong with it
            rest: the thread; a row of kind `damaged` stands for each such row, as `{"kind", "misfit"}`
        """
        super().__init__(text)
        self.rest = rest


class HeldLeaseError(Exception):
    """The thread's lease is held by a living owner; not an error of the caller."""

    def __init__(self, owner: Owner) -> None:
        """Remember who holds it."""
        super().__init__(f"held by {owner.host} pid {owner.pid}")
        self.owner = owner


class Shapes(Protocol):
    """What JSON the stored values hold; each function says where one is of another shape than whoever reads it expects.

    What is said never holds the value: it may be what no model may read. None: it is as it should be.
    """

    def misfit_of_row(self, row: Row, /) -> str | None:
        """Look at a row's content, view and meta."""
        ...

    def misfit_of_entry(self, entry: InboxEntry, /) -> str | None:
        """Look at an inbox entry's content."""
        ...

    def misfit_of_thread(self, thread: ThreadRecord, /) -> str | None:
        """Look at a thread's meta and at what it is parked for."""
        ...

    def misfit_of_delivery(self, stored: StoredDelivery, /) -> str | None:
        """Look at a delivery's receipt."""
        ...


class Store(Protocol):
    """The log. Every method that writes is one transaction; `append` is fenced by the lease's epoch."""

    async def open(self) -> None:
        """Open and migrate. Raises SchemaTooNewError, StoreError."""
        ...

    async def close(self) -> None:
        """Finish what was accepted for writing, then close."""
        ...

    async def register(self, owner: Owner) -> None:
        """Make an owner known, or renew its heartbeat: one row an owner, whatever the number of its leases."""
        ...

    async def owners(self) -> list[Owner]:
        """Return every owner that was ever registered, the newest heartbeat first."""
        ...

    async def create_thread(self, thread: ThreadRecord, *, enter: InboxEntry | None = None) -> ThreadRecord:
        """Create the thread if it is new, with the inbox entry that it begins with; return it as it stands. Raises StoreError."""
        ...

    async def threads(self, *, limit: int = 100, prefix: str = "") -> list[ThreadRecord]:
        """Return threads whose id begins with the prefix, the newest first."""
        ...

    async def thread(self, thread: str) -> ThreadRecord:
        """Return a thread as it stands, without its rows. Raises NoSuchThreadError, StoreError."""
        ...

    async def delete_thread(self, thread: str, now_ms: int) -> None:
        """Delete a thread with its rows, journal and inbox, in one transaction.

        Raises HeldLeaseError while a living owner holds its lease, StoreError (no such thread).
        """
        ...

    async def put(self, entry: InboxEntry) -> InboxEntry:
        """Insert an inbox entry and return it with its position; needs no lease.

        Raises StoreError if there is no such thread.
        """
        ...

    async def acquire(self, thread: str, owner: str, now_ms: int, *, enter: InboxEntry | None = None) -> Lease:
        """Take the thread's lease with a new epoch.

        An owner of this host whose process is gone is taken over at once, any other after 15 s without heartbeat.
        `enter`: an inbox entry inserted in the same transaction, also when the lease is held by somebody else.
        A lease this same owner holds is not given twice; one taken for a caller who has left meanwhile is given back.
        Raises HeldLeaseError, StoreError (no such thread).
        """
        ...

    async def release(self, lease: Lease) -> None:
        """Give the lease back if it is still this holder's; otherwise do nothing.

        Raises StoreError when that cannot be stored now; it is then given back as soon as it can.
        """
        ...

    async def holder(self, thread: str, now_ms: int) -> Owner | None:
        """Return the living owner who holds the thread's lease; None: nobody works on it. Raises StoreError (no such thread)."""
        ...

    async def load(self, thread: str, *, after_seq: int = 0) -> Loaded:
        """Read a consistent snapshot.

        Raises NoSuchThreadError, DamagedRowsError, StoreError.
        """
        ...

    async def append(self, lease: Lease, step: Step) -> None:
        """Store one step whole.

        Raises StaleWriterError when the epoch is old, RejectedStepError when the step breaks a rule of the log
        (a seq that does not follow, a view change of an accepted row); then nothing of it is stored, and the steps
        of other threads that were committed with it are.
        """
        ...

    async def operations(self, thread: str | None = None, *, states: tuple[str, ...] = ()) -> list[Operation]:
        """Return journal entries, the newest first; of one thread or all, in any or the named states."""
        ...

    async def inbox(self, thread: str) -> list[InboxEntry]:
        """Return the entries not yet taken, in order of arrival."""
        ...

    async def calls(self, owner: str) -> list[InboxEntry]:
        """Return the `cancel` and `event` entries not yet taken of threads whose lease the owner holds, in order."""
        ...

    async def health(self) -> list[Health]:
        """Return what is known of every route's health, by route."""
        ...

    async def claim_trial(self, trial: Health, now_ms: int) -> bool:
        """Store a route's state with its one trial taken; False, and nothing stored, if somebody else has it."""
        ...

    async def put_health(self, health: Health) -> None:
        """Store what a person decided of a route; what attempts say is stored with their step."""
        ...

    async def work(self, now_ms: int) -> list[Work]:
        """Return the threads that there may be something to do on: open, due by the clock, or with unread entries."""
        ...

    async def next_wake_ms(self, now_ms: int) -> int | None:
        """Return when the next parked turn is due by the clock; None: none is."""
        ...

    async def parked(self) -> list[ThreadRecord]:
        """Return the threads whose turn is parked, the oldest first."""
        ...

    async def tasks(
        self, *, owner: str | None = None, root: str | None = None, limit: int = 1000
    ) -> list[ThreadRecord]:
        """Return threads that count as tasks, of an owner, under a root, or all, the newest first."""
        ...

    async def deliveries(self, *, task: str | None = None, owner: str | None = None) -> list[StoredDelivery]:
        """Return what was delivered of a task, to an owner, or at all, the newest first."""
        ...

    async def refused_briefs(self, root: str, brief: str) -> list[RefusedBytes]:
        """Return who has refused a brief of that hash under a root, the oldest first."""
        ...

    async def unknown_of_kin(self, thread: str, owner: str | None) -> list[Operation]:
        """Return the operations of a thread's owner and of its own tasks whose effect is unknown, the oldest first."""
        ...

    async def spent(self, *, root: str | None = None, since_ms: int = 0) -> Spent:
        """Return what was taken by a thread and the tasks below it, or by all, on the days from that one on."""
        ...

    async def spending(self, *, root: str | None = None, since_ms: int = 0) -> list[Spending]:
        """Return the same day by day and thread by thread, the newest day first."""
        ...

    async def refused_since(self, since_ms: int) -> list[RefusedBytes]:
        """Return the requests that were refused after that time, of all threads."""
        ...

    async def put_notice(self, notice: Notice, *, folds: Sequence[StoredNotice] = ()) -> bool:
        """Store a notice unless its key is known; those of a turn are stored with their step.

        `folds`: notices that become `folded` with it. False, and nothing changed: the key is known, or one of these is not
        as the caller knows it.
        """
        ...

    async def notices(self, *, states: tuple[str, ...] = (), limit: int = 1000) -> list[StoredNotice]:
        """Return notices, the newest first, in any or the named states."""
        ...

    async def settle_notice(
        self, known: StoredNotice, now: StoredNotice, *, budget: NoticeBudget | None = None
    ) -> bool:
        """Change a notice's delivery from what the caller knows of it; False, and nothing changed: somebody was faster.

        `budget`: also False when so many are used.
        """
        ...

    async def notices_used(self, since_ms: int) -> int:
        """Return how much of a budget is used: normal notices sent since then, or whose sending has begun; no digests."""
        ...

    def changes(self) -> AsyncIterator[None]:
        """Yield whenever anybody, this process or another, may have written: at most 250 ms late."""
        ...

    async def remember(self, memory: Memory) -> bool:
        """Store a memory; False, and nothing stored: its id is known, or its thread ended by refusal. Raises StoreError."""
        ...

    async def recall(self, scope: str | None, query: str, limit: int) -> list[Memory]:
        """Return the memories of a scope that hold any of the query's words, the best match first.

        None of a thread that ended by refusal is among them. No scope: of all. A query without words: the newest ones.
        """
        ...

    async def memories(self, scope: str | None, limit: int) -> list[Memory]:
        """Return the memories of a scope, or of all, the newest first, also those that `recall` leaves out: for people."""
        ...

    async def forget(self, scope: str | None, memory: str) -> bool:
        """Delete a memory of a scope, or of any, by its id; False: there is none."""
        ...

    async def put_schedule(self, schedule: Schedule) -> None:
        """Store a schedule; of one that is known only `paused` and `next_due_at` change.

        Raises StoreError (no such thread, or it is not paused and its thread ended by refusal).
        """
        ...

    async def schedules(self) -> list[Schedule]:
        """Return all schedules, the oldest first."""
        ...

    async def delete_schedule(self, schedule: str) -> bool:
        """Delete a schedule by its id; False: there is none."""
        ...

    async def fire_schedule(self, schedule: Schedule, entry: InboxEntry, next_due_at: int) -> bool:
        """Move a schedule on from the due time the caller knows, and enter its prompt into its thread's inbox.

        False: nothing was entered, since somebody was faster, it is paused, an earlier prompt of it is still unread (then
        it moved on all the same), or its thread ended by refusal (then it is paused).
        """
        ...


class Channel(Protocol):
    """A way to a person, or to a program that tells one."""

    @property
    def name(self) -> str:
        """Names it to a person; the store remembers by it which notices it has, so no two share one."""
        ...

    def takes(self, notice: Notice) -> bool:
        """Tell whether the notice is meant for this channel."""
        ...

    async def deliver(self, notice: Notice) -> str | None:
        """Deliver once, within 30 s; return None, or one line that says why it has not arrived.

        A notice may come again after a crash: its key tells.
        """
        ...

    async def close(self) -> None:
        """Close what it holds open."""
        ...


Delta = Callable[[str, str], None]
"""Called as `(kind, text)` for each provisional piece: kind `text`, `thinking`, or `call` (a tool call's name)."""


class Request(Record, frozen=True):
    """One request, ready to send."""

    url: str
    headers: dict[str, str]
    body: bytes
    provider: str
    api: str
    model: str
    deadline_ms: int
    secrets: tuple[str, ...] = ()
    """Texts beside the credential's headers that must not come back in the report, such as a URL that is a credential."""


class Provider(Protocol):
    """A wire: request bytes out, stream events in. Never raises for what a provider or a network does."""

    async def send(self, request: Request, on_delta: Delta) -> Report:
        """Send once, never again by itself; report whatever came. Cancelling the task closes the connection."""
        ...

    async def close(self) -> None:
        """Close idle connections."""
        ...


class Renderer(Protocol):
    """The requests of one API as bytes, such that each begins with the bytes of the one before (SPEC §5)."""

    @property
    def TAIL(self) -> bytes:  # noqa: N802 - a module is a renderer, and this is its constant
        """What closes a request after its last message."""
        ...

    def head(self, model: str, system: str, tools: Sequence[ToolSchema], parameters: Mapping[str, Json]) -> bytes:
        """Render everything before the first message."""
        ...

    def fragments(self, messages: Sequence[Message], *, newest: bool = False) -> list[bytes]:
        """Render everything from one reply up to the next, or, at the very beginning, everything before the first reply.

        What stands between two replies is rendered together, because some APIs want it in one message. Equal messages give
        equal bytes, apart from cache breakpoints. Fragments are joined by commas.

        Args:
            messages: A reply with what followed it; empty: the log begins with a reply.
            newest: Whether these are the last messages of the request: cache breakpoints stand there.
        """
        ...


def no_parameters(sampling: Sampling) -> dict[str, Json]:
    """Express neutral parameters for a connection that knows no words for any.

    Raises:
        UsageError: there are some
    """
    if sampling != Sampling():
        raise UsageError("this connection takes no max_tokens, temperature or reasoning_effort; use parameters instead")
    return {}


class Connection(Record, frozen=True):
    """How requests of one model are rendered and where they go."""

    provider: str
    api: str
    model: str
    url: str
    headers: dict[str, str]
    """Holds the credential: never logged, never stored."""
    renderer: Renderer
    send: Provider
    secrets: tuple[str, ...] = ()
    """Values of headers beside the credential's that nobody else may see."""
    credential: str = ""
    """A fingerprint of the credential: tells whether it was replaced, and nothing else."""
    credential_from: str = ""
    """The variable or file that holds the credential, or would: what a person changes; empty: not known."""
    simulated: bool = False
    """Whether the provider is a scripted one; said wherever the model is named."""

    price: Price | None = None
    """None: no cost can be told."""
    context_window_tokens: int | None = None
    """How much fits into the model's context window, request and reply together; None: it is not known."""
    express: Callable[[Sampling], dict[str, Json]] = no_parameters
    """Says the neutral parameters in the API's own words; raises UsageError for what the model does not take."""

    @property
    def key(self) -> str:
        """The route: what one breaker stands for."""
        return f"{self.provider}:{self.model} {self.url} {self.credential}".rstrip()


def parts_of(route: str) -> tuple[str, str, str]:
    """Return the model, the URL and the credential's fingerprint of a route; a model's name may have spaces, the others not."""
    model, separator, place = route.rpartition(" http")
    url, _, credential = f"http{place}".partition(" ")
    return (model, url, credential) if separator else (route, "", "")


class Outside(Record, frozen=True):
    """The ports that everything in the runtime needs."""

    store: Store
    clock: Clock
    ids: Ids


async def load_readable(store: Store, thread: str, *, after_seq: int = 0) -> Loaded:
    """Read a thread as far as it can be read: a row of kind `damaged` stands for each one that cannot.

    It is for whoever looks at many threads and runs none of them: a damaged one must not hide the others.

    Raises:
        NoSuchThreadError, StoreError
    """
    try:
        return await store.load(thread, after_seq=after_seq)
    except DamagedRowsError as error:
        return error.rest
