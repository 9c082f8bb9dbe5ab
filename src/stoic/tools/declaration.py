"""A typed function as a tool: its name, its description, and what it declares of its effect."""

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, get_args, overload

from stoic.core.commands import ToolFacts
from stoic.core.loops import Effect
from stoic.errors import ToolDeclarationError
from stoic.records import Json, ToolSchema
from stoic.tools.asking import Answer, StatusFunction, StatusQuestion
from stoic.tools.context import ToolContext

APPROVAL_SECONDS = 86_400
"""How long a call waits for a person's approval."""
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SECTION = re.compile(r"^(Args|Arguments|Returns?|Raises|Yields?|Examples?|Notes?):\s*$", re.MULTILINE)
_ARGUMENT = re.compile(r"^ {4}\*{0,2}(\w+)(?: *\([^)]*\))?: *(.*(?:\n {6,}\S.*)*)", re.MULTILINE)


class Tool:
    """A function offered to models. Its schema is fixed when it is declared."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        effect: Effect | None = None,
        status: StatusFunction | None = None,
        idempotent: bool = False,
        timeout_seconds: float | None = None,
        loop_key: Sequence[str] = (),
        frozen_limit: int | None = None,
        approval: bool = False,
        approval_seconds: int = APPROVAL_SECONDS,
        internal: bool = False,
    ) -> None:
        """See `tool`."""
        from stoic.tools.parameters import Parameters  # noqa: PLC0415 -- loads pydantic, which importing stoic must not

        self.function = function
        self.name = name or function.__name__
        if not _NAME.fullmatch(self.name):
            raise ToolDeclarationError(
                f"tool name {self.name!r}: use 1 to 64 letters, digits, '_' or '-'; pass name=… to @tool"
            )
        if effect is not None and effect not in get_args(Effect):
            raise ToolDeclarationError(f"tool {self.name}: effect {effect!r} is none of {', '.join(get_args(Effect))}")
        self.effect: Effect = effect or "write"
        self.status = status
        self.idempotent = idempotent
        self.timeout_seconds = timeout_seconds
        self.is_async = inspect.iscoroutinefunction(function)
        documentation = inspect.cleandoc(function.__doc__ or "")
        self.description = description or _summary(documentation) or self.name
        self._parameters = Parameters(self.name, function, _argument_texts(documentation))
        names, context_names = self._parameters.names, self._parameters.context_names
        self._question = None if status is None else StatusQuestion(self.name, status, names, context_names)
        self.schema = ToolSchema(name=self.name, description=self.description, parameters=self._parameters.schema)
        self.facts = ToolFacts(
            name=self.name,
            effect=self.effect,
            declared=effect is not None,
            loop_key=list(loop_key),
            frozen_limit=frozen_limit,
            approval_seconds=approval_seconds if approval else None,
            internal=internal,
            check=self._parameters.check,
            has_status=status is not None,
            idempotent=idempotent,
            keyed=self._parameters.is_keyed,
        )

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    def bind(self, arguments: Json, operation: str, context: ToolContext | None = None) -> dict[str, Any]:
        """Return the keyword arguments of one call, converted to the annotated types.

        Args:
            arguments: what the model wrote
            operation: the operation's id
            context: for tools that look at the runtime itself

        Raises:
            pydantic.ValidationError: the arguments do not fit; `facts.check` tells beforehand
            BrokenInvariantError: the tool needs a context and there is none
        """
        return self._parameters.bind(arguments, operation, context)

    async def ask_status(self, arguments: Json, operation: str, context: ToolContext | None = None) -> Answer:
        """Ask the tool's own status function about an operation; whatever it raises goes through.

        Args:
            arguments: what the model wrote; an id that the runtime fills in is not passed on
            operation: the operation's id
            context: for a function that looks at the runtime itself

        Raises:
            pydantic.ValidationError: the arguments do not fit the tool any more
        """
        if self._question is None:
            return Answer(answer="unknown")
        looking = dict.fromkeys(self._question.context_names, context)
        return await self._question.ask(operation, self._parameters.convert(arguments) | looking)


def render_result(value: Any) -> str:
    """Return what a model reads of a tool's return value: text as it is, None as nothing, anything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    from stoic.tools.parameters import dump_json  # noqa: PLC0415 -- as above

    return dump_json(value)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect | None = None,
    status: StatusFunction | None = None,
    idempotent: bool = False,
    timeout_seconds: float | None = None,
    loop_key: Sequence[str] = (),
    frozen_limit: int | None = None,
    approval: bool = False,
    approval_seconds: int = APPROVAL_SECONDS,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(function: Callable[..., Any] | None = None, /, **declared: Any) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Declare a typed function, sync or async, as a tool; its schema comes from its signature and docstring.

    What it returns is shown to the model: text as it is, an `ImagePart` as an image, a list of both as both, anything else as JSON.

    Args:
        function: the function, when used as a bare decorator
        **declared: `name`: as models see it, default the function's. `description`: default the docstring up to its
            first section. `effect`: `read`, `write` (what an undeclared tool counts as), `send`, `exec`, `poll` or `wait`; those that change the
            world (`write`, `send`, `exec`) are journaled and never silently repeated. `status`: a function, sync or async,
            that answers `done`, `not_done` or `unknown` about an operation whose end was lost; it is called with the
            operation's id first and then with the call's arguments by name. `idempotent`: equal calls may be repeated without harm. `timeout_seconds`: default none.
            `loop_key`: paths of the arguments that alone make two calls equal to the loop detector, such as
            `plan.*.status`. `frozen_limit`: of a poll, equal outcomes in a row before it is blocked; default 20. `approval`: a person decides about every call, whatever the
            permissions say, and may change its arguments; the turn is parked meanwhile. `approval_seconds`: nobody's answer
            counts as a denial after so many; default a day.

    Raises:
        ToolDeclarationError: a parameter without type, a name no provider takes, a type without JSON schema, or a `status`
            that does not take what it will be given
    """
    if function is not None:
        return Tool(function)

    def declare(undecorated: Callable[..., Any]) -> Tool:
        return Tool(undecorated, **declared)

    return declare


def _summary(documentation: str) -> str:
    return _SECTION.split(documentation, maxsplit=1)[0].strip()


def _argument_texts(documentation: str) -> dict[str, str]:
    found = re.search(r"^(?:Args|Arguments):\s*$", documentation, re.MULTILINE)
    if not found:
        return {}
    following = _SECTION.search(documentation, found.end())
    section = documentation[found.end() : following.start() if following else None]
    return {name: " ".join(text.split()) for name, text in _ARGUMENT.findall(section)}
