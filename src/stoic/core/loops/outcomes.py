"""Hashes what came of a call, with what changes without meaning anything masked: labelled times, pids and the like."""

from itertools import islice

import msgspec

from stoic.core.canonical import canonical
from stoic.core.loops.hashes import digest
from stoic.core.loops.noises import CREATED, DURATIONS, FILES, NONCES, PIDS, REQUESTS, TIMES
from stoic.core.loops.observation import Identity, Nature, Outcome
from stoic.core.loops.shapes import is_array, is_object
from stoic.core.loops.words import named, pattern, words
from stoic.records import Json

_MASKED_CHARACTERS = 100_000
"""Of a longer text only this much at the start and at the end is searched for noise; all of it is hashed."""
_DEPTH = 50
_ENVELOPES = 16
_SEPARATOR = r"[\"']?\s*(?:[:=]|\bis\b)?\s*[\"'<]?"
_NUMBER = r"\d{1,12}(?:[.,]\d{1,12})?"
"""Every repetition in these expressions is bounded or anchored: a hostile result must not cost quadratic time."""
_UNIT = r"\s?(?:milliseconds?|microseconds?|seconds?|minutes?|hours?|days?|msecs?|secs?|mins?|hrs?|ms|us|µs|ns|s|m|h|d)(?![A-Za-z])"
_SPAN = rf"(?:{_NUMBER}{_UNIT}(?:\s?{_NUMBER}{_UNIT})*|\d{1, 4}:\d\d(?::\d\d)?(?:\.\d{1, 9})?)"
_MOMENT = (
    r"(?:\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?\s?(?:Z|UTC|[+-]\d\d:?\d\d)?)?"
    r"|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?|\b1\d{9}(?:\d{3})?(?:\.\d+)?\b)"
)
_IDENTIFIER = r"(?=[\w./+-]*\d)[\w./+-]+"

_ENVELOPE = r"</+\w+\s+(\w+)=[\"']([^\"'<>]{4,})[\"']\s*>"
"""A closing tag with an attribute: markup never has one, only a host's envelope with a nonce does."""

_CUT = r"(?i)\b(?:too (?:large|long|big)|truncated|exceed(?:s|ed))\b"
_KEPT = r"(?i)\b(?:saved|written|stored|spilled|dumped|see)\b"
_FULL = r"(?i)\bfull (?:text|output|result|log)\b"
_PATH = r"(?:[A-Za-z]:)?[/\\][^\s'\"<>()]+"
"""A host's stub says on one line that the output was cut and where all of it is kept, in a file of this call alone."""

_TEXTS: tuple[tuple[int, str, str], ...] = (
    (FILES, r"/tmp/tmp[\w.-]+|\bpytest-of-[\w-]+/pytest-\d+", "?"),  # noqa: S108
    (
        REQUESTS,
        rf"(?i)\b((?:request|req|trace|span|correlation|invocation|incident)[-_ ]?id\b{_SEPARATOR})[\w./+-]+",
        r"\1?",
    ),
    (REQUESTS, rf"(?i)\b(cf-ray\b{_SEPARATOR})[\w-]+", r"\1?"),
    (NONCES, rf"(?i)\b((?:nonce|csrf[-_ ]?token|boundary)\b{_SEPARATOR})[\w./+=-]+", r"\1?"),
    (NONCES, r"(?i)\b(at )0x[0-9a-f]{4,}", r"\1?"),
    (PIDS, rf"(?i)\b((?:p?pid|process[-_ ]id)\b{_SEPARATOR})\d+", r"\1?"),
    (
        TIMES,
        (
            r"(?i)\b((?:time|timestamp|now|as of|checked(?: at)?|started(?: at)?|generated(?: at)?|"
            rf"fetched(?: at)?|received(?: at)?|sent(?: at)?|current time)\b{_SEPARATOR}){_MOMENT}"
        ),
        r"\1?",
    ),
    (
        DURATIONS,
        (
            r"(?i)\b((?:elapsed|duration|took|time|wall(?: time)?|latency|runtime|uptime|real|user|sys|waited|running for)"
            rf"\b(?: time)?{_SEPARATOR}(?:for )?){_SPAN}"
        ),
        r"\1?",
    ),
    (DURATIONS, rf"(?i)\b((?:elapsed|duration|took|latency|uptime)\w*{_SEPARATOR}){_NUMBER}", r"\1?"),
    (DURATIONS, rf"(?i){_SPAN}(?= (?:elapsed|passed so far)\b)", "?"),
    (
        DURATIONS,
        (
            r"(?i)\b((?:passed|failed|failures?|errors?|skipped|warnings?|done|finished|completed|built|ran|compiled|tests?|"
            rf"packages?|modules?|files?|target\(s\)|took)\b[^\n]{{0,40}}?\bin )(?:{_SPAN}|{_NUMBER}s\b)"
        ),
        r"\1?",
    ),
    (DURATIONS, rf"\(({_SPAN})\)", "(?)"),
    (DURATIONS, rf"(?m)^((?:ok|FAIL)\s+\S+\s+){_NUMBER}s\b", r"\1?"),
)

