"""What the scripted provider can be told to answer, as records."""

from typing import Literal

from stoic.records import Json, Record

WordKind = Literal["text", "thinking", "refusal", "call", "half_call", "gate", "delay", "hang"]

EndKind = Literal["clean", "eof", "done", "cut", "reset"]


class Word(Record, frozen=True):
    """One piece of a scripted reply, in the order in which it is sent."""

    kind: WordKind
    text: str = ""
    """The text, a call's argument text, a gate's name, or a delay in milliseconds."""
    name: str = ""
    """A call's tool."""


class Exchange(Record, frozen=True):
    """An answer given literally, as a case file records it."""

    status: int = 200
    headers: dict[str, str] = {}
    body: Json = None
    sse: list[dict[str, Json]] | None = None
    """Stream events instead of a body: `{"event", "data"}` or `{"comment"}`."""


class Reply(Record, frozen=True):
    """One answer of the script."""

    label: str
    """Where it stands in the script: `reply 3`, `rule 1`, `default`."""
    words: list[Word] = []
    exchange: Exchange | None = None
    """A literal answer instead of words."""
    route: str | None = None
    """Only for requests of this route; None: for any."""
    finish: str | None = None
    """The finish reason; None: `tool_calls` after a call, else `stop`."""
    end: EndKind = "clean"
    """`clean` with the protocol's own end, `eof` without it, `done` with `[DONE]` alone; `cut` closes the connection inside
    the answer, `reset` breaks it (the client may lose bytes that it had not read yet)."""
    model: str | None = None
    """The model that claims to have answered; None: the one asked for."""
    usage: dict[str, Json] | None = None
    """Token counts instead of the simulated ones."""
    cut_at_byte: int | None = None
    """Close the connection after so many bytes of the answer, its head included."""
    delay_ms: int = 0
    """Real milliseconds before the first byte."""
    gate: str | None = None
    """The first byte waits until the test opens this gate."""
    hang: bool = False
    """No byte is sent: the connection stays until the client leaves."""
    error: str | None = None
    """The message of a 400 answered instead of everything else."""


class Rule(Record, frozen=True):
    """Answers requests that hold something."""

    reply: Reply
    contains: str = ""
    """Text the request's body must hold, raw or inside any string; empty: no condition."""
    empty_text: bool = False
    """Whether the request must hold an empty text block."""
    negate: bool = False
    """Whether the condition must not be met."""
    times: int | None = None
    """How often it answers; None: always."""


class Script(Record, frozen=True):
    """Rules are tried first, in order; then the replies in order; then the default; then a clear error."""

    rules: list[Rule] = []
    replies: list[Reply] = []
    default: Reply | None = None
