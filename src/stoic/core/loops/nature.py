"""Tells what a call is by nature: its effect, and what that means for counting it."""

from functools import lru_cache
from itertools import pairwise
from typing import Literal

import msgspec

from stoic.core.canonical import canonical
from stoic.core.loops import words
from stoic.core.loops.call import Call, Effect
from stoic.core.loops.commands import doing
from stoic.core.loops.observation import Doing, Nature
from stoic.core.loops.shapes import is_array, is_object
from stoic.records import Json

_ACTION_KEYS = ("action", "operation", "op", "method", "command", "kind")
"""Where a tool of many uses is told which one; of a tool that runs commands only the first three are no command."""
_INPUT_KEYS = ("chars", "input", "data", "keys", "text", "stdin")
_COMMAND_KEYS = ("command", "cmd", "script")
_ACTION_CHARACTERS = 40
_NAME_CHARACTERS = 256
"""Of a longer name the end is read, where a qualified name has its own part."""
_REMEMBERED_CHARACTERS = 512
"""What a tool's name and those of its arguments say is remembered where they are not longer, all together."""


class _Told(msgspec.Struct, frozen=True):
    """What a tool's name, its declared effect and the names of its arguments say before any value is read."""

    nature: Nature | None
    """The nature, where no value has a say in it."""
    name: tuple[str, ...]
    effect: Effect | None
    """The effect that the tool's name says."""
    actions: tuple[str, ...]
    """The arguments that may name an action."""


def nature(call: Call) -> Nature:
    """Tell a call's nature from its declared effect, else from an action argument, else from the tool's name."""
    arguments = call.arguments
    names = tuple(arguments) if is_object(arguments) else ()
    known = _told if len("".join(names)) + len(call.tool) <= _REMEMBERED_CHARACTERS else _told.__wrapped__
    told = known(call.tool, call.effect, names)
    return told.nature or _read(call, told)


@lru_cache(maxsize=512)
def _told(tool: str, declared: Effect | None, arguments: tuple[str, ...]) -> _Told:
    names = frozenset(arguments)
    name = words.words(tool[-_NAME_CHARACTERS:])
    effect = _effect(name)
    actions = tuple([key for key in (_ACTION_KEYS[:3] if effect == "exec" else _ACTION_KEYS) if key in names])
    found = declared or effect
    commanded = found == "exec" and not names.isdisjoint(_COMMAND_KEYS)
    asking = declared is None and found in {"write", "send"} and _is_input(name) and not names.isdisjoint(_INPUT_KEYS)
    decided = not (actions or commanded or asking)
    return _Told(_nature(name, name, found, None) if decided else None, name, effect, actions)


def _read(call: Call, told: _Told) -> Nature:
    """Tell the nature of a call in which values have a say, too."""
    name = told.name
    said = _action(call.arguments, told.actions) or name
    effect = call.effect or _effect(said) or told.effect
    if call.effect is None and effect in {"write", "send"} and _asks_for_output(call.arguments, name):
        effect = "poll"
    command = command_of(call.arguments) if effect == "exec" else None
    done = doing(command) if command is not None else None
    if call.effect is None and done == "wait":
        effect = "wait"
    return _nature(name, said, effect, done)


@lru_cache(maxsize=512)
def _nature(name: tuple[str, ...], said: tuple[str, ...], effect: Effect | None, done: Doing | None) -> Nature:
    verb = _verb(said)
    return Nature(
        effect=effect,
        creates="next" not in said and (effect == "send" or (effect == "write" and _makes(verb, said))),
        repeatable=effect not in {"write", "send"} or verb in words.ACT,
        bookkeeping=bool(words.BOOKKEEPING.intersection(name)) and effect in {"write", "send", None},
        clock=effect in {"read", "exec", None} and _reads_clock(name),
        doing=done,
        acts=effect is None or (effect == "write" and verb in words.ACT) or done in {"run", "write"},
        traced=(effect == "poll" or _verb(name) in words.READ | words.TAKE) and bool(words.TRACED.intersection(name)),
    )


def command_of(arguments: Json) -> str | None:
    """Return the shell command among the arguments; a list of words counts, and `bash -lc TEXT` counts as TEXT."""
    found = command_member(arguments)
    return found[1] if found else None


def command_member(arguments: Json) -> tuple[str, str] | None:
    """Return the name of the argument that holds a shell command, and the command; see `command_of`."""
    if not is_object(arguments):
        return None
    for key in _COMMAND_KEYS:
        value = arguments.get(key)
        if isinstance(value, str):
            return key, value
        if is_array(value) and value:
            parts = [part if isinstance(part, str) else canonical(part) for part in value]
            return key, parts[-1] if parts[0] in {"bash", "sh", "zsh"} else " ".join(parts)
    return None


def _action(arguments: Json, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of an argument that names what a tool of many uses shall do."""
    for key in keys:
        value = arguments[key]
        if isinstance(value, str) and len(value) <= _ACTION_CHARACTERS and " " not in value:
            found = words.words(value)
            if found == ("log",):
                return ("logs",)
            if _effect(found):
                return found
    return ()


@lru_cache(maxsize=256)
def _effect(said: tuple[str, ...]) -> Effect | None:
    if not said:
        return None
    verb = _verb(said)
    if said[0] in words.WAIT or said[-1] in words.WAIT or ("wait", "for") in pairwise(said):
        return "wait"
    if said[0] in words.WATCH or (verb in words.DEEDS and said[-1] in words.POLL):
        return "poll"
    if verb in words.WRITE or verb in words.ACT or _opens(said):
        return "write"
    if verb in words.SEND and not words.READ.intersection(said[:1]):
        return "send"
    polled = verb in words.POLLING and words.POLLED.intersection(said[said[0] == "run" :])
    if words.POLL.intersection(said) or polled:
        return "poll"
    return _looking(verb, said)


def _opens(said: tuple[str, ...]) -> bool:
    """Tell whether `open` means to create: `open_ticket`, unlike `open_file`."""
    return said[:1] == ("open",) and bool(words.OPENED.intersection(said))


def _makes(verb: str, said: tuple[str, ...]) -> bool:
    return verb in words.CREATE or verb in words.SEND or _opens(said)


def _looking(verb: str, said: tuple[str, ...]) -> Literal["read", "exec"] | None:
    if verb in words.EXEC:
        return "exec"
    changes = words.WRITE.intersection(said) - words.CREATE
    return "read" if verb in words.READ and not changes else None


@lru_cache(maxsize=256)
def _verb(said: tuple[str, ...]) -> str:
    """Return the word that says what is done: the first if it is a verb, else the last, else any; nouns only at last."""
    order = [said[0], said[-1], *said[1:-1]] if said else []
    found = [word for word in order if word in words.VERBS]
    plain = [word for word in found if word in words.PLAIN or word not in words.NOUNS]
    return next(iter(plain or found), "")


def _reads_clock(name: tuple[str, ...]) -> bool:
    """Tell whether a name asks for the time and nothing else, such as `get_current_time` or `now`."""
    rest = set(name) - words.TIME - {"get", "read", "current", "system", "local", "utc", "what", "is", "the", "tell"}
    return bool(words.TIME.intersection(name)) and not rest


def _asks_for_output(arguments: Json, name: tuple[str, ...]) -> bool:
    """Tell whether an empty input to a running process only asks for more output."""
    return is_object(arguments) and _is_input(name) and any(arguments.get(key) == "" for key in _INPUT_KEYS)


def _is_input(name: tuple[str, ...]) -> bool:
    """Tell whether a tool of this name gives input to a running process."""
    return not {"stdin", "input", "keys"}.isdisjoint(name)
