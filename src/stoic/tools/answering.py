"""The type an agent answers with: its schema, how an answer is checked, and the value made of it (pydantic)."""

import re
from typing import Any

from pydantic import TypeAdapter, ValidationError

from stoic.core.output import OutputFacts
from stoic.errors import ToolDeclarationError
from stoic.records import Json
from stoic.tools.complaints import complaints, raised

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]+")
_NAME_CHARACTERS = 64
_any: TypeAdapter[Any] = TypeAdapter(Any)


class OutputType:
    """A pydantic model, or any type pydantic can check, as the type of an agent's answers."""

    def __init__(self, answer_type: Any) -> None:
        """Take the type.

        Raises:
            ToolDeclarationError: pydantic has no schema for it
        """
        name = getattr(answer_type, "__name__", None) or str(answer_type)
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(answer_type)
            schema: Json = self._adapter.json_schema()
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise ToolDeclarationError(f"output {name}: pydantic cannot build a schema from it ({reason})") from error
        self.facts = OutputFacts(
            name=_NOT_IN_NAMES.sub("_", name).strip("_")[:_NAME_CHARACTERS] or "answer",
            schema=schema,
            check=self._check,
        )

    def parse(self, text: str) -> Any:
        """Return the value that a JSON text means.

        Raises:
            pydantic.ValidationError: it does not fit; `facts.check` tells beforehand
        """
        return self._adapter.validate_json(text)

    def revive(self, value: Json) -> Any:
        """Return the value that a stored outcome's plain JSON means. Raises pydantic.ValidationError."""
        return self._adapter.validate_json(_any.dump_json(value))

    def _check(self, text: str) -> str | None:
        try:
            self._adapter.validate_json(text)
        except ValidationError as error:
            return complaints(error, "answer")
        except Exception as error:  # noqa: BLE001 - a user's validator: whatever it raises, the answer does not fit
            return f"its {raised(error)}."
        return None
