"""Makes the parts of the reference that the code knows: commands, events. Run it after a change; a test compares.

A page holds such a part between `<!-- made: NAME -->` and `<!-- /made -->`. Usage: `python scripts/build_reference.py`
"""

import ast
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import typer

from stoic import events
from stoic.cli.app import app

DOCS = Path(__file__).parents[1] / "docs"
_PART = re.compile(r"(<!-- made: (?P<name>[a-z ]+) -->\n).*?(<!-- /made -->)", re.DOTALL)


def main() -> None:
    """Write every page that has such a part anew."""
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (renewed := filled(text)) != text:
            page.write_text(renewed, encoding="utf-8")
            print(f"{page.relative_to(DOCS)} was renewed")


def filled(text: str) -> str:
    """Return a page with each made part as it is to be."""
    return _PART.sub(lambda found: f"{found[1]}\n{PARTS[found['name']]()}\n{found[3]}", text)


# ---- commands


def commands() -> str:
    """Return every command with its arguments and options."""
    sections = [_section(path, command) for path, command in walk()]
    return "\n".join(section for section in sections if section)


@cache
def walk() -> list[tuple[str, Any]]:
    """Return every command with its path, in the order of the help."""
    return list(_below("stoic", typer.main.get_command(app)))


def _below(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from _below(f"{path} {name}", below)


@cache
def _agent_s() -> dict[str, Any]:
    """Return the options that describe the agent, by name: those of `stoic chat`."""
    return {each.opts[0]: each for path, command in walk() if path == "stoic chat" for each in command.params}


def _is_shared(parameter: Any) -> bool:
    same = _agent_s().get(parameter.opts[0])
    return same is not None and same.help == parameter.help


def _said(parameter: Any) -> bool:
    return parameter.param_type_name == "option"


def agent_options() -> str:
    """Return the options of every command that makes an agent."""
    return _table(list(_agent_s().values()))


def _section(path: str, command: Any) -> str:
    named = " ".join(_argument(each) for each in command.params if not _said(each))
    below = getattr(command, "commands", None)
    usage = f"{path} {named}".rstrip() + (" COMMAND" if below else "")
    lines = [f"{'###' if path.count(' ') > 1 else '##'} `{path}`" if path != "stoic" else "## `stoic`", ""]
    if usage != path and not below:
        lines += [f"`{usage}`", ""]
    lines += [command.help.strip(), ""]
    own = [each for each in command.params if not _is_shared(each)]
    if own:
        lines += [_table(own)]
    common = [f"`{each.opts[0]}`" for each in command.params if _is_shared(each)]
    if common:
        what = "all" if len(common) == len(_agent_s()) else ", ".join(common)
        lines += [f"Also {what} of the [options of the agent](#options-of-the-agent).", ""]
    return "\n".join(lines)


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required else f"[{name}]"


def _table(parameters: list[Any]) -> str:
    rows = [f"| {_named(each)} | {_cell(each.help or '')}{_default(each)} |" for each in parameters]
    return "\n".join(["| | |", "|---|---|", *rows]) + "\n"


def _named(parameter: Any) -> str:
    if not _said(parameter):
        return f"`{_cell(_argument(parameter))}`"
    metavar = "" if parameter.is_flag else f" {_metavar(parameter)}"
    return f"`{', '.join(parameter.opts)}{_cell(metavar)}`"


def _metavar(parameter: Any) -> str:
    default = parameter.default
    return parameter.metavar or ("|".join(type(default)) if isinstance(default, StrEnum) else parameter.name.upper())


def _default(parameter: Any) -> str:
    default, stated = parameter.default, getattr(parameter, "show_default", None)
    if isinstance(stated, str):
        return f" Default: {stated}."
    if not _said(parameter) or parameter.is_flag or default is None or "Default:" in (parameter.help or ""):
        return ""
    return f" Default: `{getattr(default, 'value', default)}`."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


# ---- events

COMMON = {
    "attempt": "Which send of the round, from 1 on.",
    "model": "Its name, without the provider.",
    "operation": "The call's id.",
    "provider": "As in `PROVIDER:NAME`.",
    "round": "Number of the round in its turn, from 1 on.",
    "thread": "The thread's id.",
    "tool": "The tool's name.",
    "turn": "Number of the turn in its thread, from 1 on.",
}
"""What a field of that name is wherever nothing else is said."""


def happenings() -> str:
    """Return every event of a turn with its fields."""
    kinds = typing.get_args(events.Happening)
    return "\n".join(
        f"### `{kind.__struct_config__.tag}`\n\n{inspect.getdoc(kind)}\n\n{_fields(kind)}" for kind in kinds
    )


def usage_figures() -> str:
    """Return the fields of the usage in the last event."""
    return _fields(events.UsageFigures)


def _fields(kind: type[msgspec.Struct]) -> str:
    said = attribute_texts(kind)
    rows = [
        f"| `{each.encode_name}` | {_cell(type_said(each.type))} | {_meaning(kind, each, said)} |"
        for each in msgspec.structs.fields(kind)
    ]
    return "\n".join(["| field | type | |", "|---|---|---|", *rows]) + "\n"


def _meaning(kind: type, field: Any, said: dict[str, str]) -> str:
    text = said.get(field.name) or COMMON.get(field.name)
    if text is None:
        raise ValueError(f"{kind.__name__}.{field.name} of events.py has no docstring; say what it is")
    config: Any = getattr(kind, "__struct_config__")  # noqa: B009 - msgspec's own, which type checkers do not know
    left_out = "" if field.required or not config.omit_defaults else _absent(field)
    return _cell(text) + left_out


def _absent(field: Any) -> str:
    default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return f" Absent: `{msgspec.json.encode(default).decode()}`."


def attribute_texts(kind: type) -> dict[str, str]:
    """Return what stands below each field of a class, as one paragraph."""
    (body,) = [node for node in ast.parse(inspect.getsource(kind)).body if isinstance(node, ast.ClassDef)]
    found: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            found[field.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return found


def type_said(annotation: Any) -> str:
    """Return a type in the words of JSON."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in {typing.Union, types.UnionType}:
        return " or ".join(type_said(each) for each in inner)
    if origin is typing.Literal:
        return ", ".join(f"`{each}`" for each in inner)
    if origin is list:
        return "list" if inner[0] is Any else f"list of {type_said(inner[0])}"
    names = {
        str: "text",
        int: "whole number",
        float: "number",
        bool: "`true` or `false`",
        type(None): "null",
        Any: "JSON",
    }
    return names.get(annotation, "object")


PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "agent options": agent_options,
    "events": happenings,
    "usage": usage_figures,
}


if __name__ == "__main__":
    main()
