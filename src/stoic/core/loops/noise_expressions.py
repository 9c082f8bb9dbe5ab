"""The expressions of what changes in a text without meaning anything: what their first group matches is masked.

Most are written for flat texts (`searching.flatten`): small letters, and `0` for every digit. Every repetition in them is
bounded or anchored, since a hostile result must not cost quadratic time, and none matches across `searching.BARRIER`.
"""

from stoic.core.loops.noises import CREATED, DURATIONS, FILES, NONCES, PIDS, REQUESTS, TIMES
from stoic.core.loops.searching import MONTHS, WEEKDAYS, Noise

_SEPARATOR = r"(?:[:=][\"']?(?=\w)| (?=\d)|[\"']?[^\S\n]*(?:>(?!\s*<)|(?:[:=]\s*|\bis\b[^\S\n]*)?[\"'<]?))"
"""What parts a label from its value, which is on the same line, unless a colon or the like says that it is to come.

The first two ways are ones of the third, for speed.
"""
_CLOSE = rf"(?>{_SEPARATOR})"
"""The same before a value that starts with a digit, or the name of a day or month: there is but one way to part these."""
_NUMBER = r"00{0,11}+(?:[.,]0{1,12}+)?"
_UNITS = (
    "s|ms|m|h|d|us|ns|sec|secs|second|seconds|min|mins|minute|minutes|hr|hrs|hour|hours|day|days"
    "|msec|msecs|millisecond|milliseconds|microsecond|microseconds"
)
"""The most frequent first; none may be followed by a letter, so the order says nothing else."""
_UNIT = rf"\s?(?:{_UNITS})(?![a-z])"
_SPAN = rf"(?:{_NUMBER}{_UNIT}(?:(?! ?0)|(?: ?{_NUMBER}{_UNIT}){{0,4}})|00{{0,3}}:00(?::00)?(?:\.0{{1,9}})?)"
"""Mostly one number with a unit, which a look ahead tells faster than an attempt to read more."""
_UNIT_MIRRORED = rf"(?<![a-z])(?:{'|'.join([unit[::-1] for unit in _UNITS.split('|')])})\s?"
_NUMBER_MIRRORED = r"(?:\d{1,12}[.,])?\d{1,12}"
_SPAN_MIRRORED = (
    rf"(?:{_UNIT_MIRRORED}{_NUMBER_MIRRORED}(?: ?{_UNIT_MIRRORED}{_NUMBER_MIRRORED}){{0,4}}"
    r"|(?:\d{1,9}\.)?(?:\d\d:)?\d\d:\d{1,4})"
)
_AHEAD = ("remaining ", "estimated ", "expected ")
"""What lies ahead is progress when it shrinks."""
_MONTH = rf"(?:{'|'.join(MONTHS)})"
_WEEKDAY = rf"(?:{'|'.join(WEEKDAYS)})"
_CLOCK = "00:00:00"
_DAY = rf"00? {_MONTH} 0000 {_CLOCK}(?: (?:gmt|utc|[+-]0000))?"
HTTP_DATE = rf"(?:{_WEEKDAY}, )?{_DAY}"
_ISO = r"0000[-/]00[-/]00[t ]00:00(?::00)?(?:[.,]0{1,9})?(?: ?(?:z|utc|[+-]00:?00))?"
_NAMED_DATE = (
    rf"(?:{_DAY}|{_WEEKDAY}, {_DAY}|(?:{_WEEKDAY} )?{_MONTH} {{1,2}}00? {_CLOCK}(?: [a-z]{{3,4}}\b)?(?: 0000)?"
    rf"|00/{_MONTH}/0000:{_CLOCK}(?: [+-]0000)?)"
)
_INSTANT = rf"(?:{_ISO}|{_NAMED_DATE})"
_EPOCH = r"0000000000(?:000)?(?:\.0{1,9})?\b"
_MOMENT = rf"(?!00?:00(?!:))(?:{_INSTANT}|0000-00-00|00?:00:00(?:[.,]0{{1,9}})?|{_EPOCH})"
"""The look ahead rules out at once what has no seconds, as clock times of a table."""
_NO_MOMENT = r"(?!1)\d{10}"
"""Of ten or thirteen digits only those that begin with 1 are a moment of our time."""
_IDENTIFIER = r"(?=[\w./+-]*\d)[\w./+-]+"
_UUID = r"-(?<=[\da-f]{8}-)(?<!\w[\da-f]{8}-)[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b"
"""A UUID from its first hyphen on, which is found fast."""
_UUID_LEAD = 8
_RANDOM_FILE = r"(?:tmp[\w.-]+|[A-Za-z]{1,20}[-_.](?=[a-z]{0,40}\d)(?=\d{0,40}[a-z])[a-z0-9]{8,40}\b[\w.-]*)"


