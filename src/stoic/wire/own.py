"""Providers that are a function of the user's: what it gets, what it returns, and how its failures become reports."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from stoic.ports import Clock, Delta, Request
from stoic.records import CallPart, Json, Message, Record, Report, TextPart, ToolSchema, Usage
from stoic.wire.facts import exception_fact
from stoic.wire.rendering import encode

API = "own"
"""The name of this API in routes; its reports are read as those of Chat Completions."""

_READ_AS = "chat"
_OK = 200


class ModelRequest(Record, frozen=True):
    """What a model is asked, for a function that asks it."""

    model: str
    """The name behind `PROVIDER:`."""
    system: str
    """The instructions; may be empty."""
    messages: list[Message]
    """`UserMessage`, `AssistantMessage` and `ToolMessage`, in order."""
    tools: list[ToolSchema]
    parameters: dict[str, Json] = {}
    """Such as `max_tokens`, `temperature`, `reasoning_effort`, as far as they are set, and what `Agent(parameters=…)` holds."""


class ModelReply(Record, frozen=True):
    """What the model answered."""

    text: str = ""
    calls: list[CallPart] = []
    """Its tool calls: `CallPart(name=…, arguments='{"n":1}')`, the arguments as JSON text."""
    finish: str | None = None
    """`stop`, `length` (cut at the longest reply), `tool_calls` or `content_filter` (a refusal); None: by what is there."""
    usage: Usage = Usage()
    """For bounds and costs; without it nothing is counted."""
    request_id: str | None = None
    served_model: str | None = None
    """Where another one answered than was asked."""


class ModelError(Exception):
    """Raised by the function for an answer that is none: it is classified like any provider's (`stoic explain`)."""

    def __init__(self, status: int, body: Json = None, headers: Mapping[str, str] | None = None) -> None:
        """Take what the server said.

        Args:
            status: of HTTP
            body: a JSON value or text, such as `{"error": {"message": …, "code": …}}`
            headers: such as `retry-after`
        """
        super().__init__(f"HTTP {status}")
        self.status = status
        self.body = body
        self.headers = {name.lower(): value for name, value in (headers or {}).items()}


OwnModel = Callable[[ModelRequest, Callable[[str], None]], Awaitable[ModelReply]]
"""Asks a model: gets the request, and a function to call with each piece of text as it comes (or never)."""


class OwnRenderer:
    """Renders a request as the JSON that `ModelRequest` is read from; each begins with the bytes of the one before."""

    TAIL = b"]}"

    def head(self, model: str, system: str, tools: Sequence[ToolSchema], parameters: Mapping[str, Json]) -> bytes:
        """Render everything before the first message."""
        told = {"model": model, "system": system, "tools": list(tools), "parameters": dict(parameters)}
        return encode(told)[:-1] + b',"messages":['

    def fragments(self, messages: Sequence[Message], *, newest: bool = False) -> list[bytes]:  # noqa: ARG002 - of the port
        """Render messages, one by one."""
        return [encode(each) for each in messages]


class OwnProvider:
    """Implements `Provider` by a function."""

    def __init__(self, ask: OwnModel, clock: Clock) -> None:
        """Remember whom to ask."""
        self._ask = ask
        self._clock = clock

    async def send(self, request: Request, on_delta: Delta) -> Report:
        """Ask once; whatever the function raises is reported."""
        asked = msgspec.json.decode(request.body, type=ModelRequest)
        report = Report(provider=request.provider, api=_READ_AS, model=request.model)
        try:
            async with asyncio.timeout((request.deadline_ms - self._clock.now_ms()) / 1000):
                reply = await self._ask(asked, lambda text: on_delta("text", text))
            return _reported(report, reply, self._clock.now_ms())
        except ModelError as error:
            now_ms = self._clock.now_ms()
            said = {"status": error.status, "headers": error.headers, "body": error.body, "received_at": now_ms}
            return msgspec.structs.replace(report, **said)
        except Exception as error:  # noqa: BLE001 - a user's function, like a tool: what it raised is classified
            return msgspec.structs.replace(report, exception=exception_fact(error, after_first_byte=False))

    async def close(self) -> None:
        """Hold nothing open."""


def _reported(report: Report, reply: ModelReply, now_ms: int) -> Report:
    parts = [TextPart(text=reply.text)] if reply.text else []
    return msgspec.structs.replace(
        report,
        status=_OK,
        parts=[*parts, *reply.calls],
        finish=reply.finish or ("tool_calls" if reply.calls else "stop"),
        ended=True,
        usage=reply.usage,
        request_id=reply.request_id,
        served_model=reply.served_model,
        received_at=now_ms,
    )
