"""Simulated providers: each speaks its API's bytes, which may be cut anywhere, and refuses, fails and errs as real ones do."""

import msgspec

from stoic.core.notes import SUMMARY_INSTRUCTIONS
from stoic.ports import Delta, Renderer, Request
from stoic.records import ExceptionFact, Json, Record, Report
from stoic.testing import chat_style, gemini_style, messages_style, responses_style
from stoic.testing.replies import Reply, Word
from stoic.testing.simulation.dice import Dice
from stoic.testing.simulation.hands import CALLED, PAGES, TRIGGERS
from stoic.testing.simulation.ledger import Ledger, Sent
from stoic.testing.simulation.processes import LEASE, PROCESS, THREAD
from stoic.testing.simulation.setting import hold
from stoic.testing.styles import Style
from stoic.wire import chat
from stoic.wire.answers import Answer
from stoic.wire.chat_decoding import ChatDecoder
from stoic.wire.decoding import DecoderFactory
from stoic.wire.gemini import GeminiRenderer
from stoic.wire.gemini_decoding import GeminiDecoder
from stoic.wire.messages import MessagesRenderer
from stoic.wire.messages_decoding import MessagesDecoder
from stoic.wire.responses import ResponsesRenderer
from stoic.wire.responses_decoding import ResponsesDecoder
from stoic.wire.transport import HttpSettings

VOID = "void"
"""Begins the argument of every call that must never run: its reply was half, cut, refused or failed."""
THOUGHT = "a thought of"
"""Begins what a model thinks; its provider's name follows."""
_NO_REPLY = frozenset({"refusal", "eof", "half", "unreadable", "word", "empty"})
"""Labels of answers that no turn may take for a reply; one that is cut may have been complete by then."""
_HISTORIES = {"chat": "messages", "messages": "messages", "responses": "input", "gemini": "contents"}
"""Under which name each API's requests have their history."""
_LIMITS = HttpSettings()
_LATENCIES_MS = (0,) * 12 + (5,) * 8 + (60,) * 4 + (700,) * 2 + (15_000,)
_BRIEFS = ("sort the mail", "count the boxes", f"write about {TRIGGERS[0]}", f"write about {TRIGGERS[1]}")
_SUMMARY = SUMMARY_INSTRUCTIONS[:60].encode()


class Vendor(Record, frozen=True):
    """One provider."""

    name: str
    api: str
    trigger: str
    """The word that it refuses wherever it reads it."""
    style: Style
    decoder: DecoderFactory
    renderer: Renderer

    @property
    def model(self) -> str:
        """Its one model, as an agent names it."""
        return f"{self.name}:{self.name}-1"


VENDORS = (
    Vendor(name="alpha", api="chat", trigger=TRIGGERS[0], style=chat_style, decoder=ChatDecoder, renderer=chat),
    Vendor(
        name="beta",
        api="messages",
        trigger=TRIGGERS[1],
        style=messages_style,
        decoder=MessagesDecoder,
        renderer=MessagesRenderer(provider="beta", model="beta-1"),
    ),
    Vendor(
        name="gamma",
        api="responses",
        trigger=TRIGGERS[2],
        style=responses_style,
        decoder=ResponsesDecoder,
        renderer=ResponsesRenderer(provider="gamma", model="gamma-1"),
    ),
    Vendor(
        name="delta",
        api="gemini",
        trigger=TRIGGERS[3],
        style=gemini_style,
        decoder=GeminiDecoder,
        renderer=GeminiRenderer(provider="delta", model="delta-1"),
    ),
)
BY_NAME = {vendor.name: vendor for vendor in VENDORS}


