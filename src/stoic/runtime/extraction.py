"""Memories made of a turn that has ended: of what models were shown and accepted, never of what is withheld (SPEC §14)."""

import asyncio
import logging
from collections.abc import Sequence

from msgspec.structs import replace

from stoic.core.quarantine import is_withheld
from stoic.core.replay import messages
from stoic.core.rows import kind_of, turn_of
from stoic.ports import Outside
from stoic.records import Memory, Record, Row
from stoic.runtime.agents import Extractor
from stoic.runtime.summaries import record_of
from stoic.tools.callbacks import call
from stoic.tools.memories import LIMIT_CHARACTERS, RECALL, keep

MOST_A_TURN = 20
EXTRACTION_SECONDS = 120
"""The turn's lease is kept meanwhile."""
WITHHELD = "(withheld)"
"""Stands for whatever no model may read any more."""
RECALLED = "(memories that are kept already)"
_log = logging.getLogger(__name__)
_SHOWN = frozenset({"message", "event", "grant", "reply", "result"})


class Extracted(Record, frozen=True):
    """What became of a turn."""

    stored: int = 0
    """How many memories are new."""
    error: str | None = None
    """The type of what the extractor raised."""


async def extract(
    outside: Outside, thread: str, turn: int, extractor: Extractor, *, scope: str, after_seq: int = 0
) -> Extracted:
    """Have memories made of a turn and store them; done again after a crash, it stores none of them twice.

    Nothing is made of a turn that is still open, nor of a thread that ended by refusal.

    Args:
        outside: the log, and the time
        thread: whose turn
        turn: its number
        extractor: asked once, with the turn's text
        scope: whose the memories are
        after_seq: the turn's rows come after this one; reading only those saves time

    Raises:
        StoreError: the log cannot be read or written
    """
    loaded = await outside.store.load(thread, after_seq=after_seq)
    text = turn_text(loaded.rows, turn)
    if not text or loaded.thread.is_stopped:
        return Extracted()
    try:
        async with asyncio.timeout(EXTRACTION_SECONDS):
            found = _texts(await call(extractor, text))
    except Exception as error:  # noqa: BLE001 - a user's function; what it raises may quote the text
        _log.warning("no memories of turn %d of thread %s: the extractor raised %s", turn, thread, type(error).__name__)
        return Extracted(error=type(error).__name__)
    stored = 0
    for index, each in enumerate([each for each in found if each][:MOST_A_TURN]):
        memory = Memory(
            id=f"turn:{thread}.{turn}.{index}",
            scope=scope,
            thread=thread,
            text=each,
            created_at=outside.clock.now_ms(),
        )
        stored += await keep(outside.store, memory)
    return Extracted(stored=stored)


def _texts(found: Sequence[str] | None) -> list[str]:
    """Return memories without what stands around them, and not too long; of nothing none."""
    if isinstance(found, str):
        raise TypeError("the extractor returned one text instead of a list of texts")
    return [each.strip()[:LIMIT_CHARACTERS] for each in found or ()]


def turn_text(rows: Sequence[Row], turn: int) -> str:
    """Return a turn as text, made of accepted rows' views: what no model has accepted may yet be withheld.

    Args:
        rows: those of the turn, and maybe others of the thread
        turn: its number

    Returns:
        Empty: the turn has not ended, or brought nothing.
    """
    if not any(row.kind == "outcome" and row.turn == turn for row in rows):
        return ""
    return record_of(messages([_told(row) for row in rows if turn_of(row) == turn and _counts(row)]))


def _counts(row: Row) -> bool:
    return row.accepted and row.visible and row.quarantine != "excluded" and kind_of(row) in _SHOWN


def _told(row: Row) -> Row:
    """Return the row with a short note as its view where a model may not read it, or where it tells what is kept already."""
    if kind_of(row) not in {"event", "result"}:
        return row
    if row.quarantine is not None or is_withheld(row):
        return replace(row, view={"text": WITHHELD})
    if row.content.get("tool") == RECALL:
        return replace(row, view={"text": RECALLED})
    return row
