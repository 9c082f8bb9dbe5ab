"""What a turn asks of the shell, and what the shell answers (ARCHITECTURE, "A turn is a pure generator")."""

from collections.abc import Callable
from typing import Literal

from stoic.core.loops import Effect
from stoic.records import (
    CallPart,
    Delivery,
    Draft,
    Health,
    ImagePart,
    InboxEntry,
    Json,
    Notice,
    Operation,
    OperationState,
    Outcome,
    Parked,
    Record,
    RefusedBytes,
    Report,
    Row,
    ShellFact,
    Spent,
    ViewChange,
)

# ---- what a turn is told ------------------------------------------------------------------------


class ToolFacts(Record, frozen=True):
    """What the core must know of a tool; the function itself stays outside."""

    name: str
    effect: Effect
    """`read`, `write`, `send`, `exec`, `poll` or `wait`."""
    check: Callable[[Json], str | None]
    """Pure: None when the arguments fit, else one sentence naming the failing field."""
    has_status: bool = False
    idempotent: bool = False
    """Whether equal calls may be repeated without harm."""
    keyed: bool = False
    """Whether the tool takes the operation's id as an idempotency key: the same operation may run again, another not."""
    declared: bool = True
    """Whether the effect was declared; an undeclared one counts as `write`."""
    frozen_limit: int | None = None
    """For a poll: how many equal outcomes in a row before it is blocked; None: the default of SPEC §11."""
    approval_seconds: int | None = None
    """A person decides about each call, whatever the permissions say, within this time; None: as the permissions say."""
    internal: bool = False
    """Whether it acts on nothing but stoic's own log: no permission is asked for it."""
    loop_key: list[str] = []
    """Paths of the arguments that alone identify a call to the loop detector; empty: all of them."""


class Route(Record, frozen=True):
    """Where a round's request goes."""

    provider: str
    api: str
    model: str


# ---- commands -----------------------------------------------------------------------------------


class Send(Record, frozen=True):
    """Send the view up to `upto_seq` once; answered by `Replied` or `Cancelled`.

    What ends it before the provider did, a person or the turn's own time, is a `Cancelled`: it says nothing of the route.
    """

    round: int
    attempt: int
    route: Route
    upto_seq: int
    max_tokens: int | None = None
    """The longest reply that the provider said it has room for; None: as the agent says."""
    plain: bool = False
    """Whether the view is rendered in its plainest form (`core.plain`)."""
    may_repeat: bool = True
    """Whether bytes that this provider refused lately may be sent again: for a person's message or a due probe."""


class Compare(Record, frozen=True):
    """Tell whether two sends would be different requests; nothing is sent. Answered by `Compared`."""

    before: Send
    after: Send


class Locate(Record, frozen=True):
    """Find the images at a place of a request that a provider named; answered by `Located`."""

    send: Send
    pointer: str


class Commit(Record, frozen=True):
    """Store all of this in one transaction; answered by `Committed`."""

    rows: list[Draft] = []
    operations: list[Operation] = []
    views: list[ViewChange] = []
    accept_upto: int = 0
    inbox_taken: list[str] = []
    health: list[Health] = []
    notices: list[Notice] = []
    refused: list[RefusedBytes] = []
    deliveries: list[Delivery] = []
    guard: Json = None


class PlannedCall(Record, frozen=True):
    """A call that may start now."""

    operation: Operation
    call: CallPart
    asked_at_ms: int = 0
    """When the model asked for it: what a wait of some seconds is counted from, also after a restart."""


class Start(Record, frozen=True):
    """Start these calls and do not wait; answered by `Started`."""

    calls: list[PlannedCall]


class ClaimTrial(Record, frozen=True):
    """Take the one trial of a half-open route for this turn, against all who share it; answered by `Claimed`."""

    health: Health


class Summarise(Record, frozen=True):
    """Have the view up to `upto_seq` except the kept rows summed up, by one send to the route or by the agent's own function.

    Answered by `Summarised`, `Remembered` or `Cancelled`.
    """

    route: Route
    upto_seq: int
    kept: list[int]
    may_repeat: bool = True
    """As of a `Send`."""


class Next(Record, frozen=True):
    """Wait for whatever comes first; answered by `Ended` or `Cancelled`."""


class Sleep(Record, frozen=True):
    """Wait until then; answered by `Woke` or `Cancelled`."""

    until_ms: int


class Recall(Record, frozen=True):
    """Look for the ends of calls whose process died before their results were stored; answered by `Recalled`."""

    operations: list[Operation]


class LookAtShells(Record, frozen=True):
    """Tell which background shells of the thread run; answered by `ShellsSeen`."""


class LookAtKin(Record, frozen=True):
    """Tell which operations of the owner and of the thread's tasks are unknown by now; answered by `KinSeen`."""


class AskStatus(Record, frozen=True):
    """Ask the tool's own `status` what became of an operation; answered by `Status`."""

    operation: Operation
    arguments: str | None
    """None: those that the log has of its call."""
    briefly: bool = False
    """Whether it has a short time only, which no cancel cuts shorter: the answer is `unknown` then, never `Cancelled`."""


