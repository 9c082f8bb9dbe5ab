"""What subscribers of a turn see, in order; each becomes one line of `--json` with its `type`.

Text of a round is provisional until its `round_ended`: a `round_rolled_back` takes back all that this round showed, and
nothing before it (SPEC §6). So the text of the `round_ended`s is exactly the accepted text.
"""

from typing import Literal

from stoic.records import Json, Record


class LeaseAwaited(Record, frozen=True, tag="lease_awaited"):
    """Another process has the thread at the moment; this one waits for it to end its turn."""

    thread: str
    pid: int
    """Of the process that has it."""
    host: str
    """The machine that it runs on."""


class TasksAwaited(Record, frozen=True, tag="tasks_awaited"):
    """The turn has ended, and its thread's tasks go on; what they bring opens further turns."""

    thread: str
    tasks: list[str]
    """Their ids."""


class TurnStarted(Record, frozen=True, tag="turn_started"):
    """A turn was opened, or is taken up again after an interruption."""

    thread: str
    turn: int
    resumed: bool = False
    """Whether it is taken up again."""


class RoundStarted(Record, frozen=True, tag="round_started"):
    """A request is being sent."""

    round: int
    attempt: int
    provider: str
    model: str
    simulated: bool = False
    """Whether its provider is simulated, as in `stoic demo`."""


class TextDelta(Record, frozen=True, tag="text_delta"):
    """A provisional piece of the answer."""

    round: int
    attempt: int
    text: str
    """The piece."""


class ThinkingDelta(Record, frozen=True, tag="thinking_delta"):
    """A provisional piece of the model's reasoning."""

    round: int
    attempt: int
    text: str
    """The piece."""


class CallAnnounced(Record, frozen=True, tag="call_announced"):
    """The model began to write a tool call; provisional, nothing runs yet."""

    round: int
    attempt: int
    tool: str


class AttemptFailed(Record, frozen=True, tag="attempt_failed", rename={"failure_class": "class"}):
    """A send brought a failure or a refusal."""

    round: int
    attempt: int
    failure_class: str
    """`class` in JSON: one of the classes of failures."""
    recovers_with: str
    """What its cause would change with."""
    status: int | None = None
    """Of HTTP; None: there was no answer."""
    evidence: list[Json] = []
    """The fields that decided, each `{field, value, decided}`."""
    detail: str | None = None
    """What the provider or the network said, shortened; never of a refusal."""


class RoundRolledBack(Record, frozen=True, tag="round_rolled_back"):
    """Everything this attempt showed is void; announced calls are discarded and were not run."""

    round: int
    attempt: int
    discarded_calls: list[str] = []
    """The tools of calls that a refused reply had begun."""


class Retrying(Record, frozen=True, tag="retrying"):
    """The round will be sent again at that time."""

    round: int
    attempt: int
    """The number of the attempt to come."""
    at_ms: int
    """Epoch milliseconds."""
    delay_ms: int
    """The wait."""


class Nudged(Record, frozen=True, tag="nudged"):
    """The round will be sent once more with a note to the model."""

    round: int
    reason: str
    """The class of what was wrong with the reply, or why the note is sent."""


class RequestChanged(Record, frozen=True, tag="request_changed"):
    """The round will be sent once more as another request, since the same one would fail again."""

    round: int
    kind: Literal["max_tokens", "images", "plain"]
    """A shorter reply is asked for, images gave way to a note, or the view is rendered without thinking and signatures."""
    max_tokens: int | None = None
    """The shorter reply's longest length."""
    images: int = 0
    """How many."""


class FallbackUsed(Record, frozen=True, tag="fallback_used", rename={"failure_class": "class"}):
    """Another model answers the rest of this turn; the next turn begins at the bound one again."""

    from_model: str
    """`PROVIDER:NAME`."""
    to_model: str
    """Who answers, likewise."""
    failure_class: str
    """Why the first does not answer."""
    skipped: bool = False
    """Whether it was not even asked, since its breaker is open."""
    until_ms: int | None = None
    """When it may be asked again, as far as that is a matter of the clock."""


class EventTaken(Record, frozen=True, tag="event_taken"):
    """An event from outside joined the turn."""

    kind: str
    """What it is, as whoever posted it named it."""
    row: str
    """The id of its row in the log."""


class Quarantined(Record, frozen=True, tag="quarantined"):
    """A provider refused the round; part of what is new in it was withheld from the model, and the round is sent again."""

    round: int
    step: int
    """1 one row, 2 the newer half, 3 all in their barest form; 0: it was withheld before in this segment and came again."""
    rows: list[int]
    """The rows whose bodies are withheld, by seq."""
    provider: str
    model: str
    category: str | None = None
    """The provider's word for why, or one of stoic's own."""


class Refused(Record, frozen=True, tag="refused"):
    """A provider's refusal was counted, or copied by a skip."""

    round: int
    provider: str
    model: str
    refusals: int
    """How many in this segment."""
    skipped: bool
    """Whether the provider was not even asked, since the next send is not due."""
    rule: str
    """What happens next."""
    category: str | None = None
    """The provider's word for why, or one of stoic's own."""


class CompactionStarted(Record, frozen=True, tag="compaction_started"):
    """The conversation's beginning is being summed up."""

    model: str | None = None
    """`PROVIDER:NAME`; None: the agent's own function does it."""
    simulated: bool = False
    """Whether its provider is simulated."""


class Compacted(Record, frozen=True, tag="compacted"):
    """The conversation's beginning was replaced by a summary."""

    generation: int
    """The one that begins."""
    cause: Literal["context_length", "share", "person"]
    """A request no longer fitted, or soon would not, or a person asked for it."""


