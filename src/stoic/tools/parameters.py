"""The parameters of a tool: a schema from the function's signature, and how a model's arguments are checked and converted.

The only file about tools that loads pydantic, whose import costs more CPU than all the rest of an agent.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from stoic.errors import BrokenInvariantError, ToolDeclarationError
from stoic.records import Json
from stoic.tools.complaints import complaint, complaints, raised
from stoic.tools.context import OperationId, OperationName, ToolContext

_FIELD = "argument_"
"""Prefix of the model's own field names, so that no parameter can shadow an attribute of the model."""
_IDS: tuple[Any, ...] = (OperationId, OperationName)
_any: TypeAdapter[Any] = TypeAdapter(Any)


class Parameters:
    """The parameters of one tool, fixed when it is declared."""

    def __init__(self, tool: str, function: Callable[..., Any], descriptions: dict[str, str]) -> None:
        """Read a function's signature.

        Args:
            tool: the tool's name
            function: its function
            descriptions: of parameters whose annotation has none

        Raises:
            ToolDeclarationError: a parameter cannot be filled by name, has no type, or one without JSON schema
        """
        self._tool = tool
        self.names: list[str] = []
        """Of the arguments that models give."""
        self.is_keyed = False
        """Whether one of the others takes the operation's id as a key."""
        self._id_names: list[str] = []
        self.context_names: list[str] = []
        """Of those that look at the runtime."""
        self._model = self._arguments_model(function, descriptions)
        self.schema = self._json_schema()

    def check(self, arguments: Json) -> str | None:
        """Return None when the arguments fit, else one sentence that names the failing field."""
        if not isinstance(arguments, dict):
            return f"the arguments must be one JSON object, not {type(arguments).__name__}."
        known = f"Parameters of {self._tool}: {', '.join(self.names) or 'none'}."
        # Before the rest is looked at: there may be a million of them.
        unknown = next((name for name in cast("dict[str, Json]", arguments) if name not in self.names), None)
        if unknown is not None:
            return f"{complaint(unknown, 'extra inputs are not permitted')} {known}"
        try:
            self._model.model_validate(arguments)
        except ValidationError as error:
            return f"{complaints(error, 'arguments')} {known}"
        except Exception as error:  # noqa: BLE001 - a user's validator: whatever it raises, the arguments do not fit
            return f"their {raised(error)}"
        return None

    def convert(self, arguments: Json) -> dict[str, Any]:
        """Return what the model wrote alone, converted to the annotated types.

        Raises:
            pydantic.ValidationError: the arguments do not fit; `check` tells beforehand
        """
        model = self._model.model_validate(arguments)
        return {name: getattr(model, _FIELD + name) for name in self.names}

    def bind(self, arguments: Json, operation: str, context: ToolContext | None) -> dict[str, Any]:
        """Return the keyword arguments of one call, converted to the annotated types.

        Raises:
            pydantic.ValidationError: the arguments do not fit; `check` tells beforehand
            BrokenInvariantError: the tool needs a context and there is none
        """
        if context is None and self.context_names:
            raise BrokenInvariantError(f"tool {self._tool} looks at the runtime and was called outside one")
        filled_in = dict.fromkeys(self._id_names, operation) | dict.fromkeys(self.context_names, context)
        return self.convert(arguments) | filled_in

    def _arguments_model(self, function: Callable[..., Any], descriptions: dict[str, str]) -> type[BaseModel]:
        try:
            hints = get_type_hints(function, include_extras=True)
        except NameError as error:
            raise ToolDeclarationError(f"tool {self._tool}: an annotation cannot be resolved ({error})") from error
        fields: dict[str, Any] = {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
                raise ToolDeclarationError(
                    f"tool {self._tool}: parameter {parameter.name!r} cannot be filled by name; models pass arguments by name"
                )
            if parameter.name not in hints:
                raise ToolDeclarationError(f"tool {self._tool}: parameter {parameter.name!r} has no type; annotate it")
            annotation = hints[parameter.name]
            if annotation in _IDS:
                self._id_names.append(parameter.name)
                self.is_keyed |= annotation is OperationId
                continue
            if annotation is ToolContext:
                self.context_names.append(parameter.name)
                continue
            default = ... if parameter.default is parameter.empty else parameter.default
            # Given as None, a description would replace the one in the annotation.
            text = None if _has_description(annotation) else descriptions.get(parameter.name)
            described_as: dict[str, Any] = {"description": text} if text else {}
            self.names.append(parameter.name)
            field = Field(default, alias=parameter.name, **described_as)
            fields[_FIELD + parameter.name] = (annotation, field)
        try:
            return create_model(self._tool, __config__=ConfigDict(extra="forbid"), **fields)
        except Exception as error:
            raise ToolDeclarationError(
                f"tool {self._tool}: pydantic cannot build a schema from it ({error})"
            ) from error

    def _json_schema(self) -> dict[str, Json]:
        schema = self._model.model_json_schema()
        schema.pop("title", None)
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
        schema.setdefault("properties", {})
        return schema


def dump_json(value: Any) -> str:
    """Return any value that pydantic knows as JSON. Raises pydantic_core.PydanticSerializationError for others."""
    return _any.dump_json(value).decode()


def _has_description(annotation: Any) -> bool:
    return get_origin(annotation) is Annotated and any(
        getattr(extra, "description", None) for extra in get_args(annotation)
    )
