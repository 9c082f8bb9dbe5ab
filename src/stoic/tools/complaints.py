"""Says to a model what of its JSON does not fit a type: a few short sentences, however much of it there is (pydantic)."""

from pydantic import ValidationError

_MOST = 5
_PLACE_CHARACTERS = 120
_REASON_CHARACTERS = 300


def complaints(error: ValidationError, whole: str) -> str:
    """Return one sentence for each of the first faults.

    Args:
        error: what pydantic found
        whole: what the value is called where all of it is at fault
    """
    details = error.errors(include_url=False, include_input=False, include_context=False)[:_MOST]
    return " ".join(complaint(".".join(map(str, detail["loc"])) or whole, detail["msg"]) for detail in details)


def complaint(place: str, reason: str) -> str:
    """Return one sentence."""
    return f"{_cut(place, _PLACE_CHARACTERS)}: {_cut(reason.lower(), _REASON_CHARACTERS)}."


def raised(error: Exception) -> str:
    """Say what a user's validator raised that is no complaint about the value."""
    return f"validation raised {type(error).__name__}: {_cut(str(error), _REASON_CHARACTERS)}"


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1] + "…"
