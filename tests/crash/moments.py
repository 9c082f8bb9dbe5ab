"""The exact moments at which a process of the crash tests stops or ends itself, and the store that knows most of them."""

import os
from pathlib import Path

from stoic.records import Lease, NoticeBudget, Step, StoredNotice
from stoic.store.sqlite import SqliteStore

NOTICE_MOMENTS = ("notice_claimed", "notice_posted")
"""A notice is this process's to send and is not sent · it is sent and that is not stored."""
MOMENTS = ("before_send", "before_start", "in_call", "after_effect", "before_result", "after_outcome", *NOTICE_MOMENTS)
"""A turn's input is stored, its request is not sent · a call is stored as running and has not begun · it has begun · it has taken
effect and not returned · it has returned and its result is not stored · a turn's outcome is stored."""


def tell(*words: str) -> None:
    """Write a line in one piece, so that a kill leaves it whole or absent."""
    os.write(1, (" ".join(words) + "\n").encode())


class Moments:
    """Sends this process a signal when a moment has come for so many times."""

    def __init__(self, moment: str, count: int, number: int) -> None:
        self._moment = moment
        self._left = count
        self._number = number

    def reach(self, moment: str) -> None:
        if moment != self._moment:
            return
        self._left -= 1
        if self._left == 0:
            tell("reached", moment)
            os.kill(os.getpid(), self._number)


class TellingStore(SqliteStore):
    """Tells which rows were acknowledged as stored, and reaches the moments around that."""

    def __init__(self, path: Path | str, moments: Moments) -> None:
        super().__init__(path)
        self._moments = moments

    async def append(self, lease: Lease, step: Step) -> None:
        kinds = {row.kind for row in step.rows}
        if "result" in kinds:
            self._moments.reach("before_result")
        await super().append(lease, step)
        if step.rows:
            tell("commit", *(row.id for row in step.rows))
        if "message" in kinds:
            self._moments.reach("before_send")
        if any(operation.state == "running" for operation in step.operations):
            self._moments.reach("before_start")
        if "outcome" in kinds:
            self._moments.reach("after_outcome")

    async def settle_notice(
        self, known: StoredNotice, now: StoredNotice, *, budget: NoticeBudget | None = None
    ) -> bool:
        is_claim = now.attempts > known.attempts
        if not is_claim:
            self._moments.reach("notice_posted")
        is_settled = await super().settle_notice(known, now, budget=budget)
        if is_claim and is_settled:
            self._moments.reach("notice_claimed")
        return is_settled