class CompactionFailed(Record, frozen=True, tag="compaction_failed"):
    """Nothing was summed up; the history is as it was."""

    why: Literal["nothing", "refused", "empty", "cut", "failed", "blocked", "cancelled"]
    """What came of it; `nothing`: there is nothing to sum up."""
    cause: Literal["context_length", "share", "person"]
    """As in `compacted`."""
    message: str
    """To a person."""


class FreshStarted(Record, frozen=True, tag="fresh_started"):
    """A person left all history behind."""

    generation: int
    """The one that begins."""


class RoundEnded(Record, frozen=True, tag="round_ended"):
    """A complete reply was stored; its text is accepted and final."""

    round: int
    text: str
    """The reply's whole text."""
    calls: int = 0
    """How many tools it calls."""
    input_tokens: int = 0
    """Those of this exchange, cached ones included."""
    output_tokens: int = 0
    """Likewise."""
    cache_read_tokens: int = 0
    """How many of the input the provider had cached."""
    served_model: str | None = None
    """Only when another model answered than the one asked for."""


class ToolStarted(Record, frozen=True, tag="tool_started"):
    """A call began to run."""

    operation: str
    tool: str
    effect: str
    """As the tool declares it."""
    arguments: str
    """As the model wrote them."""


class ToolEnded(Record, frozen=True, tag="tool_ended"):
    """A call has its stored result; also for calls that never ran."""

    operation: str
    tool: str
    state: Literal["returned", "raised", "unknown", "not_run"]
    """What is known: `returned` is no success of what it did outside."""
    failure: str | None = None
    """The class, when it did not return."""
    text: str = ""
    """What the model is told."""
    arguments: str = ""
    """Only of a call that was not run: those of any other are in its `tool_started`."""


class BudgetNear(Record, frozen=True, tag="budget_near"):
    """Four fifths or more of a bound are used; told once a turn for each bound."""

    scope: Literal["turn", "thread", "day"]
    """Whose bound it is: this turn's, its thread's with all tasks below, or everybody's on this day (UTC)."""
    bound: str
    """`rounds`, `tokens`, `cost_usd` or `seconds`."""
    used: float
    """So much of it, in the bound's own unit."""
    limit: float
    """The bound; at it a turn is stopped before its next request."""


class PermissionAsked(Record, frozen=True, tag="permission_asked"):
    """A person must decide about these operations before the turn goes on."""

    questions: list[Json]
    """Each `{operation, tool, effect, arguments, allowed_answers}`, and `expires_at_ms` where nobody's answer counts as no."""


class NoticeRaised(Record, frozen=True, omit_defaults=False, tag="notice"):
    """What a person should know or decide about the thread; told once."""

    key: str
    """Equal keys are one notice."""
    thread: str
    kind: str
    """What it is about."""
    priority: Literal["normal", "critical"]
    """`critical` ones are always sent."""
    text: str
    """What is said."""
    actions: list[str]
    """What the person can do, as commands."""


class UsageFigures(Record, frozen=True, omit_defaults=False):
    """Token counts of a whole turn, failed attempts included."""

    input_tokens: int = 0
    """Cached ones included."""
    output_tokens: int = 0
    """Reasoning included where the provider counts it so."""
    cache_read_tokens: int = 0
    """How many of the input the provider had cached."""


class OutcomeReached(Record, frozen=True, omit_defaults=False, tag="outcome", rename={"failure_class": "class"}):
    """The turn ended or is parked; always the last event."""

    outcome: Literal["completed", "stopped", "failed", "cancelled", "parked"]
    """How it ended; `parked` is no end."""
    failure_class: str | None = None
    """`class` in JSON: the class of the failure when the outcome is `failed`."""
    reason: str | None = None
    """Of a stop why; of a parked turn what it waits for; of a completed one `input_withheld`, if all its input was."""
    refused: bool = False
    """Whether a refusal stopped it."""
    text: str = ""
    """The answer; on any other end the assistant's own accepted text of the turn."""
    thread: str = ""
    usage: UsageFigures = UsageFigures()
    """Of the whole turn."""
    cost_usd: float | None = None
    """None: the price is not known."""
    turn: int = 0
    rounds: int = 0
    """How many."""
    message: str = ""
    """One sentence for a person: what happened and what to do."""
    cut: bool = False
    """Whether the answer hit its length limit."""
    refusal: Json = None
    """Who refused: `{provider, model, category, where, scope}`."""
    questions: list[Json] = []
    """What a parked turn asks, as in `permission_asked`."""
    until_ms: int | None = None
    """When a parked turn goes on, or looks again, whatever has come until then; in epoch milliseconds."""
    event: str | None = None
    """What has to happen for a parked turn to go on, such as `credential openai`; `time openai`: it is tried again after an outage."""
    tasks: list[str] = []
    """The threads whose ends a parked turn waits for."""


Happening = (
    LeaseAwaited
    | TasksAwaited
    | TurnStarted
    | RoundStarted
    | TextDelta
    | ThinkingDelta
    | CallAnnounced
    | AttemptFailed
    | RoundRolledBack
    | Retrying
    | Nudged
    | RequestChanged
    | FallbackUsed
    | EventTaken
    | Quarantined
    | Refused
    | CompactionStarted
    | Compacted
    | CompactionFailed
    | FreshStarted
    | RoundEnded
    | ToolStarted
    | ToolEnded
    | PermissionAsked
    | BudgetNear
    | NoticeRaised
    | OutcomeReached
)
"""Any event of a turn."""

Event = Happening
"""Any event of a turn, under its public name: what `Thread.send` yields and an `emit` function takes. The classes are in `stoic.events`."""
