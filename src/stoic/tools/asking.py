"""A tool's `status` function: what it must take, and how it is asked about one operation."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from stoic.core.quarantine.template import field
from stoic.errors import ToolDeclarationError
from stoic.records import Record
from stoic.tools.callbacks import call, misfit

StatusFunction = Callable[..., str | Awaitable[str]]
ANSWERS = ("done", "not_done", "unknown")
_ID = "operation_id"


class Answer(Record, frozen=True):
    """What a status function said."""

    answer: str
    """One of the three."""
    trouble: str | None = None
    """What was wrong with how it answered; then the answer is `unknown`."""


class StatusQuestion:
    """Knows how to ask one status function; that it can be asked is certain since the tool was declared."""

    def __init__(
        self, tool: str, function: StatusFunction, names: Sequence[str], context_names: Sequence[str] = ()
    ) -> None:
        """Look at what the function takes.

        Args:
            tool: the tool's name
            function: called with the operation's id first, then with the call's arguments by name
            names: of the arguments that models give the tool
            context_names: of the tool's parameters that take a context; the function may have them too

        Raises:
            ToolDeclarationError: it does not take that
        """
        self._function = function
        own = _parameters_of(function)
        self.context_names = [name for name in context_names if name in own]
        named = dict.fromkeys([*names, *self.context_names])
        by_place = misfit(function, None, **named)
        by_name = "its own argument" if _ID in named else misfit(function, **{_ID: None}, **named)
        if by_place is not None and by_name is not None:
            example = ", ".join(["operation", *names])
            raise ToolDeclarationError(
                f"tool {tool}: its status function must take the operation's id and then the call's arguments by name, "
                f"like `def status({example})` or `def status(operation, **arguments)`; yours does not ({by_place})"
            )
        # Wherever one stands that is called so, the id is meant for it.
        self._is_named = by_name is None and (by_place is not None or _ID in own)

    async def ask(self, operation: str, arguments: dict[str, Any]) -> Answer:
        """Ask about an operation; whatever the function raises goes through."""
        if self._is_named:
            said = await call(self._function, **{_ID: operation}, **arguments)
        else:
            said = await call(self._function, operation, **arguments)
        if isinstance(said, str) and said in ANSWERS:
            return Answer(answer=said)
        word = field(said) if isinstance(said, str) else f"a {type(said).__name__}"
        return Answer(answer="unknown", trouble=f"answered {word} instead of done, not_done or unknown")


def _parameters_of(function: StatusFunction) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # no function, or one that tells nobody what it takes
        return set()