_CREATED_TEXTS: tuple[tuple[int, str, str], ...] = (
    (CREATED, r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", "?"),
    (
        CREATED,
        (
            r"\b((?:(?:[\w-]{1,40}[_-])?(?:[Ii][Dd]|[Uu][Uu][Ii][Dd]|guid|[Nn]umber|receipt)|[A-Za-z]\w*(?:Id|ID))\b"
            rf"{_SEPARATOR}#?){_IDENTIFIER}"
        ),
        r"\1?",
    ),
    (CREATED, r"#\d+", "#?"),
    (CREATED, r"\b[A-Z][A-Z0-9]+-\d+\b", "?"),
    (CREATED, r"(https?://\S{1,200}?/)[\w-]*\d[\w-]*(?=[\s\"')>.,]|$)", r"\1?"),
    (
        CREATED,
        (
            r"(?i)\b((?:ticket|issue|message|order|job|task|comment|post|event|record|booking|entry|item|document|row)\s)"
            r"\d+\b"
        ),
        r"\1?",
    ),
    (TIMES, _MOMENT, "?"),
)

_DURATION_WORDS = named("elapsed duration took latency uptime runtime")
_DURATION_NAMES = named(
    "time_ms time_seconds time_taken total_time execution_time response_time wall_time real_time run_time cpu_time "
    "processing_time"
)
_TIME_NAMES = named(
    "timestamp ts now started_at checked_at generated_at fetched_at requested_at served_at polled_at current_time "
    "server_time retrieved_at queried_at last_checked last_checked_at"
)
_DATED_NAMES = named("time date datetime start_time started sent_at received_at")
"""Times unless a read brings them: then they may be the data asked for."""
_PID_NAMES = named("pid ppid process_id")
_REQUEST_NAMES = named(
    "request_id req_id trace_id span_id correlation_id invocation_id x_request_id cf_ray call_id tool_call_id "
    "tool_use_id incident_id amzn_request_id"
)
_NONCE_NAMES = named("nonce csrf csrf_token boundary salt")
_CREATED_WORDS = named("id ids uuid guid number iid url uri link permalink receipt")


def outcome(result: Json, identity: Identity, *, failed: bool) -> Outcome:
    """Hash a raw result, before the host decorates it.

    Args:
        result: What the tool returned: text or any JSON value.
        identity: The call's identity; its nature decides whether an id in the result is news.
        failed: Whether the tool reported an error.
    """
    seen = _Mask(identity.nature)
    text = canonical(seen.value(result, _DEPTH))
    masked = digest(f"{failed}\n{text}")
    return Outcome(
        masked=masked,
        pair=digest(f"{identity.key}{masked}"),
        raw=digest(repr(result), 4),
        noise=seen.noise,
        failed=failed,
        denial=denial(text) if failed else "",
        silent=not failed and text in {'""', "null", "[]", "{}"},
    )


_ACCOUNT = (
    r"unauthori[sz]ed|unauthenticated|\b401\b|authentication (?:failed|required)|not logged in|login required|"
    r"invalid (?:api[ -]?key|token|credentials)|(?:token|session|credentials?) (?:has |have )?expired|"
    r"quota|insufficient (?:funds|credits?|balance)|payment required|billing|(?:monthly|daily|usage|plan) limit"
)
_DENIED = (
    r"(?:permission|access) (?:was |is )?denied|forbidden|not (?:allowed|permitted)|not authori[sz]ed|"
    r"\b(?:http|status|code|error)\W{0,4}403\b|insufficient (?:permissions?|privileges?|scope)|"
    r"operation not permitted|outside the (?:sandbox|workspace)|\bdenied\b"
)
_DENIAL_CHARACTERS = 2000


def denial(text: str) -> str:
    """Tell whether an error says that the tool may not do this: `account`, `denied` or empty."""
    start = text[:_DENIAL_CHARACTERS].lower()
    if pattern(_ACCOUNT).search(start):
        return "account"
    return "denied" if pattern(_DENIED).search(start) else ""


class _Mask:
    """Masks one result and remembers which kinds of noise it held."""

    def __init__(self, kind: Nature) -> None:
        self.noise = 0
        self._kind = kind
        self._timed = kind.effect != "read" or kind.clock

    def value(self, value: Json, depth: int) -> Json:
        if isinstance(value, str):
            return self._parsed(value, depth)
        if depth == 0:
            return value
        if is_object(value):
            return {key: self._member(key, member, depth - 1) for key, member in value.items()}
        if is_array(value):
            return [self.value(item, depth - 1) for item in value]
        return value

    def _member(self, key: str, value: Json, depth: int) -> Json:
        kind = self._named(key)
        if kind and isinstance(value, str | int | float) and not isinstance(value, bool):
            self.noise |= kind
            return "?"
        return self.value(value, depth)

    def _named(self, key: str) -> int:
        """Return which kind of noise a field of this name holds, or 0."""
        parts = words(key)
        name = "_".join(parts)
        if name in _DURATION_NAMES or _DURATION_WORDS.intersection(parts):
            return DURATIONS
        if (
            name in _TIME_NAMES
            or (name in _DATED_NAMES and self._timed)
            or (self._kind.creates and parts[-1:] == ["at"])
        ):
            return TIMES
        if name in _PID_NAMES:
            return PIDS
        if name in _REQUEST_NAMES:
            return REQUESTS
        if name in _NONCE_NAMES:
            return NONCES
        return CREATED if self._kind.creates and parts and parts[-1] in _CREATED_WORDS else 0

    def _parsed(self, text: str, depth: int) -> Json:
        """Mask JSON written as text by its fields, any other text by its words."""
        if depth > 0 and text[:1] in {"{", "["}:
            try:
                return self.value(msgspec.json.decode(text), depth - 1)
            except (msgspec.DecodeError, RecursionError, UnicodeError):
                return self._text(text)
        return self._text(text)

    def _text(self, text: str) -> str:
        if len(text) > 2 * _MASKED_CHARACTERS:
            head, middle = text[:_MASKED_CHARACTERS], text[_MASKED_CHARACTERS:-_MASKED_CHARACTERS]
            return self._text(head) + middle + self._text(text[-_MASKED_CHARACTERS:])
        text = pattern(r"\x1b\[[0-9;?]*[A-Za-z]").sub("", text).replace("\r\n", "\n")
        text = self._envelope(text)
        if pattern(_CUT).search(text) or pattern(_FULL).search(text):
            text = "\n".join(self._stub(line) for line in text.split("\n"))
        masks = _TEXTS + _CREATED_TEXTS if self._kind.creates else _TEXTS
        if self._kind.clock:
            masks = (*masks, (TIMES, _MOMENT, "?"))
        for kind, expression, replacement in masks:
            text, count = pattern(expression).subn(replacement, text)
            self.noise |= kind if count else 0
        return text.strip()

    def _envelope(self, text: str) -> str:
        for found in islice(pattern(_ENVELOPE).finditer(text), _ENVELOPES):
            text = text.replace(f'{found[1]}="{found[2]}"', f"{found[1]}=?")
            self.noise |= NONCES
        return text

    def _stub(self, line: str) -> str:
        """Mask the file that a line names as the place of the whole output."""
        cut = pattern(_CUT).search(line)
        kept = (pattern(_KEPT).search(line, cut.end()) if cut else None) or pattern(_FULL).search(line)
        if kept is None:
            return line
        rest, count = pattern(_PATH).subn("?", line[kept.end() :])
        self.noise |= FILES if count else 0
        return line[: kept.end()] + rest
