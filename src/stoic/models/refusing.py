"""The one way in which a parameter is refused: what, for which model, and what to do."""

from collections.abc import Sequence

from stoic.errors import UsageError


def cannot(provider: str, model: str, what: str, remedy: str) -> UsageError:
    """Return the error for something a model does not take.

    Args:
        provider: its name
        model: the model's name
        what: goes on the sentence that begins with the model, such as `takes no temperature`
        remedy: what to do
    """
    return UsageError(f"{provider}:{model} {what}; {remedy}")


def require_effort(provider: str, model: str, effort: str, known: Sequence[str]) -> None:
    """Check that an effort is one of those a model takes.

    Raises:
        UsageError: it is not
    """
    if effort not in known:
        what = f"takes the reasoning_effort {', '.join(known)}, not {effort}" if known else "takes no reasoning_effort"
        raise cannot(provider, model, what, "choose one of these, or leave it out" if known else "leave it out")
