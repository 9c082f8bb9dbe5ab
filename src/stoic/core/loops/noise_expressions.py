"""The expressions of what changes in a text without meaning anything; what follows their first group is masked."""

import msgspec

from stoic.core.loops.noises import CREATED, DURATIONS, FILES, NONCES, PIDS, REQUESTS, TIMES
from stoic.core.loops.searching import Hint, labels, texts


class Noise(msgspec.Struct, frozen=True):
    """One kind of noise in texts: what follows the expression's first group is masked."""

    bits: int
    expression: str
    hint: Hint | None = None
    """Where a match may start; None: anywhere."""


_SEPARATOR = r"[\"']?\s*(?:>(?!\s*<)|(?:[:=]|\bis\b)?\s*[\"'<]?)"
_NUMBER = r"\d{1,12}(?:[.,]\d{1,12})?"
"""Every repetition in these expressions is bounded or anchored: a hostile result must not cost quadratic time."""
_UNIT = r"\s?(?:milliseconds?|microseconds?|seconds?|minutes?|hours?|days?|msecs?|secs?|mins?|hrs?|ms|us|µs|ns|s|m|h|d)(?![A-Za-z])"
_SPAN = rf"(?:{_NUMBER}{_UNIT}(?:\s?{_NUMBER}{_UNIT}){{0,4}}|\d{{1,4}}:\d\d(?::\d\d)?(?:\.\d{{1,9}})?)"
_SPENT = r"\b(?<!remaining )(?<!estimated )(?<!expected )"
"""Before a label of durations: what lies ahead is progress when it shrinks."""
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_CLOCK = r"\d\d:\d\d:\d\d"
HTTP_DATE = rf"(?:{_WEEKDAY}, )?\d{{1,2}} {_MONTH} \d{{4}} {_CLOCK}(?: (?:GMT|UTC|[+-]\d{{4}}))?"
_INSTANT = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?\s?(?:Z|UTC|[+-]\d\d:?\d\d)?"
    rf"|{HTTP_DATE}|(?:{_WEEKDAY} )?{_MONTH} {{1,2}}\d{{1,2}} {_CLOCK}(?: [A-Z]{{3,4}})?(?: \d{{4}})?"
    rf"|\d\d/{_MONTH}/\d{{4}}:{_CLOCK}(?: [+-]\d{{4}})?)"
)
_MOMENT = (
    rf"(?:{_INSTANT}|\d{{4}}-\d\d-\d\d|\d{{1,2}}:\d\d:\d\d(?:[.,]\d{{1,9}})?|\b1\d{{9}}(?:\d{{3}})?(?:\.\d{{1,9}})?\b)"
)
_IDENTIFIER = r"(?=[\w./+-]*\d)[\w./+-]+"
_UUID = r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
_ULID = r"\b0[0-7][0-9A-HJKMNP-TV-Z]{24}\b"
_RANDOM_FILE = r"(?:tmp[\w.-]+|[A-Za-z]{1,20}[-_.](?=[a-z]{0,40}\d)(?=\d{0,40}[a-z])[a-z0-9]{8,40}\b[\w.-]*)"
_REQUEST_LABELS = "request|req|trace|span|correlation|invocation|incident|ray|activity|error|log|support"

_LINES = (r"(?=(?:ok|fail|real|user|sys)\s|date: )",)
_DONE = frozenset(
    b"passed failed failure failures error errors skipped warning warnings done finished completed built ran compiled test "
    b"tests package packages module modules file files target took".split()
)

FILE_NAMES = (
    Noise(FILES, rf"()/tmp/{_RANDOM_FILE}", texts("/tmp/")),  # noqa: S108  # what is looked for, not opened
    Noise(FILES, rf"()/var/folders/\w{{1,4}}/\w{{1,40}}/T/{_RANDOM_FILE}", texts("/var/folders/")),
    Noise(
        FILES,
        rf"()(?i:[a-z]:\\[\w .\\~-]{{1,120}}\\Temp\\){_RANDOM_FILE}",
        Hint((":\\",), "bare", needles=(b":\\",), offset=-1, digit=False),
    ),
    Noise(FILES, r"\b()pytest-of-[\w-]+/pytest-\d+", texts("pytest-of-")),
)

