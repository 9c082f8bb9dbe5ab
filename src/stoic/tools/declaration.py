"""A typed function as a tool: its schema, what it declares of its effect, and how its arguments are checked."""

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, NewType, get_args, get_origin, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from stoic.core.commands import ToolFacts
from stoic.core.loops import Effect
from stoic.errors import BrokenInvariantError, ToolDeclarationError
from stoic.records import Json, ToolSchema
from stoic.tools.context import ToolContext

OperationId = NewType("OperationId", str)
"""Annotate a parameter with it and the tool gets its operation's id there, to use as an idempotency key."""

_FIELD = "argument_"
"""Prefix of the model's own field names, so that no parameter can shadow an attribute of the model."""
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
        status: Callable[..., str | Awaitable[str]] | None = None,
        idempotent: bool = False,
        timeout_seconds: float | None = None,
        loop_key: Sequence[str] = (),
        frozen_limit: int | None = None,
    ) -> None:
        """See `tool`."""
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
        self._parameters: list[str] = []
        self._key_parameters: list[str] = []
        self._context_parameters: list[str] = []
        self._model = self._arguments_model(documentation)
        self.schema = ToolSchema(name=self.name, description=self.description, parameters=self._json_schema())
        self.facts = ToolFacts(
            name=self.name,
            effect=self.effect,
            declared=effect is not None,
            loop_key=list(loop_key),
            frozen_limit=frozen_limit,
            check=self.check,
            has_status=status is not None,
            idempotent=idempotent,
            keyed=bool(self._key_parameters),
        )

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    def check(self, arguments: Json) -> str | None:
        """Return None when the arguments fit, else one sentence that names the failing field."""
        if not isinstance(arguments, dict):
            return f"the arguments must be one JSON object, not {type(arguments).__name__}."
        try:
            self._model.model_validate(arguments)
        except ValidationError as error:
            known = ", ".join(self._parameters) or "none"
            return f"{_complaints(error)} Parameters of {self.name}: {known}."
        except Exception as error:  # noqa: BLE001 - a user's validator: whatever it raises, the arguments do not fit
            return f"their validation raised {type(error).__name__}: {error}"
        return None

    def bind(self, arguments: Json, operation: str, context: ToolContext | None = None) -> dict[str, Any]:
        """Return the keyword arguments of one call, converted to the annotated types.

        Args:
            arguments: what the model wrote
            operation: the operation's id
            context: for tools that look at the runtime itself

        Raises:
            pydantic.ValidationError: the arguments do not fit; `check` tells beforehand
            BrokenInvariantError: the tool needs a context and there is none
        """
        if context is None and self._context_parameters:
            raise BrokenInvariantError(f"tool {self.name} looks at the runtime and was called outside one")
        model = self._model.model_validate(arguments)
        bound = {name: getattr(model, _FIELD + name) for name in self._parameters}
        given = dict.fromkeys(self._key_parameters, operation) | dict.fromkeys(self._context_parameters, context)
        return bound | given

    def _arguments_model(self, documentation: str) -> type[BaseModel]:
        described = dict(_argument_texts(documentation))
        try:
            hints = get_type_hints(self.function, include_extras=True)
        except NameError as error:
            raise ToolDeclarationError(f"tool {self.name}: an annotation cannot be resolved ({error})") from error
        fields: dict[str, Any] = {}
        for parameter in inspect.signature(self.function).parameters.values():
            if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
                raise ToolDeclarationError(
                    f"tool {self.name}: parameter {parameter.name!r} cannot be filled by name; models pass arguments by name"
                )
            if parameter.name not in hints:
                raise ToolDeclarationError(f"tool {self.name}: parameter {parameter.name!r} has no type; annotate it")
            annotation = hints[parameter.name]
            if annotation is OperationId:
                self._key_parameters.append(parameter.name)
                continue
            if annotation is ToolContext:
                self._context_parameters.append(parameter.name)
                continue
            default = ... if parameter.default is parameter.empty else parameter.default
            # Given as None, a description would replace the one in the annotation.
            text = None if _has_description(annotation) else described.get(parameter.name)
            described_as: dict[str, Any] = {"description": text} if text else {}
            self._parameters.append(parameter.name)
            field = Field(default, alias=parameter.name, **described_as)
            fields[_FIELD + parameter.name] = (annotation, field)
        try:
            return create_model(self.name, __config__=ConfigDict(extra="forbid"), **fields)
        except Exception as error:
            raise ToolDeclarationError(f"tool {self.name}: pydantic cannot build a schema from it ({error})") from error

    def _json_schema(self) -> dict[str, Json]:
        schema = self._model.model_json_schema()
        schema.pop("title", None)
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
        schema.setdefault("properties", {})
        return schema


def render_result(value: Any) -> str:
    """Return what a model reads of a tool's return value: text as it is, None as nothing, anything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else TypeAdapter(Any).dump_json(value).decode()


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect | None = None,
    status: Callable[..., str | Awaitable[str]] | None = None,
    idempotent: bool = False,
    timeout_seconds: float | None = None,
    loop_key: Sequence[str] = (),
    frozen_limit: int | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(function: Callable[..., Any] | None = None, /, **declared: Any) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Declare a typed function, sync or async, as a tool; its schema comes from its signature and docstring.

    Args:
        function: the function, when used as a bare decorator
        **declared: `name`: as models see it, default the function's. `description`: default the docstring up to its
            first section. `effect`: `read`, `write` (what an undeclared tool counts as), `send`, `exec`, `poll` or `wait`; those that change the
            world (`write`, `send`, `exec`) are journaled and never silently repeated. `status`: a function
            `(operation_id, **arguments)` that answers `done`, `not_done` or `unknown` about an operation whose end was
            lost. `idempotent`: equal calls may be repeated without harm. `timeout_seconds`: default none.
            `loop_key`: paths of the arguments that alone make two calls equal to the loop detector, such as
            `plan.*.status`. `frozen_limit`: of a poll, equal outcomes in a row before it is blocked; default 20.

    Raises:
        ToolDeclarationError: a parameter without type, a name no provider takes, or a type without JSON schema
    """
    if function is not None:
        return Tool(function)

    def declare(undecorated: Callable[..., Any]) -> Tool:
        return Tool(undecorated, **declared)

    return declare


def _summary(documentation: str) -> str:
    return _SECTION.split(documentation, maxsplit=1)[0].strip()


def _argument_texts(documentation: str) -> list[tuple[str, str]]:
    found = re.search(r"^(?:Args|Arguments):\s*$", documentation, re.MULTILINE)
    if not found:
        return []
    following = _SECTION.search(documentation, found.end())
    section = documentation[found.end() : following.start() if following else None]
    return [(name, " ".join(text.split())) for name, text in _ARGUMENT.findall(section)]


def _has_description(annotation: Any) -> bool:
    return get_origin(annotation) is Annotated and any(
        getattr(extra, "description", None) for extra in get_args(annotation)
    )


def _complaints(error: ValidationError) -> str:
    sentences = [
        f"{'.'.join(str(step) for step in detail['loc']) or 'arguments'}: {detail['msg'].lower()}."
        for detail in error.errors(include_url=False, include_input=False)[:5]
    ]
    return " ".join(sentences)
