"""How a generation begins: with nothing, or with a summary and copies of the newest rows (SPEC §2, §14)."""

from msgspec.structs import replace

from stoic.core import notes
from stoic.core.history import History
from stoic.core.rows import input_of, kind_of, shown_content, turn_of
from stoic.core.segment import segment_id
from stoic.records import Draft, Json, Row

KEPT_REPLIES = 2
"""So many of the newest turn's replies, with their results, are kept word for word beside its input: most turns are whole."""

_OWN = frozenset({"entry", "fingerprint", "shape"})
"""What a row's meta says of the row itself: it is not true of a copy."""


def boundary_row(
    history: History, kind: str, content: Json, *, meta: dict[str, Json] | None = None, opens: bool = False
) -> Draft:
    """Make a row about a boundary, for people; it stands in whichever turn is the newest.

    Args:
        history: the thread
        kind: of the row
        content: likewise
        meta: likewise
        opens: whether it is the first row of the next generation
    """
    turn, generation = history.turn, history.generation + opens
    return Draft(
        role="system",
        kind=kind,
        content=content,
        generation=generation,
        segment=segment_id(history.thread, generation, 1) if opens else history.segment,
        turn=turn.number if turn else 0,
        round=turn.round if turn else 0,
        meta=meta or {},
    )


def summed_up(history: History, summary: str, meta: dict[str, Json]) -> list[Draft]:
    """Make the first rows of a generation that begins with a summary: what is kept follows it as copies."""
    first = boundary_row(history, "compaction", {"text": notes.summary(summary)}, meta=meta, opens=True)
    unaccepted = {row.seq for row in history.increment}
    copies = [_copy(row, first, accepted=row.seq not in unaccepted) for row in kept_rows(history)]
    return [replace(first, role="user", visible=True), *copies]


def has_beginning(history: History) -> bool:
    """Tell whether there is anything to sum up beside what is kept."""
    shown = history.turn.shown if history.turn else []
    return history.past + len(shown) > len(kept_rows(history))


def kept_rows(history: History) -> list[Row]:
    """Return what is kept word for word: the newest turn's input, and its newest replies with all that came after them.

    Before them stands what came from outside in earlier turns and was never answered.
    """
    shown = history.turn.shown if history.turn else []
    of_turn = {row.seq for row in shown}
    unanswered = [row for row in history.increment if row.seq not in of_turn and kind_of(row) in {"message", "event"}]
    replies = [index for index, row in enumerate(shown) if kind_of(row) == "reply"]
    if len(replies) <= KEPT_REPLIES:
        return [*unanswered, *shown]
    opening = input_of(shown)
    return [*unanswered, *([] if opening is None else [opening]), *shown[replies[-KEPT_REPLIES] :]]


def _copy(row: Row, first: Draft, *, accepted: bool) -> Draft:
    """Return a row's copy in the next generation; it changes what is seen, never where the turn stands."""
    meta = {name: value for name, value in row.meta.items() if name not in _OWN}
    origin = {"kind": kind_of(row), "turn": turn_of(row), "of": row.meta.get("of", row.seq)}
    return Draft(
        role=row.role,  # pyright: ignore[reportArgumentType] - a role of a row
        kind="kept",
        content=shown_content(row),
        view=row.view,
        generation=first.generation,
        segment=first.segment,
        turn=first.turn,
        round=row.round,
        visible=True,
        accepted=accepted,
        meta=meta | origin,
    )
