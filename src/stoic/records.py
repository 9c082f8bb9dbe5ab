"""The frozen records that every room shares; field meanings follow SPEC §2."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from stoic.record import Record

Json = Any
"""A value that JSON can hold."""

DAY_MS = 24 * 60 * 60 * 1000


# ---- the log ------------------------------------------------------------------------------------


class Draft(Record, frozen=True):
    """A row as the core makes it; the shell stamps id, seq, turn's thread and time (ARCHITECTURE)."""

    role: Literal["user", "assistant", "tool", "system"]
    kind: str
    """`input`, `reply`, `result`, `nudge` are for models; `attempt`, `question`, `answer`, `outcome`, … for people."""
    content: Json
    generation: int
    segment: str
    turn: int
    round: int = 0
    visible: bool = False
    """Whether a model may see the row's view."""
    view: Json = None
    """What a model sees when it differs from the content; None: the content itself."""
    accepted: bool = False
    meta: dict[str, Json] = {}


class Row(Record, frozen=True, gc=False):
    """One entry of a thread's append-only log; an accepted row never changes again."""

    id: str
    thread: str
    seq: int
    generation: int
    segment: str
    turn: int
    round: int
    role: str
    kind: str
    content: Json
    created_at: int
    """Epoch milliseconds."""
    view: Json = None
    visible: bool = False
    quarantine: str | None = None
    """None, `placeholder` (the view stands in for the content) or `excluded` (the row left the view)."""
    accepted: bool = False
    meta: dict[str, Json] = {}


class ViewChange(Record, frozen=True):
    """A change of what models see of one not yet accepted row; the store rejects it for an accepted one."""

    seq: int
    quarantine: Literal["placeholder", "excluded"] | None = None
    """None: the row stays readable, and `view` says how, such as without an image."""
    view: Json = None


OperationState = Literal["intended", "running", "returned", "raised", "unknown"]


class Operation(Record, frozen=True):
    """One execution of a tool call; its journal entry is what the runtime itself knows about it (SPEC §10)."""

    id: str
    """`{thread}.{turn}.{round}.{index}`."""
    thread: str
    turn: int
    round: int
    index: int
    tool: str
    effect: str
    arguments_key: str
    """Hash of what an effect depends on, equal for equal calls; empty for a call without effect, which may be repeated."""
    state: OperationState
    started_at: int | None = None
    ended_at: int | None = None
    status: str | None = None
    """What the tool's own `status` function answered last: `done`, `not_done` or `unknown`."""
    runs: int = 0
    """How often the call was started."""


class InboxEntry(Record, frozen=True):
    """What the outside wants of a thread; the lease holder moves it into the log (SPEC §4)."""

    id: str
    thread: str
    kind: Literal["message", "event", "cancel", "answer", "switch", "wake", "compact", "fresh", "grant", "reveal"]
    """`wake` runs the thread again without anything new, `grant` lets a stopped loop go on for some calls."""
    content: Json
    created_at: int
    position: int = 0
    """Order of arrival in its database, given by the store."""


class ThreadRecord(Record, frozen=True):
    """A durable conversation as the store knows it."""

    id: str
    kind: Literal["chat", "task", "repair"] = "chat"
    scope: Literal["main", "worker"] = "main"
    created_at: int = 0
    last_seq: int = 0
    epoch: int = 0
    owner: str | None = None
    """The lease holder's owner id, or None."""
    title: str | None = None
    meta: dict[str, Json] = {}
    phase: Literal["idle", "open", "parked"] = "idle"
    """Whether a turn is open, and whether it waits for something: `parked` says what for."""
    parked: Json = None
    """The content of the row by which the turn was parked."""
    wake_at_ms: int | None = None
    """When a parked turn is to be looked at again, whatever else comes."""
    is_stopped: bool = False
    """Whether it ended by refusal: nothing of it ever runs again."""


class Owner(Record, frozen=True):
    """A process that may hold leases: recognised by boot and start time, never by pid alone."""

    id: str
    host: str
    boot_id: str
    pid: int
    started_at: int
    """The process's start time in the kernel's own clock ticks since boot."""
    heartbeat_at: int = 0


