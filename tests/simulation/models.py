"""A provider at the port: answers as the dice say, with everything that real ones do, and remembers what it got."""

import msgspec
from msgspec.structs import replace
from tests.core.world import called, cut, http, report, said
from tests.simulation.outside import Outside, Sent
from tests.simulation.processes import Process

from stoic.core.notes import SUMMARY_INSTRUCTIONS
from stoic.ports import Delta, Request
from stoic.records import CallPart, ExceptionFact, Report, TextPart, ThinkingPart
from stoic.testing.simulation import Dice

VOID = "void"
"""Begins the argument of every call that must never run: its reply was half, cut, refused or failed."""
_NO_ROOM = "maximum context length is 8000 tokens. However, you requested 9000 tokens (7000 in the messages)"
TOOLS = ("look", "look", "pay", "put", "ship", "ship", "set", "key", "charge")


class SimulatedModel:
    """Implements the Provider port for one process; all its processes share the dice and the numbering."""

    def __init__(self, process: Process, outside: Outside, dice: Dice, *, failure_percent: int = 35) -> None:
        self.process = process
        self.outside = outside
        self.dice = dice
        self.failure_percent = failure_percent

    async def send(self, request: Request, on_delta: Delta) -> Report:
        if SUMMARY_INSTRUCTIONS.encode() in request.body:
            return await self._summarise()
        sent = self._receive(request)
        try:
            await self.process.touch()
            answer = replace(self.answer(), model=request.model, request_id=sent.id)
            await self.show(answer, on_delta)
        except BaseException:
            self.outside.lost.add(sent.id)
            raise
        self.outside.tell(f"{self.process.name} gets {sent.id} {_shape(answer)}")
        return answer

    async def _summarise(self) -> Report:
        """Answer what the runtime asks for itself, now and then with nothing usable."""
        await self.process.touch()
        self.outside.summaries += 1
        return http(503, "server_error") if self.dice.chance(30) else said("What happened before.")

    async def close(self) -> None:
        """Hold nothing open."""

    def _receive(self, request: Request) -> Sent:
        thread = request.model
        holder = self.outside.holders[thread]
        sent = Sent(
            number=len(self.outside.sent) + 1,
            thread=thread,
            process=self.process.name,
            body=request.body,
            head=request.body[: request.body.index(b'{"role":"user"')],
            generation=self.outside.generations.get(thread, 1),
            stale=holder.owner != self.process.name,
        )
        self.outside.sent.append(sent)
        self.outside.order.append(("sent", sent.id))
        self.outside.tell(f"{self.process.name} sends {sent.id} of {thread}, {len(request.body)} bytes")
        return sent

    async def show(self, answer: Report, on_delta: Delta) -> None:
        """Stream the parts in pieces; somebody may stop listening between any two."""
        for part in answer.parts or []:
            if isinstance(part, CallPart):
                on_delta("call", part.name)
            else:
                kind = "text" if isinstance(part, TextPart) else "thinking"
                middle = len(part.text) // 2
                for piece in (part.text[:middle], part.text[middle:]):
                    if piece:
                        on_delta(kind, piece)
                    await self.process.touch()

    def answer(self) -> Report:
        """Return the next answer."""
        if self.dice.chance(self.failure_percent):
            return self._failure()
        if self.dice.chance(45):
            return self._calls()
        return self.dice.pick((self._text, self._text, self._odd_success))()

    def _word(self) -> str:
        # Few words, so that equal texts meet in one turn and duplicates would not be told apart by luck.
        return self.dice.pick(("Ready. ", "Ready. ", "On it. ", "Done. ", "Zürich \u2028 ok. "))

    def _argument(self) -> str:
        return f"k{self.dice.below(4)}" if self.dice.chance(40) else f"n{self.dice.below(1_000_000)}"

    def _calls(self) -> Report:
        calls = [self._call() for _ in range(1 + self.dice.below(3))]
        return called(*calls, text=self._word() if self.dice.chance(50) else "")

    def _call(self) -> tuple[str, str]:
        chosen = self.dice.below(20)
        if chosen == 0:
            return "no_such_tool", "{}"
        if chosen == 1:
            return "pay", self.dice.pick(('{"n":', "[]", '{"m":1}', '{"n":7}', ""))
        return self.dice.pick(TOOLS), msgspec.json.encode({"n": self._argument()}).decode()

    def _text(self) -> Report:
        return said(self._word() + self._word())

    def _odd_success(self) -> Report:
        thinking = report([ThinkingPart(text="hm"), TextPart(text=self._word())], "stop")
        return self.dice.pick(
            (
                said(self._word(), finish="length"),
                thinking,
                replace(said(self._word()), served_model="another-model"),
                report([TextPart(text=""), TextPart(text=self._word())], "stop"),
            )
        )

    def _failure(self) -> Report:
        dice = self.dice
        if dice.chance(50):
            return dice.pick((self._broken, self._broken, self._refused, self._empty))()
        return dice.pick(
            (
                http(503, "server_error"),
                http(529, "overloaded_error"),
                http(429, "rate_limit_exceeded", headers={"retry-after": "7"}),
                http(429, "rate_limit_exceeded", headers={"retry-after": "3600"}),
                http(429, "insufficient_quota"),
                http(401, "invalid_api_key"),
                http(400, "context_length_exceeded"),
                http(400, "context_length_exceeded", _NO_ROOM),
                http(400, "invalid_encrypted_content", "The encrypted content could not be verified."),
                http(400, "invalid_request_error", "Unsupported value"),
                http(418, "teapot"),
                self._unreachable("httpx2.ConnectError"),
                self._unreachable("httpx2.ReadTimeout"),
            )
        )

    def _unreachable(self, kind: str) -> Report:
        return Report(
            provider="openai-chat", api="chat", exception=ExceptionFact(type=kind, message="no connection"), parts=None
        )

    def _void_call(self, *, whole: bool) -> CallPart:
        arguments = msgspec.json.encode({"n": f"{VOID}{self.dice.below(1000)}"}).decode()
        return CallPart(name=self.dice.pick(TOOLS), arguments=arguments if whole else arguments[:-3], whole=whole)

    def _broken(self) -> Report:
        text = TextPart(text=self._word())
        wipe = CallPart(name="wipe", arguments="", whole=False)
        return self.dice.pick(
            (
                cut(text),
                cut(text, self._void_call(whole=False)),
                cut(self._void_call(whole=True)),
                cut(wipe),
                report([text], None, ended=False),
                report([wipe], None, ended=False),
                report([text, self._void_call(whole=False)], "length"),
                report([self._void_call(whole=False)], "tool_calls"),
                report([wipe], "stop"),
                report([text], "a_new_word"),
            )
        )

    def _refused(self) -> Report:
        return self.dice.pick(
            (
                report([], "content_filter"),
                report([TextPart(text=self._word()), self._void_call(whole=True)], "content_filter"),
            )
        )

    def _empty(self) -> Report:
        return self.dice.pick((said(""), report([ThinkingPart(text="hm")], "stop"), said("  \n")))


def _shape(answer: Report) -> str:
    parts = " ".join(type(part).__name__ for part in answer.parts or [])
    return f"{answer.status} {answer.finish} {answer.ended} {parts}"