class LookAtSpending(Record, frozen=True):
    """Tell what the thread and the day have taken so far; answered by `SpendingSeen`."""


Command = (
    Send
    | Compare
    | Locate
    | Commit
    | Start
    | ClaimTrial
    | Summarise
    | Next
    | Sleep
    | Recall
    | AskStatus
    | LookAtShells
    | LookAtKin
    | LookAtSpending
)

# ---- answers ------------------------------------------------------------------------------------


class Replied(Record, frozen=True):
    """What the attempt brought, unjudged."""

    report: Report
    now_ms: int
    health: list[Health] = []
    """The routes' health as others may have changed it meanwhile; only where the attempt did not plainly succeed."""
    request_hash: str = ""
    """Of the body that was sent."""


class Remembered(Record, frozen=True):
    """These very bytes were refused lately; nothing was sent."""

    refused: RefusedBytes
    now_ms: int


class Unsendable(Record, frozen=True):
    """The gate found the view broken, which is a bug of stoic; nothing was sent."""

    why: str
    now_ms: int


class Compared(Record, frozen=True):
    """Whether the second request differs from the first; False also when the model does not take what it would say."""

    differs: bool
    now_ms: int


class Located(Record, frozen=True):
    """The base64 data of the images at that place; none: it leads to none."""

    images: list[str]
    now_ms: int


class Committed(Record, frozen=True):
    """The rows as they were stored."""

    rows: list[Row]
    now_ms: int
    arrived: list[InboxEntry] = []
    """Entries that came into the inbox meanwhile."""


class Started(Record, frozen=True):
    """The calls run."""

    now_ms: int


class Claimed(Record, frozen=True):
    """Whether the trial is this turn's."""

    granted: bool
    now_ms: int


class Summarised(Record, frozen=True):
    """What a summing up brought, unjudged: the report of a send, or what the agent's own function returned."""

    now_ms: int
    report: Report | None = None
    """None: the agent has a function of its own for it."""
    request_hash: str = ""
    text: str | None = None
    """Of the agent's own function; None: it had none."""
    error: str | None = None
    """The type of what that function raised."""


class Wait(Record, frozen=True):
    """What a call waits for that only comes from outside; the turn is parked and the call made again then."""

    waits_for: Literal["task", "time"]
    until_ms: int
    """When it is made again, whatever has come until then."""
    tasks: list[str] = []
    """The threads whose ends it waits for."""


class CallResult(Record, frozen=True):
    """How one call ended."""

    operation: str
    text: str
    state: OperationState
    """`returned`, `raised`, or `unknown` when the effect of a write cannot be told."""
    failure: str | None = None
    """A class of SPEC §3's tool side when the call did not return."""
    images: list[ImagePart] = []
    """Shown to the model after the text."""
    started_at: int | None = None
    ended_at: int | None = None
    why: str | None = None
    """Of an unknown end: what happened, without what is to be done about it."""
    wait: Wait | None = None
    """It has not ended but waits; there is no result yet."""


class Ended(Record, frozen=True):
    """Calls that have ended since the last `Next`, at least one."""

    results: list[CallResult]
    now_ms: int


class Recalled(Record, frozen=True):
    """The calls whose end was written down though no result was stored; of the others no end is known."""

    results: list[CallResult]
    now_ms: int


class Woke(Record, frozen=True):
    """The time has come."""

    now_ms: int
    health: list[Health] = []
    """The routes' health as others may have changed it meanwhile."""


class Cancelled(Record, frozen=True):
    """The turn is to stop; the inbox entries that said so are taken by the next commit."""

    now_ms: int
    entries: list[str] = []
    out_of_time: bool = False
    """Nobody stopped it, but its own time is over."""


class ShellsSeen(Record, frozen=True):
    """The thread's background shells that run."""

    shells: list[ShellFact]
    now_ms: int


class KinSeen(Record, frozen=True):
    """Operations of the owner and of the thread's tasks whose effect is unknown."""

    operations: list[Operation]
    now_ms: int


class SpendingSeen(Record, frozen=True):
    """What was taken so far, without what this turn has not stored."""

    thread: Spent
    """By the thread at the top and all tasks below it."""
    day: Spent
    """By everything in the database, since midnight (UTC)."""
    now_ms: int


class Status(Record, frozen=True):
    """The tool's answer: `done`, `not_done` or `unknown`."""

    answer: str
    now_ms: int
    trouble: str | None = None
    """What was wrong with how it answered; then the answer is `unknown`."""


Event = (
    Replied
    | Remembered
    | Unsendable
    | Compared
    | Located
    | Committed
    | Started
    | Claimed
    | Summarised
    | Ended
    | Recalled
    | Woke
    | Cancelled
    | Status
    | ShellsSeen
    | KinSeen
    | SpendingSeen
)

Ending = Outcome | Parked