class Lease(Record, frozen=True):
    """The right to append to one thread until somebody else takes it over; `epoch` fences older holders."""

    thread: str
    owner: str
    epoch: int
    last_seq: int
    """The thread's last row when the lease was taken."""


class Health(Record, frozen=True):
    """What is known of one route's health; durable and shared by all who use the database (SPEC §7)."""

    route: str
    """Provider, endpoint, credential fingerprint and model: what one breaker stands for."""
    state: Literal["closed", "open", "half_open"] = "closed"
    bad_in_a_row: int = 0
    openings: int = 0
    """How often it opened since it was last closed."""
    failure_class: str | None = None
    failed_at_ms: int = 0
    """The last real failure; a skipped attempt never moves it."""
    until_ms: int | None = None
    """When an open breaker lets a trial through by the clock; None: only an event does."""
    waits_for: str | None = None
    """`time`, `credential` or `config`."""
    credential: str | None = None
    config: str | None = None
    trial_until_ms: int | None = None
    """While a trial runs: when its slot is free again at the latest."""
    trial_holder: str | None = None
    """The thread whose turn has the trial: after a crash it goes on with it."""
    tried_at_ms: int | None = None

    def onto(self, stored: "Health | None") -> "Health":  # noqa: ARG002 - a child looks at it
        """Return what is to be stored where others may have stored something meanwhile: this, whatever it was."""
        return self


class Notice(Record, frozen=True):
    """What a person should know or decide; stored once by its key, delivered by the outbox (SPEC §13)."""

    key: str
    """Equal keys are one notice, for ever."""
    thread: str
    kind: str
    text: str
    """Built from enumerated fields only: never a byte of content."""
    priority: Literal["normal", "critical"] = "normal"
    actions: list[str] = []
    """What the person can do, as commands."""
    id: str = ""
    created_at: int = 0
    """Epoch milliseconds; stamped by the shell, like the id."""


class StoredNotice(Record, frozen=True):
    """A notice and what became of its delivery."""

    notice: Notice
    state: Literal["due", "sent", "folded", "failed"] = "due"
    attempts: int = 0
    settled_at: int | None = None
    """When it was sent, folded into a digest, or given up."""
    retry_at: int | None = None
    error: str | None = None
    delivered: list[str] = []
    """The channels that have it; a retry goes to the others only."""


class NoticeBudget(Record, frozen=True):
    """How many normal notices may go out one by one in a time."""

    most: int
    since_ms: int


class RefusedBytes(Record, frozen=True):
    """A request whose bytes a provider refused; remembered across threads for some hours (SPEC §8)."""

    hash: str
    """Of the request's body."""
    provider: str
    model: str
    refused_at_ms: int
    scope: str = "request_bytes"
    where: str = "prompt"
    category: str | None = None


class OperationFact(Record, frozen=True):
    """An operation that has not ended as its owner may know it: never a byte of its arguments."""

    id: str
    tool: str
    state: OperationState


class ShellFact(Record, frozen=True):
    """A background shell as its owner may know it: never a byte of its command or its output."""

    id: str
    state: Literal["running", "exited", "stopped", "deadline", "lost"]
    exit_code: int | None = None


class Receipt(Record, frozen=True):
    """What may travel from a task to its owner (SPEC §12)."""

    task: str
    turn: int
    status: Literal["delivered", "failed", "cancelled"]
    outcome: Literal["completed", "stopped", "failed", "cancelled"]
    reason: str | None = None
    """As of the `Outcome`."""
    failure_class: str | None = None
    text: str = ""
    """The answer; on any other end the assistant's own accepted text of the turn."""
    is_shortened: bool = False
    rounds: int = 0
    provider: str | None = None
    """Of a refusal, like the next three."""
    category: str | None = None
    round: int | None = None
    last_tool: str | None = None
    """The registered tool of the last accepted call."""
    operations: list[OperationFact] = []
    """Those that have not ended, or whose effect is unknown."""
    shells: list[ShellFact] = []
    """Background shells that go on running."""
    changed_paths: list[str] = []
    """What calls that returned were told to write; none after a refusal."""
    note: str = ""
    """What the owner may and may not conclude: a fixed sentence."""


