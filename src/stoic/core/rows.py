"""What a row is to the view: a copy that compaction made stands for the row it was made of."""

from stoic.records import Row


def kind_of(row: Row) -> str:
    """Return the row's kind, of a kept copy its original's."""
    return row.meta["kind"] if row.kind == "kept" else row.kind


def turn_of(row: Row) -> int:
    """Return the number of the turn the row was made in, of a kept copy its original's."""
    return row.meta["turn"] if row.kind == "kept" else row.turn