def _ids(*labels: str) -> str:
    """Return an expression of an id after one of some labels; it starts with `id`, which is found fast."""
    last = "".join({label[-1] for label in labels})
    labelled = [rf"(?<=\b{label}{gap}id)" for label in labels for gap in ("[-_ ]", "")]
    return rf"id\b(?<=[{last}_ -]id)(?:{'|'.join(labelled)}){_SEPARATOR}([\w./+-]+)"


FILE_NAMES = (
    Noise(FILES, rf"(/tmp/{_RANDOM_FILE})", needles=("/tmp/",), cased=True),  # noqa: S108  # what is looked for, not opened
    Noise(FILES, rf"(/var/folders/\w{{1,4}}/\w{{1,40}}/T/{_RANDOM_FILE})", needles=("/var/folders/",), cased=True),
    Noise(
        FILES,
        rf"\\(?<=[A-Za-z]:\\)(?i:[\w .\\~-]{{1,120}}\\Temp\\){_RANDOM_FILE}",
        needles=("\\",),
        lead=2,
        cased=True,
    ),
    Noise(FILES, r"(pytest-of-(?<!\wpytest-of-)[\w-]+/pytest-\d+)", needles=("pytest-of-",), initial=True, cased=True),
)

REQUEST_IDS = (
    Noise(
        REQUESTS,
        _ids(
            *("request", "req", "trace", "span", "correlation", "invocation", "incident", "ray", "activity", "error"),
            *("log", "support"),
        ),
        needles=("id",),
    ),
    Noise(REQUESTS, r"([\w./+=;-]+)", ("cf-ray", "traceparent"), rf"\b{_SEPARATOR}"),
    Noise(REQUESTS, r"([\w./+=;-]+)", ("x-amz",), rf"(?:n-trace-id|-id-\d)\b{_SEPARATOR}"),
)
NONCE_LABELS = (
    Noise(NONCES, r"([\w./+=-]+)", ("nonce", "boundary"), rf"\b{_SEPARATOR}"),
    Noise(NONCES, r"([\w./+=-]+)", ("csrf",), rf"[-_ ]?token\b{_SEPARATOR}"),
)
NAMED = (*FILE_NAMES, *NONCE_LABELS)
WITH_REQUEST_IDS = (*REQUEST_IDS, *NAMED)
LABELLED = (
    Noise(NONCES, r"(0x[0a-f]{4,})", ("at",), " ", needles=("at 0x",), unlike=r"(?!0)"),
    Noise(PIDS, r"(\d+)", ("pid", "ppid"), rf"\b{_CLOSE}", near=True),
    Noise(PIDS, r"(\d+)", ("process",), rf"[-_ ]id\b{_CLOSE}", near=True),
    Noise(
        PIDS,
        r"(\d+)(?= (?:exited|terminated|was killed|killed|died|crashed|aborted)\b)",
        ("process",),
        " ",
        near=True,
    ),
    Noise(TIMES, f"({HTTP_DATE})", between=r"\ndate: ", needles=("\ndate: ",), near=True),
    Noise(
        TIMES,
        f"({_MOMENT})",
        ("time", "timestamp", "now", "as of"),
        rf"\b{_CLOSE}",
        near=True,
        unlike=_NO_MOMENT,
        never_after=_AHEAD,
    ),
    Noise(
        TIMES,
        f"({_MOMENT})",
        ("checked", "started", "generated", "fetched", "received", "sent"),
        rf"(?:[ _]?at)?\b{_CLOSE}",
        near=True,
        unlike=_NO_MOMENT,
        never_after=_AHEAD,
    ),
    Noise(
        DURATIONS,
        f"({_SPAN})",
        (
            *("elapsed", "duration", "time", "wall", "latency", "runtime", "uptime", "waited", "running for"),
            *("timed out after", "running after", "gave up after", "failed after", "exited after", "aborted after"),
        ),
        rf"\b(?: time)?{_CLOSE}(?:for )?",
        near=True,
        never_after=_AHEAD,
    ),
    Noise(
        DURATIONS,
        rf"({_SPAN}|(?<=[:=]){_NUMBER}|(?<=[:=] ){_NUMBER})",
        ("took",),
        rf"\b(?: time)?{_CLOSE}(?:for )?",
        near=True,
    ),
    Noise(
        DURATIONS,
        f"({_NUMBER})",
        ("elapsed", "duration", "latency", "uptime"),
        rf"(?:\w{{0,20}}\b{_CLOSE}|[a-z_]{{0,20}})",
        near=True,
        wordy=True,
        never_after=_AHEAD,
    ),
    Noise(
        DURATIONS,
        (
            r"\n(?:(?:real|user|sys)[^\S\n]{1,8}|(?:ok|fail)[^\S\n]+\S+[^\S\n]+)"
            rf"((?:\d{{1,6}}m)?{_NUMBER}s\b)"
        ),
        needles=("0s",),
        lines=("\nreal", "\nuser", "\nsys", "\nok", "\nfail"),
    ),
    Noise(
        DURATIONS,
        f"({_SPAN_MIRRORED})",
        tuple(label[::-1] for label in ("elapsed", "passed so far", "ago")),
        " ",
        mirrored=True,
    ),
    Noise(
        DURATIONS,
        rf"({_SPAN}|{_NUMBER}s\b)",
        ("in",),
        " ",
        needles=("in 0",),
        after=(
            *("passed", "failed", "failure", "failures", "error", "errors", "skipped", "warning", "warnings", "done"),
            *("finished", "completed", "built", "ran", "compiled", "test", "tests", "package", "packages", "module"),
            *("modules", "file", "files", "took"),
        ),
    ),
    Noise(DURATIONS, rf"\(({_SPAN})\)", needles=("(0",)),
    Noise(DURATIONS, rf"\((?:for |after |in )({_SPAN})\)", needles=("(for 0", "(after 0", "(in 0")),
)