class Delivery(Record, frozen=True):
    """The end of a task's turn on its way to its owner: stored with the outcome, once for ever."""

    id: str
    """`{task}.{turn}`."""
    task: str
    turn: int
    status: Literal["delivered", "failed", "cancelled"]
    receipt: Json
    owner: str | None = None
    """The thread that gets it as an event; None: nobody owns the task."""
    entry: Json = None
    """The content of that event."""


class StoredDelivery(Record, frozen=True):
    """A delivery as the store has it."""

    delivery: Delivery
    created_at: int
    reached: bool
    """Whether the owner was there to get it."""


class Work(Record, frozen=True):
    """A thread that there may be something to do on."""

    thread: ThreadRecord
    newest_entry: int = 0
    """The position of the newest inbox entry that was not taken; 0: there is none."""


class Step(Record, frozen=True):
    """Everything of one step, stored in one transaction or not at all (SPEC §4)."""

    rows: list[Row] = []
    operations: list[Operation] = []
    """Inserted, or replaced when the id exists."""
    views: list[ViewChange] = []
    accept_upto: int = 0
    """Visible rows up to this seq become accepted."""
    inbox_taken: list[str] = []
    health: list[Health] = []
    """Each stored by what `onto` makes of the route's stored health, in this transaction."""
    notices: list[Notice] = []
    """Stored unless their key is known."""
    refused: list[RefusedBytes] = []
    deliveries: list[Delivery] = []
    guard: Json = None
    """The loop detector's state, kept with the thread; None: as it was."""
    spent: "Spent | None" = None
    """What the step's sends have taken, added to what the thread at the top has spent on the day of its first row."""
    release: bool = False
    """Whether the lease ends with this step."""


class Memory(Record, frozen=True):
    """Something that an agent keeps across threads (SPEC §14)."""

    id: str
    """Equal ids are one memory."""
    scope: str
    """Whose it is: agents of one scope share it."""
    thread: str
    """Where it was learnt; empty: a person added it, or that thread was deleted, and the memory has got another id."""
    text: str
    created_at: int
    """Epoch milliseconds."""
    tags: list[str] = []
    """Words that it is found by beside its own."""


class Schedule(Record, frozen=True):
    """A prompt that comes into a thread's inbox by the clock; only the last three fields ever change."""

    id: str
    thread: str
    expression: str
    """When, as it was typed."""
    cron: str
    """When, as it is understood: five fields."""
    zone: str
    """The time zone whose clock and days are meant, such as `Europe/Berlin`."""
    prompt: str
    created_at: int
    """Epoch milliseconds, like the next two."""
    next_due_at: int
    last_fired_at: int | None = None
    """When its prompt was put into the inbox last; None: not yet."""
    paused: bool = False


# ---- one exchange with a provider ---------------------------------------------------------------


class TextPart(Record, frozen=True, gc=False, tag="text"):
    """Visible text of a reply."""

    text: str
    signature: str | None = None
    """The provider's seal of its hidden reasoning on this piece (Gemini); for its maker only, like thinking."""
    phase: str | None = None
    """The provider's own word for the role of this text in the reply (Responses: `commentary`, `final_answer`)."""


class ThinkingPart(Record, frozen=True, tag="thinking"):
    """Reasoning of a reply; replayed only to the provider and model that made it (SPEC §5)."""

    text: str
    signature: str | None = None
    """Proves or holds the reasoning to its maker: Anthropic's signature, the encrypted content of a Responses item, Gemini's
    thought signature that stood on a part without text."""
    provider: str | None = None
    model: str | None = None
    redacted: str | None = None
    """Reasoning that only its maker can read, instead of text (Anthropic)."""
    id: str | None = None
    """The provider's id of the item; several parts with one id are one item (Responses: the parts of its summary)."""


