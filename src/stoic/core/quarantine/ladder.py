"""The ladder: which rows of a refused increment are withheld before each of its few re-sends (SPEC §9)."""

from collections.abc import Sequence

from stoic.core.images import images_of
from stoic.core.quarantine.forms import (
    Change,
    RefusedBy,
    Renderers,
    Replacement,
    body_of,
    is_external,
    is_withheld,
    withhold,
    withhold_images,
)
from stoic.core.rows import kind_of, turn_of
from stoic.records import Record, Row, ViewChange

STEPS = 3
"""(1) one row, (2) the newer half, (3) all in their barest form: with the first send at most four sends a round."""


class Withholding(Record, frozen=True):
    """One step of a ladder, which changes what a model sees in every case; what earlier steps withheld stays so."""

    number: int
    """1 to 3."""
    views: list[ViewChange]
    replacements: list[Replacement]
    """To be appended in this order, in the transaction of the views."""
    withheld: list[int]
    """The rows that hold the bodies this step withholds: of a replaced event the original."""


def next_step(
    rows: Sequence[Row], by: RefusedBy, *, done: int = 0, pointed: int | None = None, renderers: Renderers
) -> Withholding | None:
    """Return the next step that changes anything; None: the ladder is exhausted.

    Args:
        rows: the increment with its present views; only what came from outside is withheld
        by: whose verdict
        done: the number of the round's last step; 0: none yet
        pointed: the seq of the row the provider points at; one that is not external or already withheld does not count
        renderers: by kind of event; the last step does without
    """
    external = sorted(filter(is_external, rows), key=_place)
    for number in range(done + 1, STEPS + 1):
        changes = _changes(number, external, by, pointed, renderers)
        if changes:
            return Withholding(
                number=number,
                views=[change.view for change in changes],
                replacements=[change.replacement for change in changes if change.replacement is not None],
                withheld=[change.body for change in changes],
            )
    return None


def _changes(
    number: int, external: list[Row], by: RefusedBy, pointed: int | None, renderers: Renderers
) -> list[Change]:
    match number:
        case 1:
            one = _one(external, pointed)
            if one is not None and images_of(one):
                return [withhold_images(one, by)]
            meant, how = [] if one is None else [one], renderers
        case 2:
            meant, how = external[-max(2, (len(external) + 1) // 2) :], renderers
        case _:
            meant, how = external, None
    return [change for row in meant if (change := withhold(row, by, how)) is not None]


def _one(external: list[Row], pointed: int | None) -> Row | None:
    """Return the row that is pointed at, else the newest that a model still reads."""
    readable = [row for row in external if not is_withheld(row)]
    return next((row for row in readable if row.seq == pointed), readable[-1] if readable else None)


def _place(row: Row) -> tuple[int, ...]:
    """Return where a row stands in the view: the results of the newest reply's calls in their order, then events.

    No other results are unaccepted. A replacement counts where its event stood.
    """
    if kind_of(row) == "event":
        return 1, body_of(row)
    return 0, turn_of(row), row.round, row.content["call"]