REQUEST_IDS = (
    Noise(
        REQUESTS,
        rf"(?i)\b((?:{_REQUEST_LABELS})[-_ ]?id\b{_SEPARATOR})[\w./+-]+",
        Hint(
            # The letters are the last ones of the labels.
            ("id(?![a-z0_])(?:(?<=[deglnqrty]id)|(?<=[deglnqrty][-_ ]id))",),
            "expression",
            needles=(b"id",),
            reach=13,
            starts=_REQUEST_LABELS,
            digit=False,
        ),
    ),
    Noise(
        REQUESTS,
        rf"(?i)\b((?:cf-ray|traceparent|x-amzn-trace-id|x-amz-id-2)\b{_SEPARATOR})[\w./+=;-]+",
        texts("cf-ray", "traceparent", "x-amz"),
    ),
)
NONCE_LABELS = (
    Noise(
        NONCES,
        rf"(?i)\b((?:nonce|csrf[-_ ]?token|boundary)\b{_SEPARATOR})[\w./+=-]+",
        texts("nonce", "csrf", "boundary"),
    ),
)
NAMED = (*FILE_NAMES, *NONCE_LABELS)
WITH_REQUEST_IDS = (*REQUEST_IDS, *NAMED)
LABELLED = (
    Noise(NONCES, r"(?i)\b(at )0x[0-9a-f]{4,}", labels("at 0")),
    Noise(PIDS, rf"(?i)\b((?:p?pid|process[-_ ]id)\b{_SEPARATOR})\d+", labels("pid", "ppid", "process")),
    Noise(
        PIDS,
        r"(?i)\b(process )\d+(?= (?:exited|terminated|was killed|killed|died|crashed|aborted)\b)",
        labels("process 0"),
    ),
    Noise(TIMES, rf"(?m)^([Dd]ate: ){HTTP_DATE}", Hint(_LINES, "line", needles=(b"date: ",))),
    Noise(
        TIMES,
        (
            rf"(?i){_SPENT}((?:time|timestamp|now|as of|current time|"
            rf"(?:checked|started|generated|fetched|received|sent)(?:[ _]?at)?)\b{_SEPARATOR}){_MOMENT}"
        ),
        labels(
            *("time", "timestamp", "now", "as of", "current time"),
            *("checked", "started", "generated", "fetched", "received", "sent"),
        ),
    ),
    Noise(
        DURATIONS,
        (
            rf"(?i){_SPENT}((?:elapsed|duration|took|time|wall(?: time)?|latency|runtime|uptime|waited|running for|"
            rf"(?:timed out|running|gave up|failed|exited|aborted) after)\b(?: time)?{_SEPARATOR}(?:for )?){_SPAN}"
        ),
        labels(
            *("elapsed", "duration", "took", "time", "wall", "latency", "runtime", "uptime", "waited"),
            *("running for", "running after", "timed out after", "gave up after"),
            *("failed after", "exited after", "aborted after"),
        ),
    ),
    Noise(
        DURATIONS,
        rf"(?i){_SPENT}((?:elapsed|duration|latency|uptime)\w*{_SEPARATOR}){_NUMBER}",
        labels("elapsed", "duration", "latency", "uptime"),
    ),
    Noise(DURATIONS, rf"(?i)\b(took[\"']?\s?[:=]\s?){_NUMBER}", labels("took")),
    Noise(
        DURATIONS,
        rf"(?m)^((?:real|user|sys)\s{{1,8}})(?:\d{{1,6}}m)?{_NUMBER}s\b",
        Hint(_LINES, "line", needles=(b"real", b"user", b"sys")),
    ),
    Noise(
        DURATIONS,
        rf"(?i)(){_SPAN}(?= (?:elapsed|passed so far|ago)\b)",
        Hint(
            (" elapsed", " passed so far", " ago"),
            "bare",
            words=frozenset((b"elapsed", b"passed", b"ago")),
            reach=200,
            starts="0",
            back=r"(?:[a-z?]{1,12}\s?[0.,]{1,25}\s?){1,5}|[0.:]{1,20}",
        ),
    ),
    Noise(
        DURATIONS,
        (
            r"(?i)\b((?:passed|failed|failures?|errors?|skipped|warnings?|done|finished|completed|built|ran|compiled|tests?|"
            rf"packages?|modules?|files?|target\(s\)|took)\b[^\n]{{0,40}}?\bin )(?:{_SPAN}|{_NUMBER}s\b)"
        ),
        Hint(
            ("in 0",),
            words=_DONE,
            reach=60,
            starts=r"(?:passed|fail|error|skipped|warning|done|finished|completed|built|ran|compiled|test|package|module|file|target|took)",
        ),
    ),
    Noise(DURATIONS, rf"(\(){_SPAN}(?=\))", Hint(("(0",), "bare", needles=(b"(0",))),
    Noise(
        DURATIONS,
        rf"(\((?:for |after |in )){_SPAN}(?=\))",
        Hint(("(for 0", "(after 0", "(in 0"), "bare", frozenset((b"for", b"after", b"in"))),
    ),
    Noise(DURATIONS, rf"(?m)^((?:ok|FAIL)\s+\S+\s+){_NUMBER}s\b", Hint(_LINES, "line", needles=(b"ok", b"fail"))),
)

