"""Masks in a text what changes without meaning anything: labelled times, durations, process ids, request ids, nonces."""

from itertools import islice

from stoic.core.loops.noises import CREATED, DURATIONS, FILES, NONCES, PIDS, REQUESTS, TIMES
from stoic.core.loops.observation import Nature
from stoic.core.loops.words import pattern

_MASKED_CHARACTERS = 100_000
"""Of a longer text only this much at the start and at the end is searched for noise; all of it is hashed."""
_ENVELOPES = 16
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
_TOKEN = r"(?=[A-Za-z]{0,40}\d)[0-9A-Za-z]{6,64}"  # noqa: S105  # the shape of a nonce, no secret

_ENVELOPE = r"</+[\w-]+\s+(\w+)=[\"']([^\"'<>]{4,})[\"']\s*>"
"""A closing tag with an attribute: markup never has one, only a host's envelope with a nonce does."""
_NONCE_TAG = rf"</([A-Za-z][A-Za-z_-]{{0,40}}[-_])({_TOKEN})\s*>"
_FENCE = rf"[<\[{{=#*~-]{{2,20}}[A-Za-z _:-]{{0,60}}?(?<![0-9A-Za-z])({_TOKEN})\s?[>\]}}=#*~-]{{2,}}"
"""A line that only marks where foreign content starts or ends, under a name made up for this once."""

_CUT = r"(?i)\b(?:too (?:large|long|big)|truncated|exceed(?:s|ed))\b"
_KEPT = r"(?i)\b(?:saved|written|stored|spilled|dumped|see)\b"
_FULL = r"(?i)\bfull (?:text|output|result|log)\b"
_PATH = r"(?:[A-Za-z]:)?[/\\][^\s'\"<>()]+"
"""A host's stub says on one line that the output was cut and where all of it is kept, in a file of this call alone."""
_RANDOM_FILE = r"(?:tmp[\w.-]+|[A-Za-z]{1,20}[-_.](?=[a-z]{0,40}\d)(?=\d{0,40}[a-z])[a-z0-9]{8,40}\b[\w.-]*)"

_FILE_TEXTS = (
    (
        FILES,
        rf"(?:/tmp/|/var/folders/\w{{1,4}}/\w{{1,40}}/T/|(?i:[a-z]:\\[\w .\\~-]{{1,120}}\\Temp\\)){_RANDOM_FILE}",
        "?",
    ),
    (FILES, r"\bpytest-of-[\w-]+/pytest-\d+", "?"),
)
_REQUEST_TEXTS = (
    (
        REQUESTS,
        (
            r"(?i)\b((?:request|req|trace|span|correlation|invocation|incident|ray|activity|error|log|support)"
            rf"[-_ ]?id\b{_SEPARATOR})[\w./+-]+"
        ),
        r"\1?",
    ),
    (REQUESTS, rf"(?i)\b((?:cf-ray|traceparent|x-amzn-trace-id|x-amz-id-2)\b{_SEPARATOR})[\w./+=;-]+", r"\1?"),
)
_TEXTS: tuple[tuple[int, str, str], ...] = (
    *_FILE_TEXTS,
    (NONCES, rf"(?i)\b((?:nonce|csrf[-_ ]?token|boundary)\b{_SEPARATOR})[\w./+=-]+", r"\1?"),
    (NONCES, r"(?i)\b(at )0x[0-9a-f]{4,}", r"\1?"),
    (PIDS, rf"(?i)\b((?:p?pid|process[-_ ]id)\b{_SEPARATOR})\d+", r"\1?"),
    (PIDS, r"(?i)\b(process )\d+(?= (?:exited|terminated|was killed|killed|died|crashed|aborted)\b)", r"\1?"),
    (TIMES, rf"(?m)^([Dd]ate: ){HTTP_DATE}", r"\1?"),
    (
        TIMES,
        (
            rf"(?i){_SPENT}((?:time|timestamp|now|as of|current time|"
            rf"(?:checked|started|generated|fetched|received|sent)(?:[ _]?at)?)\b{_SEPARATOR}){_MOMENT}"
        ),
        r"\1?",
    ),
    (
        DURATIONS,
        (
            rf"(?i){_SPENT}((?:elapsed|duration|took|time|wall(?: time)?|latency|runtime|uptime|waited|running for|"
            rf"(?:timed out|running|gave up|failed|exited|aborted) after)\b(?: time)?{_SEPARATOR}(?:for )?){_SPAN}"
        ),
        r"\1?",
    ),
    (DURATIONS, rf"(?i){_SPENT}((?:elapsed|duration|latency|uptime)\w*{_SEPARATOR}){_NUMBER}", r"\1?"),
    (DURATIONS, rf"(?i)\b(took[\"']?\s?[:=]\s?){_NUMBER}", r"\1?"),
    (DURATIONS, rf"(?m)^((?:real|user|sys)\s{{1,8}})(?:\d{{1,6}}m)?{_NUMBER}s\b", r"\1?"),
    (DURATIONS, rf"(?i){_SPAN}(?= (?:elapsed|passed so far|ago)\b)", "?"),
    (
        DURATIONS,
        (
            r"(?i)\b((?:passed|failed|failures?|errors?|skipped|warnings?|done|finished|completed|built|ran|compiled|tests?|"
            rf"packages?|modules?|files?|target\(s\)|took)\b[^\n]{{0,40}}?\bin )(?:{_SPAN}|{_NUMBER}s\b)"
        ),
        r"\1?",
    ),
    (DURATIONS, rf"\((for |after |in )?{_SPAN}\)", r"(\1?)"),
    (DURATIONS, rf"(?m)^((?:ok|FAIL)\s+\S+\s+){_NUMBER}s\b", r"\1?"),
)

