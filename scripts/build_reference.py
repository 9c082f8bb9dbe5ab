"""Makes the parts of the reference that the code knows: commands, events. Run it after a change; a test compares.

A page holds such a part between `<!-- made: NAME -->` and `<!-- /made -->`. Usage: `python scripts/build_reference.py`
"""

import ast
import inspect
import itertools
import pkgutil
import re
import textwrap
import types
import typing
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import typer

import stoic
from stoic import events
from stoic.cli.app import app

DOCS = Path(__file__).parents[1] / "docs"
_SPECIFIED = re.compile(r" \(SPEC §[^)]*\)")
"""Where the specification says so; who reads the pages does not have it."""
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
            found[field.target.id] = _SPECIFIED.sub("", " ".join(str(ast.literal_eval(below.value)).split()))
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


# ---- Python

_DIRECTIVE = re.compile(r"^\.\. auto(?P<what>\w+):: (?P<name>[\w.]+)$(?P<options>(?:\n   :.*)*)", re.MULTILINE)
_HEADING_OR_DIRECTIVE = re.compile(rf"^## (?P<heading>.+)$|{_DIRECTIVE.pattern}", re.MULTILINE)
_ARGUMENT = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def python_names() -> str:
    """Return every name of the page on Python with its signature, in plain Markdown: a reader without the site has it too."""
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    lines: list[str] = []
    for found in _HEADING_OR_DIRECTIVE.finditer(page):
        if found["heading"] is not None:
            lines += ["", f"**{found['heading']}**", ""] if found["heading"] != "In short" else []
        else:
            lines += _named_in_python(found["what"], found["name"], found["options"])
    return re.sub(r"\*\*[^*]+\*\*\n\n(?=\*\*|$)", "", "\n".join(lines).strip()) + "\n"


def _named_in_python(what: str, name: str, options: str) -> list[str]:
    value = pkgutil.resolve_name(name.replace(".", ":", 1) if name.count(".") == 1 else ":".join(name.rsplit(".", 1)))
    shown = name.removeprefix("stoic.") if name.count(".") > 1 else name
    if what == "data":
        return [f"- `{shown}`: {_first_sentence(_data_text(name))}"]
    if what == "function":
        return _callable(shown, value)
    members = re.search(r":members:(.*)", options)
    chosen = [each.strip() for each in members[1].split(",") if each.strip()] if members else []
    made = (
        ""
        if what == "exception" or "__init__" in options or not _is_made_by_hand(value)
        else _signature(value.__init__)
    )
    lines = [f"- `{shown}{made}`: {_first_sentence(inspect.getdoc(value) or '')}"]
    lines += [f"    {line}" for line in (_arguments(value.__init__) if made else [])]
    if issubclass(value, msgspec.Struct) and members is not None:
        lines += [f"    {line}" for line in _struct_fields(value)]
    for member in chosen:
        lines += [f"    {line}" for line in _callable(f".{member}", inspect.getattr_static(value, member))]
    return lines


def _is_made_by_hand(kind: type) -> bool:
    """Tell whether a class has an `__init__` of its own that a reader calls."""
    return "__init__" in vars(kind)


def _callable(name: str, function: Any) -> list[str]:
    function = getattr(function, "__func__", function)
    if not inspect.isfunction(function):
        return [f"- `{name}`: {_first_sentence(inspect.getdoc(function) or '')}"]
    awaited = "async " if inspect.iscoroutinefunction(function) else ""
    lines = [f"- `{awaited}{name}{_signature(function)}`: {_first_sentence(inspect.getdoc(function) or '')}"]
    return lines + [f"    {line}" for line in _arguments(function)]


def _signature(function: Any) -> str:
    """Return the parameters as they are written in the source, without `self`."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    written = next(node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    written.args.args = [each for each in written.args.args if each.arg != "self"]
    for node in ast.walk(written.args):
        if isinstance(node, ast.arg) and node.annotation is not None:
            node.annotation = _unquoted(node.annotation)
    if function.__name__ == "__init__" or written.returns is None:
        return f"({ast.unparse(written.args)})"
    return f"({ast.unparse(written.args)}) -> {ast.unparse(_unquoted(written.returns))}"


def _unquoted(annotation: ast.expr) -> ast.expr:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return ast.parse(annotation.value, mode="eval").body
    return annotation


def _arguments(function: Any) -> list[str]:
    """Return what a docstring says of each argument."""
    text = inspect.getdoc(function) or ""
    (said,) = re.findall(r"^Args:\n((?:(?: {4}.*)?\n)*(?: {4}.*)?)", text, re.MULTILINE) or [""]
    return [f"- `{name}`: {' '.join(meaning.split())}" for name, meaning in _ARGUMENT.findall(said)]


def _struct_fields(kind: Any) -> list[str]:
    said = attribute_texts(kind)
    (body,) = [node for node in ast.parse(inspect.getsource(kind)).body if isinstance(node, ast.ClassDef)]
    fields = [node for node in body.body if isinstance(node, ast.AnnAssign)]
    names = [ast.unparse(node.target) for node in fields]
    return [
        f"- `{name}: {ast.unparse(_unquoted(node.annotation))}`" + (f": {said[name]}" if name in said else "")
        for name, node in zip(names, fields, strict=True)
    ]


def _data_text(name: str) -> str:
    """Return what stands below the assignment of a name in its module."""
    _, _, short = name.rpartition(".")
    module = inspect.getsource(import_module(stoic._HOMES[short]))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    body = ast.parse(module).body
    for node, below in itertools.pairwise(body):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == short and isinstance(below, ast.Expr):
            return str(ast.literal_eval(below.value))
    raise ValueError(f"{name} has no docstring; say what it is")


def _first_sentence(text: str) -> str:
    paragraph = _SPECIFIED.sub("", " ".join(text.split("\n\n", 1)[0].split()))
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", paragraph, maxsplit=1)[0]


PARTS: dict[str, Callable[[], str]] = {
    "commands": commands,
    "agent options": agent_options,
    "events": happenings,
    "usage": usage_figures,
    "python names": python_names,
}


if __name__ == "__main__":
    main()
