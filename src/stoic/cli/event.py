"""`stoic event`: says that a credential or a setting of a provider was changed, and wakes what waits for that (SPEC §7, §15)."""

import asyncio
import sys
from contextlib import suppress
from typing import IO

from stoic.cli import exits
from stoic.cli.cleaning import one_line
from stoic.cli.names import near
from stoic.cli.opening import absent_log, opened_log
from stoic.core.failures import Axis
from stoic.core.health import retry_now
from stoic.errors import NoSuchThreadError, UsageError
from stoic.models.providers import PROVIDERS
from stoic.ports import Store, parts_of
from stoic.records import InboxEntry, Record
from stoic.settings import read_settings
from stoic.wiring import RandomIds, SystemClock

KINDS = (str(Axis.CREDENTIAL), str(Axis.CONFIG))
"""What a route or a turn can wait for that somebody outside changes."""


class _Done(Record, frozen=True):
    """What an event did."""

    opened: list[str]
    """Models, as `PROVIDER:NAME`."""
    woken: list[str]
    """Threads."""


def tell_event(kind: str, provider: str, *, stdout: IO[str]) -> int:
    """Let the next requests to a provider through whose routes wait for such an event, and wake turns parked for it.

    Raises:
        UsageError: no such kind of event, or no such provider
    """
    if kind not in KINDS:
        close = near(kind, list(KINDS))
        hint = f"did you mean {close[0]}?" if close else f"write {' or '.join(KINDS)}"
        raise UsageError(f"there is no event {kind!r}; {hint}")
    settings = read_settings()
    if settings.entry(provider) is None:
        close = near(provider, [*settings.providers, *PROVIDERS])
        hint = f"did you mean {' or '.join(close)}?" if close else "`stoic config` lists those there are"
        raise UsageError(f"there is no provider {provider!r}; {hint}")
    absent = absent_log(settings)
    if absent is not None:
        print(f"stoic: {one_line(absent)}", file=sys.stderr)
    done = _Done(opened=[], woken=[]) if absent is not None else asyncio.run(_tell(kind, provider))
    for model in done.opened:
        stdout.write(f"{one_line(model)}: the next request is a trial\n")
    for thread in done.woken:
        stdout.write(f"{one_line(thread)} is woken; `stoic up` goes on with it\n")
    if not done.opened and not done.woken:
        stdout.write(f"nothing waits for the {kind} of {one_line(provider)}; nothing is changed\n")
    return exits.COMPLETED


async def _tell(kind: str, provider: str) -> _Done:
    async with opened_log() as store:
        opened: list[str] = []
        for each in await store.health():
            model = parts_of(each.route)[0]
            if model.partition(":")[0] == provider and each.state == "open" and each.waits_for == kind:
                await store.put_health(retry_now(each))
                opened.append(model)
        return _Done(opened=opened, woken=await wake(store, f"{kind} {provider}"))


async def wake(store: Store, event: str) -> list[str]:
    """Wake the turns that are parked for an event such as `credential openai`; return their threads."""
    woken: list[str] = []
    for record in await store.parked():
        if event not in str(record.parked.get("event", "")).split(", "):
            continue
        entry = InboxEntry(
            id=RandomIds().new(), thread=record.id, kind="wake", content={}, created_at=SystemClock().now_ms()
        )
        with suppress(NoSuchThreadError):  # deleted meanwhile
            await store.put(entry)
            woken.append(record.id)
    return woken