class Weather:
    """How the providers fare, the same for all processes."""

    def __init__(self, failure_percent: int) -> None:
        """Begin with every provider up."""
        self.failure_percent = failure_percent
        self.down_until_ms: dict[str, int] = {}
        self.limited_until_ms = 0
        """Until when every provider answers with this date."""
        self.keys: dict[str, int] = {vendor.name: 1 for vendor in VENDORS}
        """The number of each provider's present key."""
        self.revoked: set[tuple[str, int]] = set()
        """Keys that are not taken any more."""

    def clear(self) -> None:
        """Let every provider be up, and answer without failures."""
        self.failure_percent = 0
        self.down_until_ms.clear()
        self.limited_until_ms = 0
        self.revoked.clear()


class SimulatedProvider:
    """Implements the Provider port for all vendors, in one process."""

    def __init__(self, ledger: Ledger, weather: Weather, dice: Dice) -> None:
        """Take the dice whose seed decides what is answered; they are never rolled themselves."""
        self._ledger = ledger
        self._weather = weather
        self._dice = dice
        self._asked: dict[str, int] = {}

    async def send(self, request: Request, on_delta: Delta) -> Report:
        """Answer one request."""
        process = PROCESS.get()
        sent = self._receive(request)
        number = self._asked[sent.thread] = self._asked.get(sent.thread, 0) + 1
        dice = self._dice.fork(f"{sent.thread} {number}")
        try:
            await process.clock.sleep_until(process.clock.now_ms() + dice.pick(_LATENCIES_MS))
            await process.touch()
            answering = _Answering(sent, request, dice, self._mood(sent), self._weather, self._ledger)
            report = await answering.answer(on_delta)
            await process.touch()
        except BaseException:
            self._ledger.lost.add(sent.id)
            raise
        self._ledger.tell(f"{process.name} gets {sent.id}: {_shape(report)}")
        return report

    async def close(self) -> None:
        """Hold nothing open."""

    def _mood(self, sent: Sent) -> "_Mood":
        turn = self._dice.fork(f"mood of {sent.thread} {sent.turn}")
        dislike = self._dice.fork(f"{sent.provider} in {sent.thread}")
        return _Mood(is_stubborn=turn.chance(5), is_offended=dislike.chance(12) and turn.chance(95))

    def _receive(self, request: Request) -> Sent:
        ledger, thread, process = self._ledger, THREAD.get(), PROCESS.get()
        style = BY_NAME[request.provider].style
        asked = msgspec.json.decode(request.body)
        fault = style.find_fault(asked if request.api != "gemini" else {**asked, "model": request.model})
        hold(fault is None, 14, lambda: f"a request of {thread} that {request.provider} would not take: {fault}")
        is_summary = _SUMMARY in request.body
        sent = Sent(
            number=len(ledger.sent) + 1,
            thread=thread,
            process=process.name,
            provider=request.provider,
            api=request.api,
            model=request.model,
            body=request.body,
            at_ms=process.clock.now_ms(),
            generation=ledger.generation_of(thread),
            fingerprint=ledger.fingerprints.get(thread, ""),
            turn=ledger.turn_of(thread),
            is_human=ledger.is_human(thread) or (is_summary and not ledger.has_open_turn(thread)),
            is_stale=ledger.is_over(thread, LEASE.get()),
            is_summary=is_summary,
        )
        ledger.note_sent(sent)
        return sent


class _Mood(Record, frozen=True):
    is_stubborn: bool
    """Whether the model says the same in each round of this turn, and reads on."""
    is_offended: bool
    """Whether the provider refuses, in this turn of a thread in which it refuses most, whatever follows a reply."""


