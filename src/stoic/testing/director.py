"""Chooses the answer to a request: rules, then the replies in order, then the default, then a clear error."""

from collections.abc import Callable

from stoic.records import Json
from stoic.testing.cases import Cases
from stoic.testing.recording import RecordedRequest
from stoic.testing.replies import Exchange, Reply, Rule, Script
from stoic.testing.scripts import parse_reply, parse_script
from stoic.testing.styles import asked_of, style_of

Answering = Callable[[RecordedRequest], Json | Reply]
"""A script written in Python: gets the request, returns an element of the script language or a `Reply`."""


class Director:
    """Knows how far a script has been played."""

    def __init__(self, script: Script | Answering | Json, cases: Cases | None = None, *, checks: bool = True) -> None:
        """Begin at the script's start.

        Args:
            script: A parsed script, a JSON value of the script language, or a function.
            cases: What `wire:ID` refers to.
            checks: Whether malformed conversations are answered with 400, as real servers do, before the script is asked.

        Raises:
            UsageError: A word is not one of the language.
        """
        self._answering: Answering | None = script if callable(script) else None
        self._cases = cases or {}
        self._checks = checks
        parsed = Script() if callable(script) else script
        self._script = parsed if isinstance(parsed, Script) else parse_script(parsed, cases)
        self._waiting = list(self._script.replies)
        self._uses = [0] * len(self._script.rules)
        self.routes = {reply.route for reply in self._all_replies() if reply.route}
        """The routes that the script names."""
        self.exhausted = 0
        """How many requests came after the script's end."""

    @property
    def unplayed(self) -> list[str]:
        """Labels of the replies that nobody has asked for yet."""
        return [reply.label for reply in self._waiting]

    def choose(self, request: RecordedRequest) -> Reply:
        """Return the answer to a request and move on."""
        style = style_of(request.path)
        fault = style.find_fault(asked_of(request.path, request.json)) if style and self._checks else None
        if fault:
            return Reply(label="check", error=fault)
        if self._answering:
            answer = self._answering(request)
            return answer if isinstance(answer, Reply) else parse_reply(answer, self._cases, "function")
        for number, rule in enumerate(self._script.rules):
            if self._applies(rule, number, request):
                self._uses[number] += 1
                return rule.reply
        for position, reply in enumerate(self._waiting):
            if reply.route in (None, request.route):
                return self._waiting.pop(position)
        return self._script.default or self._exhausted()

    def _applies(self, rule: Rule, number: int, request: RecordedRequest) -> bool:
        if rule.times is not None and self._uses[number] >= rule.times:
            return False
        if rule.reply.route not in (None, request.route):
            return False
        style = style_of(request.path)
        has_empty_text = style is not None and style.has_empty_text(request.json)
        met = has_empty_text if rule.empty_text else request.holds(rule.contains)
        return met != rule.negate

    def _exhausted(self) -> Reply:
        """Answer 400, a failure that nobody retries, so that a wrong script shows at once."""
        self.exhausted += 1
        message = (
            f"script exhausted: its {len(self._script.replies)} replies have been played; add a reply or a default"
        )
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": "script_exhausted"}
        return Reply(label="exhausted", exchange=Exchange(status=400, body={"error": error}))

    def _all_replies(self) -> list[Reply]:
        default = [self._script.default] if self._script.default else []
        return [*self._script.replies, *(rule.reply for rule in self._script.rules), *default]
