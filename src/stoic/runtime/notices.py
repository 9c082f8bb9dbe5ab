"""The outbox: takes notices that are due to the channels, at least once each, and never more a day than the budget says."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

from msgspec.structs import replace

from stoic.core.notice import Outgoing, digest, is_counted, plan
from stoic.core.notice_forms import BUDGET_PER_DAY
from stoic.errors import StoreError
from stoic.ports import Channel, Outside
from stoic.records import DAY_MS, Notice, NoticeBudget, Record, StoredNotice

RETRY_WAITS_MS = (60_000, 300_000, 1_800_000)
"""After the first, second and third attempt that failed; after the fourth the notice is given up and says so."""
CLAIM_MS = 60_000
"""A process that took a notice and was not heard of again for so long has died: another one sends it."""
DELIVERY_SECONDS = 30.0
"""Longest duration of one delivery to one channel; shorter than a claim."""

_log = logging.getLogger(__name__)


class Pass(Record, frozen=True):
    """What one look at the outbox has done."""

    sent: list[Notice] = []
    failed: list[StoredNotice] = []
    """Not with every channel yet: to be tried again, or given up."""
    waiting: int = 0
    """Left for a later day's budget or digest."""
    next_at_ms: int | None = None
    """When there is something to do again, if nothing new comes."""