class _Answering:
    """One answer."""

    def __init__(self, sent: Sent, request: Request, dice: Dice, mood: _Mood, weather: Weather, ledger: Ledger) -> None:
        self._sent = sent
        self._request = request
        self._vendor = BY_NAME[sent.provider]
        self._dice = dice
        self._weather = weather
        self._ledger = ledger
        self._mood = mood

    async def answer(self, on_delta: Delta) -> Report:
        dice, vendor, weather = self._dice, self._vendor, self._weather
        if PROCESS.get().clock.now_ms() < weather.down_until_ms.get(vendor.name, 0):
            return self._unreachable("httpx2.ConnectError")
        if PROCESS.get().clock.now_ms() < weather.limited_until_ms:
            seconds = (weather.limited_until_ms - PROCESS.get().clock.now_ms() + 999) // 1000
            return self._error(429, "rate_limit_exceeded", "slow down", {"retry-after": str(seconds)})
        if (vendor.name, weather.keys[vendor.name]) in weather.revoked:
            return self._error(401, "invalid_api_key", "the key is not valid")
        if vendor.trigger.encode() in self._sent.body or (self._mood.is_offended and self._was_answered()):
            return await self._refusal(on_delta)
        if dice.chance(weather.failure_percent):
            return await self._failure(on_delta)
        if self._sent.is_summary:
            return await self._stream(
                Reply(label="summary", words=[Word(kind="text", text="What was before.")]), on_delta
            )
        return await self._stream(self._success(), on_delta)

    # ---- what is said -------------------------------------------------------------------------------

    def _word(self) -> str:
        # Few words, so that equal texts meet in one turn and duplicates would not be told apart by luck.
        return self._dice.pick(("Ready. ", "Ready. ", "On it. ", "Done. ", "Zürich \u2028 ok. "))

    def _text(self) -> Word:
        return Word(kind="text", text=self._word() + self._word())

    def _thought(self) -> Word:
        return Word(kind="thinking", text=f"{THOUGHT} {self._vendor.name}")

    def _success(self) -> Reply:
        dice = self._dice
        if self._mood.is_stubborn:
            page = _called("look", {"n": f"k{dice.below(PAGES)}"})
            return Reply(label="stubborn", words=[Word(kind="text", text="Once more. "), page])
        if dice.chance(42):
            words = [self._text()] if dice.chance(50) else []
            return Reply(label="calls", words=[*words, *(self._call() for _ in range(1 + dice.below(3)))])
        odd = dice.below(12)
        if odd == 0:
            return Reply(label="cut", words=[self._text()], finish="length")
        if odd == 1:
            return Reply(label="thought", words=[self._thought(), self._text()])
        if odd == 2:  # noqa: PLR2004 -- the third case of twelve
            return Reply(label="other", words=[self._text()], model="another-model")
        return Reply(label="text", words=[self._text()])

    def _was_answered(self) -> bool:
        return any(row.kind == "reply" for row in self._ledger.rows.get(self._sent.thread, []))

    def _argument(self) -> str:
        dice, sent = self._dice, self._sent
        if dice.chance(40):
            return f"k{dice.below(PAGES)}"
        return f"n{dice.below(1_000_000)}" + (
            f"-canary-call-{sent.thread}-{sent.turn}-{sent.number}#" if dice.chance(60) else ""
        )

    def _call(self) -> Word:
        dice = self._dice
        chosen = dice.below(20)
        if chosen == 0:
            return Word(kind="call", name="no_such_tool", text="{}")
        if chosen == 1:
            return Word(kind="call", name="pay", text=dice.pick(('{"m":1}', '{"n":7}', "{}")))
        if chosen < 6:  # noqa: PLR2004 -- four cases of twenty
            return self._task_call()
        return _called(dice.pick(CALLED), {"n": self._argument()})

    def _task_call(self) -> Word:
        """Call a task tool; those who have none yet begin one."""
        dice, tasks = self._dice, self._ledger.tasks_of(self._sent.thread)
        if not tasks or dice.chance(35):
            model = {"model": dice.pick(VENDORS).model} if dice.chance(40) else {}
            return _called("task_start", {"brief": dice.pick(_BRIEFS), **model})
        task = dice.pick(tasks)
        chosen = dice.below(5)
        if chosen == 0:
            return _called(
                "task_wait", {"tasks": tasks[-3:], "timeout_seconds": 600, "until": dice.pick(("any", "all"))}
            )
        if chosen == 1:
            return _called("task_message", {"task": task, "text": "go on", "wait": dice.chance(50)})
        if chosen == 2:  # noqa: PLR2004 -- the third case of five
            return _called("task_stop", {"task": task})
        return _called("task_status", {"task": task} if dice.chance(50) else {})

    # ---- what goes wrong ----------------------------------------------------------------------------

    async def _refusal(self, on_delta: Delta) -> Report:
        dice = self._dice
        words = [Word(kind="refusal", text="I cannot help with that.")]
        if dice.chance(40):
            words = [self._text(), self._void_call()]
        return await self._stream(Reply(label="refusal", words=words, finish="content_filter"), on_delta)

    async def _failure(self, on_delta: Delta) -> Report:
        dice = self._dice
        kinds = (
            self._broken,
            self._broken,
            self._broken,
            self._half,
            self._half,
            self._empty,
            self._empty,
            self._http_failure,
            self._http_failure,
            self._http_failure,
            self._http_failure,
            lambda: self._unreachable(dice.pick(("httpx2.ConnectError", "httpx2.ReadTimeout"))),
        )
        if dice.chance(15):
            return await self._refusal(on_delta)
        made = dice.pick(kinds)()
        return made if isinstance(made, Report) else await self._stream(made, on_delta)

    def _void_call(self, *, whole: bool = True) -> Word:
        text = msgspec.json.encode({"n": f"{VOID}{self._dice.below(1000)}"}).decode()
        name = self._dice.pick(CALLED)
        return Word(kind="call", name=name, text=text) if whole else Word(kind="half_call", name=name, text=text[:-3])

    def _broken(self) -> Reply:
        """A stream that is cut at any byte; every call in it is void, since its end never comes."""
        words = self._dice.pick(
            (
                [self._text()],
                [self._text(), self._void_call()],
                [self._void_call(), self._void_call()],
                [self._thought(), self._text()],
                [Word(kind="half_call", name="wipe")],
            )
        )
        return Reply(label="broken", words=words, end="cut")

    def _half(self) -> Reply:
        """A stream that ends in good order, and yet not all has come."""
        wipe = Word(kind="half_call", name="wipe")
        half = self._void_call(whole=False)
        return self._dice.pick(
            (
                Reply(label="eof", words=[self._text()], end="eof"),
                Reply(label="eof", words=[wipe], end="eof"),
                Reply(label="half", words=[self._text(), half], finish="length"),
                Reply(label="half", words=[half], finish="length"),
                Reply(label="unreadable", words=[half]),
                Reply(label="word", words=[self._text()], finish="a_new_word"),
            )
        )

    def _empty(self) -> Reply:
        words = self._dice.pick(([], [self._thought()], [Word(kind="text", text="  \n")]))
        return Reply(label="empty", words=words)

    def _http_failure(self) -> Report:
        dice = self._dice
        status, code, message, headers = dice.pick(_HTTP_FAILURES)
        return self._error(status, code, message, headers)

    def _error(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Report:
        body = msgspec.json.encode(_error_body(self._vendor.api, status, code, message))
        answer = Answer(self._vendor.decoder(self._request, _ignore), _LIMITS)
        sent = {"content-type": "application/json", "x-request-id": self._sent.id} | (headers or {})
        answer.begin(status, [(name.encode(), value.encode()) for name, value in sent.items()])
        answer.feed(body)
        answer.finish()
        return answer.report(self._request, cut=False, exception=None, now_ms=PROCESS.get().clock.now_ms())

    def _unreachable(self, kind: str) -> Report:
        fact = ExceptionFact(type=kind, message="no connection")
        sent = self._sent
        return Report(
            provider=sent.provider, api=sent.api, model=sent.model, exception=fact, parts=None, request_id=sent.id
        )

    # ---- how it comes -------------------------------------------------------------------------------

    async def _stream(self, reply: Reply, on_delta: Delta) -> Report:
        """Let the reply's bytes come in pieces through the real decoder; somebody may stop listening between any two."""
        process, dice = PROCESS.get(), self._dice
        if reply.label in _NO_REPLY and (reply.label != "half" or self._vendor.api != "gemini"):  # no half calls there
            self._ledger.void.add(self._sent.id)
        # In place of the history a text as long as it is: for the count of tokens.
        name, body = _HISTORIES[self._vendor.api], self._sent.body
        history = "." * (len(body) - body.index(f'"{name}":['.encode()))
        asked = {"model": self._sent.model, "stream_options": {"include_usage": True}, name: history}
        events = [
            each for each in self._vendor.style.stream(reply, asked, self._sent.number) if isinstance(each, bytes)
        ]
        if dice.chance(4) and reply.end == "clean":
            events.append(events[-1])  # said twice
        data = b"".join(events)
        is_cut = reply.end == "cut" or dice.chance(3)  # also after its end, when the answer is complete all the same
        if reply.end == "cut":
            data = data[: dice.below(len(data) + 1)]
        answer = Answer(self._vendor.decoder(self._request, on_delta), _LIMITS)
        answer.begin(200, [(b"content-type", b"text/event-stream"), (b"x-request-id", self._sent.id.encode())])
        middle = dice.below(len(data) + 1)
        for piece in (data[:middle], data[middle:]):
            if piece:
                answer.feed(piece)
            await process.touch()
        if is_cut:
            fact = ExceptionFact(type="httpx2.ReadError", message="connection reset", after_first_byte=True)
            return answer.report(self._request, cut=True, exception=fact, now_ms=process.clock.now_ms())
        answer.finish()
        return answer.report(self._request, cut=False, exception=None, now_ms=process.clock.now_ms())


_NO_ROOM = "maximum context length is 8000 tokens. However, you requested 9000 tokens (7000 in the messages)"
_HTTP_FAILURES: tuple[tuple[int, str, str, dict[str, str]], ...] = (
    (503, "server_error", "try again", {}),
    (529, "overloaded_error", "overloaded", {}),
    (429, "rate_limit_exceeded", "slow down", {"retry-after": "7"}),
    (429, "rate_limit_exceeded", "slow down", {"retry-after": "3600"}),
    (429, "insufficient_quota", "no credit", {}),
    (401, "invalid_api_key", "wrong key", {}),
    (403, "permission_denied", "not allowed", {}),
    (404, "model_not_found", "no such model", {}),
    (400, "context_length_exceeded", "too long", {}),
    (400, "context_length_exceeded", _NO_ROOM, {}),
    (400, "invalid_encrypted_content", "The encrypted content could not be verified.", {}),
    (400, "invalid_request_error", "Unsupported value", {}),
    (418, "teapot", "short and stout", {}),
)
_ANTHROPIC = {503: "api_error", 529: "overloaded_error", 429: "rate_limit_error", 401: "authentication_error"}
_GOOGLE = {503: "UNAVAILABLE", 529: "UNAVAILABLE", 429: "RESOURCE_EXHAUSTED", 401: "UNAUTHENTICATED", 404: "NOT_FOUND"}


def _error_body(api: str, status: int, code: str, message: str) -> Json:
    if api == "messages":
        kind = _ANTHROPIC.get(status, "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": f"{code}: {message}"}}
    if api == "gemini":
        return {"error": {"code": status, "status": _GOOGLE.get(status, "INVALID_ARGUMENT"), "message": message}}
    return {"error": {"message": message, "type": code, "code": code, "param": None}}


def _called(name: str, arguments: dict[str, Json]) -> Word:
    return Word(kind="call", name=name, text=msgspec.json.encode(arguments).decode())


def _shape(answer: Report) -> str:
    parts = " ".join(type(part).__name__ for part in answer.parts or [])
    trouble = answer.exception.type if answer.exception else ""
    return f"{answer.status or ''} {trouble} {answer.finish or ''} {'whole' if answer.ended else 'not whole'} {parts}"


def _ignore(kind: str, text: str) -> None:
    """Nobody listens."""
