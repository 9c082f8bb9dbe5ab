"""`stoic notices`: what a person was told or is to be told, sending what is due, and a test of the channels."""

import asyncio
import os
from typing import IO

from stoic.cli import exits
from stoic.cli.cleaning import json_text, one_line
from stoic.cli.opening import log_to_list, opened, opened_log
from stoic.cli.screen import Style
from stoic.core.notice import trial
from stoic.errors import ConfigurationError
from stoic.records import Record, StoredNotice
from stoic.runtime.notices import Outbox, Pass
from stoic.settings import read_settings
from stoic.wiring import Runtime, SystemClock

_NEWEST = 20
_ALL = 1_000_000
_STYLES = {"due": "cyan", "sent": "dim", "folded": "dim", "failed": "red"}
_MINUTE_MS = 60_000
_UNITS = ((24 * 60 * _MINUTE_MS, "d"), (60 * _MINUTE_MS, "h"), (_MINUTE_MS, "min"))


class NoticeLine(Record, frozen=True, omit_defaults=False):
    """One notice for programs."""

    key: str
    thread: str
    """Empty: it is of no single thread."""
    kind: str
    priority: str
    text: str
    actions: list[str]
    """What a person can do, as commands."""
    created_at: int
    """Epoch milliseconds."""
    state: str
    """`due`, `sent`, `folded` (a digest has it) or `failed` (given up after four attempts)."""
    attempts: int
    delivered: list[str]
    """The channels that have it."""
    settled_at: int | None
    retry_at: int | None
    error: str | None


def notices(*, every: bool, as_json: bool, stdout: IO[str]) -> int:
    """Print the notices, the newest first.

    Args:
        every: also those that a digest holds, and all that were sent; else the newest 20, and whatever is not sent
        as_json: one JSON object a line
        stdout: where to
    """
    if not log_to_list():
        return exits.COMPLETED
    found = asyncio.run(_read(every=every))
    if as_json:
        for each in found:
            stdout.write(json_text(_line(each)) + "\n")
        return exits.COMPLETED
    style, now_ms = Style(stdout, os.environ), SystemClock().now_ms()
    has_channels = bool(read_settings().notice_channels)
    for each in found:
        _print(each, style, now_ms, stdout, has_channels=has_channels)
    if not found:
        stdout.write("no notices yet\n")
    return exits.COMPLETED


def send(*, stdout: IO[str], stderr: IO[str]) -> int:
    """Send what is due now, the day's surplus as its digest, and what was given up once more.

    Raises:
        ConfigurationError: there is no channel to send to
    """
    if not log_to_list():
        return exits.COMPLETED
    done = asyncio.run(_send())
    stdout.write(f"{_counted(len(done.sent))} sent\n")
    if done.waiting:
        stdout.write(f"{_counted(done.waiting)} left for tomorrow: today's budget is used and its digest is out\n")
    for each in done.failed:
        stderr.write(f"stoic: {one_line(each.notice.key)} was not sent: {one_line(each.error or '')}\n")
    return exits.FAILED_OUTSIDE if done.failed else exits.COMPLETED


def test(*, stdout: IO[str], stderr: IO[str]) -> int:
    """Send a test notice to every channel; nothing is stored.

    Raises:
        ConfigurationError: there is no channel to send to
    """
    said = asyncio.run(_test())
    for name, error in said:
        if error is None:
            stdout.write(f"{one_line(name)}: delivered\n")
        else:
            stderr.write(f"stoic: {one_line(name)}: {one_line(error)}\n")
    return exits.FAILED_OUTSIDE if any(error is not None for _, error in said) else exits.COMPLETED


async def _read(*, every: bool) -> list[StoredNotice]:
    async with opened_log() as store:
        if every:
            return await store.notices(limit=_ALL)
        newest = await store.notices(states=("due", "sent", "failed"), limit=_NEWEST)
        shown = {each.notice.id for each in newest}
        older = await store.notices(states=("due", "failed"), limit=_ALL)
        return [*newest, *(each for each in older if each.notice.id not in shown)]


async def _send() -> Pass:
    runtime = _runtime()
    async with opened(runtime):
        return await _channelled(runtime.outbox).deliver_due(by_hand=True)


async def _test() -> list[tuple[str, str | None]]:
    runtime = _runtime()
    outbox = _channelled(runtime.outbox)
    try:
        return await outbox.try_channels(trial(runtime.clock.now_ms()))
    finally:
        await outbox.close()


def _runtime() -> Runtime:
    return Runtime(settings=read_settings(), delivers_notices=False)


def _channelled(outbox: Outbox) -> Outbox:
    if not outbox.channels:
        raise ConfigurationError(
            "no channel is configured; add [[notices.channels]] to the configuration file (`stoic config` shows where)"
        )
    return outbox


def _line(each: StoredNotice) -> NoticeLine:
    notice = each.notice
    return NoticeLine(
        key=notice.key,
        thread=notice.thread,
        kind=notice.kind,
        priority=notice.priority,
        text=notice.text,
        actions=notice.actions,
        created_at=notice.created_at,
        state=each.state,
        attempts=each.attempts,
        delivered=each.delivered,
        settled_at=each.settled_at,
        retry_at=each.retry_at,
        error=each.error,
    )


def _print(each: StoredNotice, style: Style, now_ms: int, stdout: IO[str], *, has_channels: bool) -> None:
    notice = each.notice
    priority = style(notice.priority, "red" if notice.priority == "critical" else "plain")
    thread = f" · thread {one_line(notice.thread)}" if notice.thread else ""
    said = style(_delivery(each, now_ms, has_channels=has_channels), _STYLES[each.state])
    stdout.write(f"{priority} · {_age(now_ms - notice.created_at)} ago{thread} · {said}\n")
    stdout.write(f"  {one_line(notice.text)}\n")
    for action in notice.actions:
        stdout.write(f"  {style(one_line(action), 'cyan')}\n")


def _delivery(each: StoredNotice, now_ms: int, *, has_channels: bool) -> str:
    """Return what became of a notice's delivery."""
    by = f" by {', '.join(map(one_line, each.delivered))}" if each.delivered else ""
    why = f": {one_line(each.error)}" if each.error else ""
    match each.state:
        case "sent":
            return f"sent{by}"
        case "folded":
            return "in a digest"
        case "failed":
            return f"NOT SENT after {each.attempts} attempts{why}"
        case "due" if not has_channels:
            return "no channel: shown here only"
        case "due":
            wait_ms = 0 if each.retry_at is None else each.retry_at - now_ms
            again = f", tried again in {_age(wait_ms)}" if wait_ms > 0 else ""
            return f"to be sent{again}{why}"


def _age(duration_ms: int) -> str:
    """Return a length of time in its largest whole unit."""
    for unit_ms, name in _UNITS:
        if duration_ms >= unit_ms:
            return f"{duration_ms // unit_ms} {name}"
    return f"{max(0, duration_ms) // 1000} s"


def _counted(count: int) -> str:
    return f"{count} notice{'' if count == 1 else 's'}"
