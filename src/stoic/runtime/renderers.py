"""How events of a kind are told with less while the whole is withheld: functions that users register (SPEC §9)."""

from collections.abc import Callable
from typing import Any, TypeVar

from stoic.errors import UsageError
from stoic.tools.callbacks import is_async, misfit

Renderer = TypeVar("Renderer", bound=Callable[[Any], str])

EVENT_RENDERERS: dict[str, Callable[[Any], str]] = {}
"""By kind of event; filled by `renderer`."""


def renderer(kind: str) -> Callable[[Renderer], Renderer]:
    """Register a function that tells an event of a kind with less, from its payload.

    It is used when a provider refused the request that held the event: what it returns is shown to the model instead of
    the event, so it answers for its own output. One that raises, or returns no text, is passed over for a neutral text.

    Args:
        kind: as in `Thread.post`

    Raises:
        UsageError: the kind has a renderer already, or the function is async or cannot be called with a payload alone
    """

    def register(function: Renderer) -> Renderer:
        why = "it is async" if is_async(function) else misfit(function, None)
        if why is not None:
            raise UsageError(
                f"the renderer of events of kind {kind!r} must be a sync function of one argument, the payload; yours is not "
                f"({why})"
            )
        known = EVENT_RENDERERS.setdefault(kind, function)
        if known is not function:
            raise UsageError(f"events of kind {kind!r} have a renderer already; register one function a kind")
        return function

    return register
