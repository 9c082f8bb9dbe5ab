"""`stoic spent`: what work has taken, by day and thread, and how much of the bounds that is."""

import asyncio
import os
from typing import IO

from stoic.cli import exits
from stoic.cli.cleaning import json_text, one_line
from stoic.cli.opening import log_to_list, opened_log
from stoic.cli.screen import Style
from stoic.cli.wording import budget_said, cost_said
from stoic.core.budget import uses
from stoic.moments import date_of
from stoic.records import DAY_MS, Record, Spending, Spent
from stoic.settings import read_settings
from stoic.wiring import SystemClock

_DELETED = "(deleted threads)"


class SpentRow(Record, frozen=True, omit_defaults=False):
    """What a thread with the tasks below it has taken on one day."""

    day: str
    """Of UTC, as `2026-03-04`."""
    thread: str | None
    """None: threads that were deleted since."""
    rounds: int
    tokens: int
    """Input and output together, of all sends, failed ones included."""
    cost_usd: float
    """By list prices, of the sends whose price is known."""
    duration_ms: int
    """Working time: what parked turns waited does not count."""


def spent(*, days: int, thread: str | None, as_json: bool, stdout: IO[str]) -> int:
    """Print what was taken on the last days, today included, the newest first; as JSON, one object a line.

    Raises:
        ConfigurationError: the bounds of the file cannot be read
    """
    settings = read_settings()
    if not log_to_list():
        return exits.COMPLETED
    now_ms = SystemClock().now_ms()
    today_ms = now_ms - now_ms % DAY_MS
    found = asyncio.run(_read(thread, today_ms - (days - 1) * DAY_MS))
    if as_json:
        for each in found:
            stdout.write(json_text(_row(each)) + "\n")
        return exits.COMPLETED
    style = Style(stdout, os.environ)
    for each in found:
        row = _row(each)
        name = one_line(row.thread) if row.thread is not None else _DELETED
        stdout.write(f"{row.day}  {_figures(each.spent)}  {style(name, 'bold')}\n")
    if not found:
        stdout.write(f"nothing was spent in {days} day{'' if days == 1 else 's'}\n")
    if len(found) > 1:
        total = sum((each.spent for each in found), Spent())
        stdout.write(f"{'together':10}  {_figures(total)}\n")
    if thread is None:
        today = sum((each.spent for each in found if each.day_ms == today_ms), Spent())
        for use in uses("day", settings.per_day, today):
            stdout.write(style(budget_said(use), "red" if use.is_full else "yellow" if use.is_near else "plain") + "\n")
    return exits.COMPLETED


async def _read(thread: str | None, since_ms: int) -> list[Spending]:
    async with opened_log() as store:
        return await store.spending(root=thread, since_ms=since_ms)


def _row(found: Spending) -> SpentRow:
    return SpentRow(
        day=f"{date_of(found.day_ms):%Y-%m-%d}",
        thread=found.root or None,
        rounds=found.spent.rounds,
        tokens=found.spent.tokens,
        cost_usd=round(found.spent.cost_usd, 6),
        duration_ms=found.spent.duration_ms,
    )


def _figures(spent: Spent) -> str:
    cost = cost_said(spent.cost_usd) if spent.cost_usd else "no price"
    return f"{spent.rounds:>6,} rounds  {spent.tokens:>11,} tokens  {cost:>10}  {spent.duration_ms / 1000:>8,.0f} s"
