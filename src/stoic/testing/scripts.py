"""Script files: the words of the case files into replies and rules.

A script is a list of replies played in order, or an object `{"replies": […], "rules": […], "default": …, "cases": …}`.
Rules are tried first; a request after the last reply gets the default, else a 400 with code `script_exhausted`. A reply is

- a list of words: `text:…` `thinking:…` `refusal:…` `tool:name({…})` `half_tool:name({…` (a call cut there) `gate:name`
  (wait until the test opens it) `delay:20ms` `hang` (until the client leaves), and at most one of each of these about the
  whole: `stop`, `finish:length` and the like, `eof` (a clean end without the protocol's own), `done` (`[DONE]` alone), `cut`
  (the connection dies), `reset`, `cut_at_byte:120`, `model:name`. A first word with a capital (`B`) is a route: only requests
  with that first part of the path (`/B/v1/…`) or that model get the reply. A word about waiting at the beginning holds back the first byte;
- one such word alone, `ok`, or `wire:ID`, an entry of a case file; `… x4` repeats it. Words of the case files that are for a
  person (`wait:61s`, `user:cancel`) are passed over;
- an object: `{"status", "headers", "body"}` or `{"status", "headers", "sse": […], "end": "clean" or "cut"}` literally, or
  `{"words": […]}`; beside them `route`, `model`, `usage`, `finish`, `cut_at_byte`, `delay_ms`, `gate`, `hang`.

The words are spoken in the style of the API that the request's path names: Chat Completions, Anthropic Messages, OpenAI Responses
or Gemini. A `finish:` word of Chat Completions means the same everywhere (`length` is Anthropic's `max_tokens`); any other is sent as
it is. `refusal:` becomes what the API says instead of an answer.

A rule is `{"request_contains": "…", "reply": …, "times": 2, "patch": {"dotted.path": …}}`; instead of `request_contains`,
`"if": "the request holds …"`; `else` answers when the condition is not met. A rule may stand among the replies.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from stoic.errors import UsageError
from stoic.foreign_json import read_foreign
from stoic.records import Json
from stoic.testing.cases import Cases, exchange_of, load_cases, patched
from stoic.testing.replies import EndKind, Exchange, Reply, Rule, Script, Word

Tree = dict[str, Json]
Shape = TypeVar("Shape")

_REPEAT = re.compile(r"^(?P<entry>.+) x(?P<times>[0-9]+)$", re.DOTALL)
_ROUTE = re.compile(r"^[A-Z][A-Za-z0-9_-]*$")
_CALL = re.compile(r"^(?P<name>[A-Za-z0-9_.-]+)\((?P<arguments>.*)$", re.DOTALL)
# Words of the case files that are for whoever drives the test: a person's action, the clock, what the history holds.
_DRIVERS_WORDS = ("wait:", "user:", "user turns ", "tool call ")
_ENDS: dict[str, EndKind] = {"eof": "eof", "done": "done", "cut": "cut", "reset": "reset"}
_CONDITION = "the request holds "
_REPLY_KEYS = {"words", "route", "model", "usage", "cut_at_byte", "delay_ms", "gate", "hang", "finish"}
_EXCHANGE_KEYS = {"status", "headers", "body", "sse", "end"}


def load_script(file: Path) -> Script:
    """Read a script file.

    `wire:ID` is looked up in the files its `cases` names (relative to the script), else in `failures_wire.json` and
    `refusals_wire.json` beside it.

    Raises:
        UsageError: The file cannot be read or is not a script; the text says where and what to do.
    """
    try:
        value = read_foreign(file.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read the script {file}: {error.strerror}; name an existing JSON file") from None
    except msgspec.DecodeError as error:
        raise UsageError(f"{file} is not JSON: {error}; correct it there") from None
    named = cast("Tree", value).get("cases") if isinstance(value, dict) else None
    names = [str(name) for name in (cast("list[Json]", named) if isinstance(named, list) else [named] if named else [])]
    beside = [file.parent / name for name in ("failures_wire.json", "refusals_wire.json")]
    files = [file.parent / name for name in names] or [path for path in beside if path.exists()]
    try:
        return parse_script(value, load_cases(files))
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from None


def parse_script(value: Json, cases: Cases | None = None) -> Script:
    """Turn a JSON value into a script.

    Args:
        value: A list of replies, or an object with `replies`, `rules`, `default`.
        cases: What `wire:ID` refers to.

    Raises:
        UsageError: A word is not one of the language.
    """
    parser = _Parser(cases or {})
    if isinstance(value, list):
        return parser.script({"replies": value})
    if isinstance(value, dict):
        tree = cast("Tree", value)
        unknown = sorted(tree.keys() - {"replies", "rules", "default", "cases"})
        if unknown:
            raise UsageError(f"unknown key {unknown[0]!r} in the script; known: replies, rules, default, cases")
        return parser.script(tree)
    raise UsageError("a script is a list of replies or an object with replies, rules and default")


def parse_reply(value: Json, cases: Cases | None = None, label: str = "reply") -> Reply:
    """Turn one element of a script into a reply. Raises UsageError."""
    return _Parser(cases or {}).reply(value, label)


class _Parser:
    """Reads script values; every message names the place."""

    def __init__(self, cases: Cases) -> None:
        self._cases = cases

    def script(self, tree: Mapping[str, Json]) -> Script:
        rules: list[Rule] = []
        replies: list[Reply] = []
        for number, value in enumerate(_list(tree.get("rules"), "rules"), 1):
            rules += self.rules(value, f"rule {number}")
        for number, value in enumerate(_list(tree.get("replies"), "replies"), 1):
            if isinstance(value, str) and value.startswith(_DRIVERS_WORDS):
                continue
            label = f"reply {number}"
            if isinstance(value, dict) and ("if" in value or "request_contains" in value):
                rules += self.rules(cast("Tree", value), label)
                continue
            entry, times = _repeated(value)
            replies += [self.reply(entry, label)] * times
        default = tree.get("default")
        return Script(rules=rules, replies=replies, default=None if default is None else self.reply(default, "default"))

    def rules(self, value: Json, label: str) -> list[Rule]:
        """Read one rule; its `else` is a second one."""
        tree = _tree(value, label)
        needle, condition = tree.get("request_contains"), tree.get("if")
        empty_text = False
        if isinstance(condition, str) and condition.startswith(_CONDITION):
            needle = condition.removeprefix(_CONDITION)
            empty_text = needle == "an empty text block"
        if not isinstance(needle, str) or "reply" not in tree:
            raise UsageError(f'{label}: a rule needs "request_contains" (or "if": "the request holds …") and "reply"')
        times = tree.get("times")
        if times is not None and (not isinstance(times, int) or times < 1):
            raise UsageError(f'{label}: "times" must be a whole number from 1, not {times!r}')
        reply = self.reply(tree["reply"], label)
        if "patch" in tree and reply.exchange:
            reply = msgspec.structs.replace(reply, exchange=patched(reply.exchange, _tree(tree["patch"], label)))
        contains = "" if empty_text else needle
        found = [Rule(reply=reply, contains=contains, empty_text=empty_text, times=times)]
        if "else" in tree:
            otherwise = self.reply(tree["else"], f"{label} else")
            found.append(Rule(reply=otherwise, contains=contains, empty_text=empty_text, negate=True))
        return found

    def reply(self, value: Json, label: str) -> Reply:
        if isinstance(value, str):
            return self._named(value, label)
        if isinstance(value, list):
            return _worded(cast("list[Json]", value), label)
        return self._described(_tree(value, label), label)

    def _named(self, word: str, label: str) -> Reply:
        case_id = word.removeprefix("wire:")
        if word.startswith("wire:") or case_id in self._cases:
            if case_id not in self._cases:
                raise UsageError(f"{label}: no case {case_id!r}; give the file that holds it as cases")
            return exchange_of(self._cases[case_id], case_id, label)
        return _worded(["text:ok" if word == "ok" else word], label)

    def _described(self, tree: Tree, label: str) -> Reply:
        """Read the object form: `words`, or a literal answer, with its settings."""
        unknown = sorted(tree.keys() - _REPLY_KEYS - _EXCHANGE_KEYS)
        if unknown:
            raise UsageError(
                f"{label}: unknown key {unknown[0]!r}; known: {', '.join(sorted(_REPLY_KEYS | _EXCHANGE_KEYS))}"
            )
        settings = {key: value for key, value in tree.items() if key in _REPLY_KEYS and key != "words"}
        if "words" in tree:
            base = self.reply(tree["words"], label)
        else:
            literal = {key: value for key, value in tree.items() if key in _EXCHANGE_KEYS and key != "end"}
            base = Reply(label=label, exchange=_convert(literal, Exchange, label))
        if "end" in tree:
            settings["end"] = tree["end"]
        merged = {**msgspec.to_builtins(base), **settings}
        return _convert(merged, Reply, label)


def _convert(value: Json, shape: type[Shape], label: str) -> Shape:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise UsageError(f"{label}: {error}") from None


def _repeated(value: Json) -> tuple[Json, int]:
    """Read `… x4`."""
    found = _REPEAT.match(value) if isinstance(value, str) else None
    return (found["entry"], int(found["times"])) if found else (value, 1)


def _worded(values: list[Json], label: str) -> Reply:
    """Read `["text:…", "stop"]`."""
    words: list[Word] = []
    settings: dict[str, Json] = {}
    for number, value in enumerate(values):
        if not isinstance(value, str):
            raise UsageError(f"{label}: {value!r} is not a word of the script language")
        if number == 0 and _ROUTE.match(value):
            settings["route"] = value
        elif not _ending(value, settings):
            words.append(_word(value, label))
    return _convert({"label": label, "words": msgspec.to_builtins(words), **settings}, Reply, label)


def _ending(value: str, settings: dict[str, Json]) -> bool:
    """Read a word about the reply as a whole; tell whether it was one."""
    kind, _, argument = value.partition(":")
    if value in _ENDS:
        settings["end"] = _ENDS[value]
    elif kind == "finish":
        settings["finish"] = argument
    elif kind == "model":
        settings["model"] = argument
    elif kind == "cut_at_byte" and argument.isdigit():
        settings["cut_at_byte"] = int(argument)
    elif value != "stop":
        return False
    return True


def _word(value: str, label: str) -> Word:
    kind, _, argument = value.partition(":")
    simple: dict[str, Callable[[], Word]] = {
        "text": lambda: Word(kind="text", text=argument),
        "thinking": lambda: Word(kind="thinking", text=argument),
        "refusal": lambda: Word(kind="refusal", text=argument),
        "gate": lambda: Word(kind="gate", text=argument),
        "hang": lambda: Word(kind="hang"),
    }
    if kind in simple:
        return simple[kind]()
    call = _CALL.match(argument)
    if kind == "tool" and call and call["arguments"].endswith(")"):
        return Word(kind="call", name=call["name"], text=call["arguments"][:-1])
    if kind == "half_tool" and call:
        return Word(kind="half_call", name=call["name"], text=call["arguments"])
    if kind == "delay" and argument.removesuffix("ms").isdigit():
        return Word(kind="delay", text=argument.removesuffix("ms"))
    raise UsageError(
        f"{label}: {value!r} is not a word of the script language; words are text: thinking: refusal: tool:name({{…}}) "
        "half_tool:name(… gate:name delay:…ms hang, ends stop finish:… eof done cut reset, and wire:ID alone"
    )


def _tree(value: Json, label: str) -> Tree:
    if isinstance(value, dict):
        return cast("Tree", value)
    raise UsageError(f"{label}: an object was expected, not {value!r}")


def _list(value: Json, label: str) -> list[Json]:
    if value is None or isinstance(value, list):
        return cast("list[Json]", value or [])
    raise UsageError(f"{label}: a list was expected, not {value!r}")