FAILED = (
    Noise(REQUESTS, _UUID, needles=("-",), lead=_UUID_LEAD),
    Noise(
        REQUESTS,
        r"(0[0-9A-HJKMNP-TV-Z]{25}(?<=0[0-9].{24})(?<!\w.{26})\b)",
        needles=("00",),
        cased=True,
        unlike=r"0[89]",
    ),
    Noise(
        REQUESTS,
        r"([\w./+-]+)",
        ("event", "reference", "session", "host", "report"),
        rf"[-_ ]?(?:id|number)\b{_SEPARATOR}",
    ),
)
"""What names the occurrence of an error, not its cause; a UUID, a ULID, or labelled so."""
STAMPED = (Noise(TIMES, rf"\n[\[(]?({_INSTANT})", needles=("0:00",)),)
"""Log lines of an error or of a command's own run; in what a look brings, such times may be the news."""

MOMENTS = (
    # Of a date with a month's name only what follows that: the day of the week stays, and a day before it.
    Noise(
        TIMES,
        rf"(00? {_CLOCK}(?: [a-z]{{3,4}}\b)?(?: 0000)?|0000[ :]{_CLOCK}(?: (?:gmt|utc|[+-]0000))?)",
        MONTHS,
        "[ /]{1,2}",
        near=True,
    ),
    Noise(TIMES, f"({_ISO}|0000-00-00)", needles=("0-00-00", "0/00/00")),
    Noise(TIMES, r":00:00(?<=00:00:00)(?:[.,]0{1,9})?", needles=(":00:00",), lead=2),
    Noise(TIMES, r":00:00(?<=0:00:00)(?:[.,]0{1,9})?", needles=(":00:00",), lead=1),
    Noise(TIMES, rf"\b({_EPOCH})", needles=("0" * 10,), unlike=_NO_MOMENT),
)
CREATED_IDS = (
    Noise(CREATED, _UUID, needles=("-",), lead=_UUID_LEAD),
    *[
        Noise(CREATED, rf"{label}(?<![^\W_]{label})\b{_SEPARATOR}#?({_IDENTIFIER})", needles=(label,), initial=True)
        for label in ("id", "uuid", "guid", "number", "receipt")
    ],
    Noise(CREATED, rf"I[dD]\b(?<=\wI[dD]){_SEPARATOR}#?({_IDENTIFIER})", needles=("id",), cased=True),
    Noise(CREATED, r"#(\d+)", needles=("#0",)),
    Noise(
        CREATED,
        r"-(?:(?<=[A-Z0-9][A-Z]-)|(?<=[A-Z][0-9]-)|(?<=[A-Z][0-9][0-9]-))(\d+)\b",
        needles=("-0",),
        cased=True,
    ),
    Noise(
        CREATED,
        r"https?://\S{1,200}?/([\w-]{0,99}\d[\w-]{0,99})(?=[\s\"')>.,]|\Z)",
        needles=("://",),
        cased=True,
    ),
    Noise(
        CREATED,
        r"(\d+\b)",
        (
            *("ticket", "issue", "message", "order", "job", "task", "comment", "post", "event", "record", "booking"),
            *("entry", "item", "document", "row"),
        ),
        r"\s",
        near=True,
    ),
    *MOMENTS,
)
CLOCK_TIMES = (
    *MOMENTS,
    Noise(TIMES, r"\b(\d{1,2}:\d\d)\b", needles=("0:00",)),
)
