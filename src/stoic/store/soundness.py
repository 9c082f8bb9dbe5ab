"""Holds what was read against the shapes that whoever reads it expects, and tells what is damaged."""

from pathlib import Path

from stoic.errors import StoreError
from stoic.ports import DamagedRowsError, Loaded, Shapes
from stoic.records import InboxEntry, StoredDelivery, ThreadRecord
from stoic.store.encoding import DAMAGED, DamagedValueError, stand_in
from stoic.store.sqlite_errors import damage_text


class Soundness:
    """Each method returns what it is given, if that is sound."""

    def __init__(self, path: Path, shapes: Shapes | None) -> None:
        """Remember what is expected.

        Args:
            path: the database file
            shapes: of its values; None: any JSON is sound
        """
        self._path = path
        self._shapes = shapes

    def loaded(self, loaded: Loaded) -> Loaded:
        """Look at a thread as it was read. Raises DamagedRowsError, DamagedValueError."""
        self.threads([loaded.thread])
        self.entries(loaded.inbox)
        rows, shapes = loaded.rows, self._shapes
        if shapes is not None:
            for position, row in enumerate(rows):
                misfit = None if row.kind == DAMAGED else shapes.misfit_of_row(row)
                if misfit is not None:
                    rows[position] = stand_in(row, misfit)
        damaged = [row for row in rows if row.kind == DAMAGED]
        if not damaged:
            return loaded
        first, more = damaged[0], f"; and {len(damaged) - 1} more" if len(damaged) > 1 else ""
        what = f"thread {first.thread}, row {first.seq} ({first.content['kind']}), {first.content['misfit']}{more}"
        raise DamagedRowsError(damage_text(str(self._path), what), loaded)

    def threads(self, threads: list[ThreadRecord]) -> list[ThreadRecord]:
        """Look at the facts of threads. Raises DamagedValueError."""
        if self._shapes is not None:
            for each in threads:
                _require(self._shapes.misfit_of_thread(each), f"thread {each.id}")
        return threads

    def entries(self, entries: list[InboxEntry]) -> list[InboxEntry]:
        """Look at inbox entries. Raises DamagedValueError."""
        if self._shapes is not None:
            for each in entries:
                _require(self._shapes.misfit_of_entry(each), _place(each))
        return entries

    def deliveries(self, deliveries: list[StoredDelivery]) -> list[StoredDelivery]:
        """Look at deliveries. Raises DamagedValueError."""
        if self._shapes is not None:
            for each in deliveries:
                _require(self._shapes.misfit_of_delivery(each), f"delivery {each.delivery.id}")
        return deliveries

    def check_new(self, thread: ThreadRecord | None, entry: InboxEntry | None) -> None:
        """Look at what is to be stored: nobody could read it later. Raises StoreError."""
        misfit, place = None, ""
        if self._shapes is not None and thread is not None:
            misfit, place = self._shapes.misfit_of_thread(thread), f"thread {thread.id}"
        if self._shapes is not None and misfit is None and entry is not None:
            misfit, place = self._shapes.misfit_of_entry(entry), _place(entry)
        if misfit is not None:
            raise StoreError(f"{place}, {misfit}; nothing was stored")


def _place(entry: InboxEntry) -> str:
    return f"thread {entry.thread}, inbox entry {entry.id} ({entry.kind})"


def _require(misfit: str | None, place: str) -> None:
    if misfit is not None:
        raise DamagedValueError(f"{place}, {misfit}")