FAILED = (
    Noise(
        REQUESTS,
        f"(){_UUID}",
        Hint(("-(?=[0a-f]{4}-[0a-f]{4}-[0a-f]{4}-)",), "expression", needles=(b"-",), offset=-8, digit=False),
    ),
    Noise(REQUESTS, f"(){_ULID}", Hint(("0(?=[0a-z]{25})",), "expression")),
    Noise(
        REQUESTS,
        rf"(?i)\b((?:event|reference|session|host|report)[-_ ]?(?:id|number)\b{_SEPARATOR})[\w./+-]+",
        texts("event", "reference", "session", "host", "report"),
    ),
)
"""What names the occurrence of an error, not its cause."""
STAMPED = (Noise(TIMES, rf"(?m)^([\[(]?){_INSTANT}", Hint((r"(?=[\[(]?(?:0|[a-z]{3},? ))",), "line")),)
"""Log lines of an error or of a command's own run; in what a look brings, such times may be the news."""

CREATED_IDS = (
    Noise(
        CREATED,
        f"(){_UUID}",
        Hint(("-(?=[0a-f]{4}-[0a-f]{4}-[0a-f]{4}-)",), "expression", needles=(b"-",), offset=-8, digit=False),
    ),
    Noise(
        CREATED,
        (
            r"\b((?:(?:[\w-]{1,40}[_-])?(?:[Ii][Dd]|[Uu][Uu][Ii][Dd]|guid|[Nn]umber|receipt)|[A-Za-z]\w*(?:Id|ID))\b"
            rf"{_SEPARATOR}#?){_IDENTIFIER}"
        ),
    ),
    Noise(CREATED, r"(#)\d+"),
    Noise(CREATED, r"()\b[A-Z][A-Z0-9]+-\d+\b"),
    Noise(CREATED, r"(https?://\S{1,200}?/)[\w-]*\d[\w-]*(?=[\s\"')>.,]|$)"),
    Noise(
        CREATED,
        (
            r"(?i)\b((?:ticket|issue|message|order|job|task|comment|post|event|record|booking|entry|item|document|row)\s)"
            r"\d+\b"
        ),
    ),
    Noise(TIMES, f"(){_MOMENT}"),
)
CLOCK_TIMES = (Noise(TIMES, f"(){_MOMENT}"), Noise(TIMES, r"()\b\d{1,2}:\d\d\b"))