class Outbox:
    """Delivers from the store; any number of processes may do so at the same time."""

    def __init__(
        self,
        outside: Outside,
        channels: Sequence[Channel] = (),
        budget_per_day: int = BUDGET_PER_DAY,
        *,
        delivery_seconds: float = DELIVERY_SECONDS,
    ) -> None:
        """Prepare.

        Args:
            outside: the store and the time
            channels: where every notice goes, each with a name of its own; none: notices stay due until there are some
            budget_per_day: how many normal notices go out one by one on a day of UTC
            delivery_seconds: longest duration of one delivery to one channel
        """
        self._outside = outside
        self.channels = list(channels)
        self.budget_per_day = budget_per_day
        self._delivery_seconds = delivery_seconds
        self._lock = asyncio.Lock()

    @property
    def is_busy(self) -> bool:
        """Whether notices are being sent now."""
        return self._lock.locked()

    async def close(self) -> None:
        """Close the channels."""
        for channel in self.channels:
            await channel.close()

    async def deliver_due(self, terminal: Channel | None = None, *, by_hand: bool = False) -> Pass:
        """Send what is due now.

        Args:
            terminal: one more channel, for this time; where there is no other, what it takes is delivered with it
            by_hand: whether a person asks: the day's surplus goes out as its digest, and what was given up is tried again

        Raises:
            StoreError: the log cannot be read or written; what was sent by then may be sent once more
        """
        async with self._lock:
            states = ("due", "failed") if by_hand else ("due",)
            due = (await self._outside.store.notices(states=states))[::-1]
            channels = [*self.channels, *([terminal] if terminal else [])]
            due = [each for each in due if any(channel.takes(each.notice) for channel in channels)]
            return await self._send_all(due, channels, fold_now=by_hand) if due else Pass()

    async def run(self) -> None:
        """Deliver until cancelled or the store is closed: whatever comes, and whatever becomes due by the clock."""
        changes = self._outside.store.changes()
        change = asyncio.ensure_future(_changed(changes))
        try:
            while True:
                await self._wait(change, await self.attend())
                if change.done():
                    if not change.result():
                        return
                    change = asyncio.ensure_future(_changed(changes))
        finally:
            change.cancel()

    async def end(self, running: "asyncio.Task[None]") -> None:
        """End a task that runs `run` between two notices: one that has arrived is known to have before everything closes."""
        async with self._lock:
            running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    async def attend(self) -> int | None:
        """Send what is due where nobody can be told that the log fails; return when there is something to do again."""
        try:
            return (await self.deliver_due()).next_at_ms
        except StoreError as error:
            _log.warning("notices not delivered: %s", error)
            return self._outside.clock.now_ms() + RETRY_WAITS_MS[0]

    async def try_channels(self, notice: Notice) -> list[tuple[str, str | None]]:
        """Send one notice to every channel, past the store; return each channel's name and what went wrong."""
        said = await asyncio.gather(*(self._deliver(channel, notice) for channel in self.channels))
        return [(channel.name, error) for channel, error in zip(self.channels, said, strict=True)]

    async def _wait(self, change: "asyncio.Future[bool]", until_ms: int | None) -> None:
        """Return when something changed, or when the time has come."""
        clock = self._outside.clock
        waits: list[asyncio.Future[Any]] = [change]
        if until_ms is not None:
            waits.append(asyncio.ensure_future(clock.sleep_until(until_ms)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for sleep in waits[1:]:
                sleep.cancel()

    async def _send_all(self, due: list[StoredNotice], channels: list[Channel], *, fold_now: bool) -> Pass:
        """Send what the budget has room for, and the digest of what it has not."""
        now_ms = self._outside.clock.now_ms()
        outgoing = await self._planned(due, now_ms, fold_now=fold_now)
        sent, failed, down = list[Notice](), list[StoredNotice](), set[str]()
        for known in outgoing.send:
            after = await self._send(known, channels, down)
            if after is not None and after.state == "sent":
                sent.append(after.notice)
            elif after is not None:
                failed.append(after)
        later = [each.retry_at for each in [*due, *failed] if each.retry_at is not None and each.retry_at > now_ms]
        if outgoing.wait:
            later.append(now_ms - now_ms % DAY_MS + DAY_MS)
        if down:
            later.append(now_ms + RETRY_WAITS_MS[0])
        return Pass(sent=sent, failed=failed, waiting=len(outgoing.wait), next_at_ms=min(later, default=None))

    async def _planned(self, due: list[StoredNotice], now_ms: int, *, fold_now: bool) -> Outgoing:
        """Return what goes where, with the digest stored and due if one was made."""
        store, budget = self._outside.store, self.budget_per_day
        used = await store.notices_used(now_ms - now_ms % DAY_MS)
        # Only a terminal: it shows what its own thread has to say, and a digest is of no thread.
        outgoing = plan(due, used, budget, now_ms, digested=not self.channels, fold_now=fold_now)
        if not outgoing.fold:
            return outgoing
        made = replace(digest(outgoing.fold, budget, now_ms), id=self._outside.ids.new(), created_at=now_ms)
        if await store.put_notice(made, folds=outgoing.fold):
            return replace(outgoing, send=[*outgoing.send, StoredNotice(notice=made)])
        return plan(due, used, budget, now_ms, digested=True)

    async def _send(self, known: StoredNotice, channels: list[Channel], down: set[str]) -> StoredNotice | None:
        """Take one notice to the channels that do not have it; None: another process has it, or nothing could be tried.

        Args:
            known: as the store has it
            channels: all there are
            down: names of channels that have failed in this pass already, which are not tried again in it
        """
        takers = [each for each in channels if each.takes(known.notice) and each.name not in known.delivered]
        tried = [each for each in takers if each.name not in down]
        if takers and not tried:
            return None
        claimed = await self._claim(known)
        if claimed is None:
            return None
        said = await asyncio.gather(*(self._deliver(channel, known.notice) for channel in tried))
        errors = {channel.name: error for channel, error in zip(tried, said, strict=True) if error is not None}
        down.update(errors)
        missing = [f"{each.name}: {errors.get(each.name, 'failed before')}" for each in takers if each.name in down]
        delivered = [*known.delivered, *(each.name for each in tried if each.name not in errors)]
        after = _settled(replace(claimed, delivered=delivered), missing, self._outside.clock.now_ms())
        return after if await self._outside.store.settle_notice(claimed, after) else None

    async def _deliver(self, channel: Channel, notice: Notice) -> str | None:
        """Deliver to one channel within bounds; return what went wrong."""
        try:
            async with asyncio.timeout(self._delivery_seconds):
                return await channel.deliver(notice)
        except TimeoutError:
            return f"no answer within {self._delivery_seconds:g} s"
        except Exception as error:  # noqa: BLE001 - a channel may be anybody's code: what it raises is recorded with the notice
            return f"the channel raised {type(error).__name__}"

    async def _claim(self, known: StoredNotice) -> StoredNotice | None:
        """Take a notice for this process; None: another one was faster, or has used what was left of the budget."""
        now_ms = self._outside.clock.now_ms()
        claim = replace(known, state="due", attempts=known.attempts + 1, retry_at=now_ms + CLAIM_MS)
        budget = NoticeBudget(most=self.budget_per_day, since_ms=now_ms - now_ms % DAY_MS)
        taken = await self._outside.store.settle_notice(known, claim, budget=budget if is_counted(known) else None)
        return claim if taken else None


def _settled(claimed: StoredNotice, missing: list[str], now_ms: int) -> StoredNotice:
    """Return what a notice has come to after an attempt; `missing`: each channel without it, and why."""
    if not missing:
        return replace(claimed, state="sent", settled_at=now_ms, retry_at=None, error=None)
    error = "; ".join(missing)
    if claimed.attempts > len(RETRY_WAITS_MS):
        return replace(claimed, state="failed", settled_at=now_ms, retry_at=None, error=error)
    return replace(claimed, retry_at=now_ms + RETRY_WAITS_MS[claimed.attempts - 1], error=error)


async def _changed(changes: AsyncIterator[None]) -> bool:
    """Return when the store has changed; False: it was closed."""
    async for _ in changes:
        return True
    return False