class CallPart(Record, frozen=True, gc=False, tag="call"):
    """A tool call as the model wrote it."""

    name: str
    arguments: str
    """The argument text exactly as it came; JSON when it arrived whole."""
    provider_id: str = ""
    whole: bool = True
    """Whether the call arrived whole: the protocol closed it, or the reply's own end confirms it."""
    signature: str | None = None
    """The provider's seal of its hidden reasoning on this call (Gemini); for its maker only, like thinking."""


Part = TextPart | ThinkingPart | CallPart


class Usage(Record, frozen=True):
    """Token counts as the provider states them; `input_tokens` includes the cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Spent(Record, frozen=True):
    """What work has taken."""

    rounds: int = 0
    """Replies that were accepted."""
    tokens: int = 0
    """Input and output together, of every send that the provider counted."""
    cost_usd: float = 0.0
    """Of those sends whose price is known."""
    duration_ms: int = 0
    """Working time: what a parked turn waits does not count."""

    def __add__(self, other: "Spent") -> "Spent":
        """Return both together."""
        return Spent(
            rounds=self.rounds + other.rounds,
            tokens=self.tokens + other.tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            duration_ms=self.duration_ms + other.duration_ms,
        )


class Spending(Record, frozen=True):
    """What a thread and the tasks below it have taken on one day."""

    day_ms: int
    """When the day began (UTC), in epoch milliseconds."""
    root: str
    """The thread at the top; empty: it was deleted."""
    spent: Spent


class Price(Record, frozen=True):
    """USD per million tokens; each a list of `(from this many input tokens on, USD)`, beginning with 0."""

    input: list[tuple[int, float]]
    output: list[tuple[int, float]]
    cache_read: list[tuple[int, float]] = []
    """Empty: cached input costs what other input does."""
    cache_write: list[tuple[int, float]] = []


class ExceptionFact(Record, frozen=True):
    """An exception of the transport as data."""

    type: str
    """Qualified name, such as `httpx2.ReadTimeout`."""
    message: str
    cause: list[str] = []
    """The cause chain, nearest first: `qualified.Name: message` or `qualified.Name` alone."""
    after_first_byte: bool = False
    """Whether bytes of the answer had arrived."""
    fields: dict[str, Json] = {}
    """What the exception carries of its own, such as `status_code` or `error_type`."""


class Report(Record, frozen=True):
    """What one attempt brought, unjudged; `core.classify` judges it."""

    provider: str
    """Provider name as in `PROVIDER:NAME`, or as a recorded exchange names it."""
    api: str | None = None
    """`chat`, `responses`, `messages`, `generate` or whatever a recorded exchange names; None: told from the shape."""
    model: str | None = None
    """The model asked for."""
    status: int | None = None
    headers: dict[str, str] = {}
    """Names in lower case."""
    body: Json = None
    """The whole answer when it was not a stream: a JSON value, or text."""
    stream: bool = False
    events: list[dict[str, Json]] = []
    """Stream events as `{"event": name or null, "data": value}` or `{"comment": text}`, in order. A live attempt keeps
    only those that say more than one more piece of text or arguments; `parts` then holds what the others said."""
    end: Literal["clean", "cut"] | None = None
    """How the stream's bytes ended: `clean` the connection's own end, `cut` broken off."""
    exception: ExceptionFact | None = None
    parts: list[Part] | None = None
    """What the wire assembled from the stream; None where it assembled nothing (a recorded exchange, an error, an answer of
    another shape than its API's): told from body or events."""
    finish: str | None = None
    """The protocol's own finish or stop reason, as it came."""
    ended: bool = False
    """Whether the protocol's own end arrived (SPEC §3)."""
    end_unconfirmed: bool = False
    """The text of a server that ends with `[DONE]` alone."""
    served_model: str | None = None
    request_id: str | None = None
    usage: Usage = Usage()
    received_at: int | None = None
    """Epoch milliseconds; dates in a stated wait are relative to it."""


# ---- what a model sees --------------------------------------------------------------------------


class ImagePart(Record, frozen=True, tag="image"):
    """A picture for a model, in a user message or a tool result.

    All four APIs take `image/png`, `image/jpeg` and `image/webp`; each wire names its provider's limits.
    """

    media_type: str
    data_base64: str
    """The file's bytes in base64, padded, without line breaks."""


class UserMessage(Record, frozen=True, tag="user"):
    """Words of a person, or an event told to the model; never empty: text, images or both."""

    text: str
    images: Sequence[ImagePart] = ()


class CallView(Record, frozen=True, gc=False, tag="call"):
    """A tool call as it is replayed: one part of an assistant message, answered by exactly one tool message."""

    id: str
    name: str
    arguments: str
    """The model's own argument text; a wire renders something valid when it is not a JSON object."""
    signature: str | None = None
    """As in `CallPart`; replayed only to the maker of the message."""


Piece = TextPart | ThinkingPart | CallView
"""One piece of an accepted reply."""


class AssistantMessage(Record, frozen=True, tag="assistant"):
    """An accepted reply; holds text, calls or both."""

    text: str = ""
    calls: list[CallView] = []
    thinking: list[ThinkingPart] = []
    """Replayed only by a wire whose API takes it back from the provider and model that made it."""
    pieces: list[Piece] = []
    """The same thinking, text and calls in the order in which they came, which signed reasoning depends on; empty: thinking,
    then text, then calls."""
    provider: str | None = None
    """Who made the reply: what signatures on text and calls belong to."""
    model: str | None = None


class ToolMessage(Record, frozen=True, gc=False, tag="tool"):
    """The result of one call, in the order of the calls."""

    call_id: str
    name: str
    text: str
    error: bool = False
    """Whether the call did not return: for APIs that have a word for it."""
    images: Sequence[ImagePart] = ()


Message = UserMessage | AssistantMessage | ToolMessage
"""One message of a conversation; the system prompt stands before them and is part of the request's head."""


class ToolSchema(Record, frozen=True):
    """A tool as it is offered to a model."""

    name: str
    description: str
    parameters: Json
    """A JSON schema of type object."""


# ---- endings ------------------------------------------------------------------------------------


class Refusal(Record, frozen=True):
    """A provider's verdict on the request's bytes (SPEC §8); never holds text of the provider's explanation."""

    provider: str
    model: str | None
    category: str | None
    where: str
    scope: str


class Outcome(Record, frozen=True):
    """How a turn ended; every turn has exactly one."""

    outcome: Literal["completed", "stopped", "failed", "cancelled"]
    failure_class: str | None = None
    """The class of the failure when the outcome is `failed`."""
    reason: str | None = None
    """`refused`, `stuck_loop`, `budget` or `human` when the outcome is `stopped`; `input_withheld` when it is `completed` and
    all that the turn was given was withheld."""
    refused: bool = False
    refusal: Refusal | None = None
    value: Json = None
    """The answer as a value, when the agent declares a type for it: plain JSON in the log."""
    text: str = ""
    """The answer; on any other end the assistant's own accepted text of the turn."""
    cut: bool = False
    """The answer hit its length limit and is shown as far as it came."""
    message: str = ""
    """One sentence for a person: what happened and what to do."""
    thread: str = ""
    turn: int = 0
    rounds: int = 0
    usage: Usage = Usage()
    cost_usd: float | None = None
    recovers_with: str | None = None


class Question(Record, frozen=True):
    """A decision that is a person's: may this operation run?"""

    operation: str
    tool: str
    effect: str
    arguments: str
    """The model's own argument text: JSON for `json.loads`, where the model wrote it right."""
    allowed_answers: list[str] = msgspec.field(default_factory=lambda: ["once", "session", "deny"])
    expires_at_ms: int | None = None
    """When nobody's answer counts as a denial; None: never."""


class Parked(Record, frozen=True):
    """A suspended turn: no outcome; it goes on when what it waits for arrives."""

    waits_for: Literal["permission", "task", "time", "event"]
    questions: list[Question] = []
    until_ms: int | None = None
    """When it goes on, or looks again, whatever has come until then."""
    tasks: list[str] = []
    """The threads whose ends it waits for."""
    event: str | None = None
    """What has to happen, such as `credential openai`; `time openai`: it is tried again after an outage."""
    thread: str = ""
    turn: int = 0
