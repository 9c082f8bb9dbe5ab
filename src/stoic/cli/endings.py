"""Which exit code a turn's ending has (the table is in `stoic.cli.exits`)."""

from stoic.cli import exits
from stoic.core.commands import Ending
from stoic.core.failures import DEFAULT_AXIS, Axis, FailureClass
from stoic.records import Outcome, Parked

_BY_OUTCOME = {"completed": exits.COMPLETED, "cancelled": exits.CANCELLED, "stopped": exits.STOPPED}
_REQUEST_AXES = frozenset({Axis.REQUEST_CHANGE, Axis.COMPACTION})
_AXES = {str(failure): axis for failure, axis in DEFAULT_AXIS.items()}


def exit_code(ending: Ending) -> int:
    """Return the exit code of a turn's ending; a failure without a known class counts as one from outside."""
    if isinstance(ending, Parked):
        return exits.PARKED
    if ending.refused:
        return exits.REFUSED
    if ending.outcome != "failed":
        return _BY_OUTCOME[ending.outcome]
    if ending.failure_class == FailureClass.INTERNAL:
        return exits.BUG
    return exits.FAILED_BY_REQUEST if _axis(ending) in _REQUEST_AXES else exits.FAILED_OUTSIDE


def _axis(ending: Outcome) -> str | None:
    """Return what the failure recovers with: what its evidence said, else its class's default."""
    return ending.recovers_with or _AXES.get(ending.failure_class or "")
