"""`stoic scan`: runs the loop detector over recorded traces, or over a thread of the log, and says what it finds."""

from typing import BinaryIO, TextIO

from stoic.cli.cleaning import json_text, one_line
from stoic.cli.exits import COMPLETED, USAGE
from stoic.cli.reading import read_file, read_stream
from stoic.cli.traces import Entry, Trace
from stoic.cli.transcripts import read_transcripts
from stoic.core.loops import Call, LoopDetector, Verdict
from stoic.errors import UsageError
from stoic.records import Record

_STRENGTH = {"ok": 0, "warn": 1, "block": 2}


class Finding(Record, frozen=True, omit_defaults=False):
    """The strongest verdict over a whole trace, at the first place where it shows."""

    id: str
    verdict: str = "none"
    """`none`, `warn` or `block`; of a text loop `block` means that the turn should have stopped."""
    rule: str | None = None
    at_call: int | None = None
    """The 1-based position of the call before which (block) or after which (warning) it shows."""
    message: str = ""


class _Seen(Record, frozen=True):
    """One entry that was counted."""

    position: int
    call: Call | None
    verdict: Verdict


def scan(file: str, *, as_json: bool, stdin: BinaryIO, stdout: TextIO, stderr: TextIO) -> int:
    """Report the loops of every trace in a file.

    Args:
        file: Path of the file; `-` reads stdin.
        as_json: One JSON object a line with `id`, `verdict`, `rule`, `at_call`, `message`, instead of text.
        stdin: Where `-` reads from.
        stdout: Where the report goes.
        stderr: Where the one line about bad input goes.

    Returns:
        0 when the file could be read, whatever was found; 2 when it could not.
    """
    try:
        traces = read_transcripts(_read(file, stdin), file)
    except UsageError as error:
        stderr.write(f"stoic scan: {one_line(str(error))}\n")
        return USAGE
    for trace in traces:
        _write(trace, as_json=as_json, stdout=stdout)
    return COMPLETED


def scan_thread(thread: str, *, as_json: bool, stdout: TextIO) -> int:
    """Report the loops of a stored thread as those of a file; nothing of its results is shown.

    Raises:
        UsageError: There is no such thread, or no log.
        DamagedRowsError: Rows cannot be read; the others were scanned.
    """
    import asyncio

    from stoic.cli.show import read_log
    from stoic.cli.thread_traces import trace_of

    log = asyncio.run(read_log(thread))
    _write(trace_of(log), as_json=as_json, stdout=stdout)
    log.require_whole()
    return COMPLETED


def _write(trace: Trace, *, as_json: bool, stdout: TextIO) -> None:
    finding, concerned = find(trace)
    text = json_text(finding) if as_json else _report(trace, finding, concerned)
    stdout.write(text + "\n")


def find(trace: Trace) -> tuple[Finding, list[int]]:
    """Return a trace's strongest verdict and the positions of the calls (or texts) that it concerns."""
    detector = LoopDetector()
    seen: list[_Seen] = []
    best, concerned = Finding(id=trace.id), list[int]()
    strength = 0
    for entry in trace.entries:
        for verdict in _verdicts(detector, entry, seen):
            if _STRENGTH[verdict.action] > strength:
                strength = _STRENGTH[verdict.action]
                best = Finding(
                    id=trace.id,
                    verdict=verdict.action,
                    rule=verdict.rule,
                    at_call=entry.position,
                    message=verdict.message,
                )
                concerned = _concerned(verdict, entry, seen)
    return best, concerned


def _verdicts(detector: LoopDetector, entry: Entry, seen: list[_Seen]) -> list[Verdict]:
    """Tell the detector of one entry and return what it says."""
    if entry.event is not None:
        detector.event(entry.event)
        return []
    if entry.call is None:
        verdict = detector.said(entry.text or "")
        seen.append(_Seen(position=entry.position, call=None, verdict=verdict))
        return [verdict]
    before = detector.before(entry.call)
    if not entry.answered:
        return [before]
    after = detector.after(entry.call, entry.result, failed=entry.failed)
    seen.append(_Seen(position=entry.position, call=entry.call, verdict=after))
    return [before, after]


def _concerned(verdict: Verdict, entry: Entry, seen: list[_Seen]) -> list[int]:
    """Return the positions that a verdict counted, and that of the entry at which it shows."""
    if verdict.action == "block" and entry.call is not None:
        seen = [one for one in seen if one.position != entry.position]  # the blocked call itself was not counted yet
    found = [one.position for one in seen if _counted(one, verdict, entry, seen[-1])]
    if verdict.rule == "global_breaker" and len(found) < verdict.count:
        found = [one.position for one in seen if one.call is not None and not one.verdict.news]
    return sorted({*found[-verdict.count :], entry.position})


def _counted(one: _Seen, verdict: Verdict, entry: Entry, last: _Seen) -> bool:
    if one.call is None or entry.call is None:
        return one.verdict.key == verdict.key
    if verdict.rule == "unknown_tool":
        return not one.call.known
    if verdict.rule == "no_new_information":
        return not one.verdict.news
    if verdict.rule in {"stagnation", "same_error_varied_args"}:
        return one.call.tool == entry.call.tool and one.verdict.outcome == last.verdict.outcome
    return one.verdict.key == verdict.key


def _report(trace: Trace, finding: Finding, concerned: list[int]) -> str:
    name = one_line(finding.id)
    if finding.rule is None:
        calls = sum(entry.call is not None for entry in trace.entries)
        return f"{name}: no loop in {calls} calls"
    what = "texts" if finding.rule == "text_repeat" else "calls"
    return (
        f"{name}: {finding.verdict} by rule {finding.rule} at {what[:-1]} {finding.at_call}\n"
        f"  {what}: {_ranges(concerned)}\n"
        f"  {finding.message}"
    )


def _ranges(positions: list[int]) -> str:
    """Write sorted numbers with runs joined, such as `1-31` or `3, 5, 7-9`."""
    runs: list[list[int]] = []
    for position in positions:
        if runs and position == runs[-1][-1] + 1:
            runs[-1][1:] = [position]
        else:
            runs.append([position])
    return ", ".join("-".join(str(end) for end in run) for run in runs)


def _read(file: str, stdin: BinaryIO) -> bytes:
    if file == "-":
        return read_stream(stdin, "stdin")
    try:
        return read_file(file)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{file}: cannot be read ({reason}); name a file that exists, or - for stdin") from None