_FAILED_TEXTS: tuple[tuple[int, str, str], ...] = (
    (REQUESTS, _UUID, "?"),
    (REQUESTS, _ULID, "?"),
    (
        REQUESTS,
        rf"(?i)\b((?:event|reference|session|host|report)[-_ ]?(?:id|number)\b{_SEPARATOR})[\w./+-]+",
        r"\1?",
    ),
)
"""What names the occurrence of an error, not its cause."""
_STAMPED_TEXTS = ((TIMES, rf"(?m)^([\[(]?){_INSTANT}", r"\1?"),)
"""Log lines of an error or of a command's own run; in what a look brings, such times may be the news."""

_CREATED_TEXTS: tuple[tuple[int, str, str], ...] = (
    (CREATED, _UUID, "?"),
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
_CLOCK_TEXTS = ((TIMES, _MOMENT, "?"), (TIMES, r"\b\d{1,2}:\d\d\b", "?"))


def mask_text(text: str, kind: Nature, *, failed: bool) -> tuple[str, int]:
    """Mask the noise in a text.

    Args:
        text: What a tool returned, or a text within it.
        kind: The call's nature; ids are noise where it creates, moments where it reads the clock.
        failed: Whether the tool reported an error; ids and dates of the occurrence are noise then.

    Returns:
        The text, and which kinds of noise it held, as bits of `noises.NOISES`.
    """
    if len(text) > 2 * _MASKED_CHARACTERS:
        head, noise = mask_text(text[:_MASKED_CHARACTERS], kind, failed=failed)
        tail, more = mask_text(text[-_MASKED_CHARACTERS:], kind, failed=failed)
        return head + text[_MASKED_CHARACTERS:-_MASKED_CHARACTERS] + tail, noise | more
    text = pattern(r"\x1b\[[0-9;?]*[A-Za-z]").sub("", text).replace("\r\n", "\n")
    text, noise = _unfenced(text)
    if pattern(_CUT).search(text) or pattern(_FULL).search(text):
        lines = [_stub(line) for line in text.split("\n")]
        text = "\n".join(line for line, _ in lines)
        noise |= FILES if any(found for _, found in lines) else 0
    for bits, expression, replacement in _masks(kind, failed=failed):
        text, count = pattern(expression).subn(replacement, text)
        noise |= bits if count else 0
    return text.strip(), noise


def _masks(kind: Nature, *, failed: bool) -> tuple[tuple[int, str, str], ...]:
    return (
        *(() if kind.traced else _REQUEST_TEXTS),
        *_TEXTS,
        *(_FAILED_TEXTS if failed else ()),
        *(_STAMPED_TEXTS if failed or (kind.effect == "exec" and kind.doing != "read") else ()),
        *(_CREATED_TEXTS if kind.creates else ()),
        *(_CLOCK_TEXTS if kind.clock else ()),
    )


def _unfenced(text: str) -> tuple[str, int]:
    """Mask the nonces of a host's envelope around foreign content."""
    before = text
    for found in islice(pattern(_ENVELOPE).finditer(before), _ENVELOPES):
        text = text.replace(f'{found[1]}="{found[2]}"', f"{found[1]}=?")
    for found in islice(pattern(_NONCE_TAG).finditer(before), _ENVELOPES):
        text = text.replace(found[1] + found[2], f"{found[1]}?")
    lines = before.strip().split("\n")
    first, last = pattern(_FENCE).fullmatch(lines[0].strip()), pattern(_FENCE).fullmatch(lines[-1].strip())
    if first and last and len(lines) > 1 and first[1] == last[1]:
        text = text.replace(first[1], "?")
    return text, 0 if text == before else NONCES


def _stub(line: str) -> tuple[str, bool]:
    """Mask the file that a line names as the place of the whole output, and tell whether it names one."""
    cut = pattern(_CUT).search(line)
    kept = (pattern(_KEPT).search(line, cut.end()) if cut else None) or pattern(_FULL).search(line)
    if kept is None:
        return line, False
    rest, count = pattern(_PATH).subn("?", line[kept.end() :])
    return line[: kept.end()] + rest, count > 0
