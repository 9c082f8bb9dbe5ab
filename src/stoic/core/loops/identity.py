"""Tells which calls are the same call: canonical arguments without what is cosmetic, and for reads without paging."""

from functools import lru_cache
from posixpath import normpath

from stoic.core.canonical import canonical
from stoic.core.loops.argument_names import HOSTED, RUN, Names, is_path, is_patience, names_of
from stoic.core.loops.call import Call
from stoic.core.loops.commands import addressee, squeeze
from stoic.core.loops.hashes import checksum, digest
from stoic.core.loops.nature import command_member, nature
from stoic.core.loops.observation import Identity
from stoic.core.loops.shapes import is_array, is_object
from stoic.core.loops.words import pattern
from stoic.records import Json

_EPOCH = 1e9
"""Numbers from here on are moments, not positions: they say which data are asked for."""


def identify(call: Call) -> Identity:
    """Work out a call's identity; costs one pass over its arguments."""
    kind = nature(call)
    tool = call.tool if call.known else call.tool.casefold()
    arguments = call.arguments
    names = names_of(arguments, kind) if is_object(arguments) else None
    command = command_member(arguments) if kind.effect == "exec" else None
    exact = _exact(call, names, command)
    loose = _loose(exact, names) if names is not None and names.loosened and is_object(exact) else exact
    written = canonical(exact)
    same = written if loose == exact else canonical(loose)
    spelled = repr(arguments)
    place, contained = "", True
    if command is not None:
        place = addressee(command[1])
    elif names is not None:
        place, contained = _place(arguments, names, spelled, written if exact is arguments else None)
    precise = digest(f"{tool}\n{written}")
    whole = _whole(tool)
    return Identity(
        tool=tool,
        nature=kind,
        key=digest(tool) if not call.known else precise if same == written else digest(f"{tool}\n{same}"),
        exact=precise,
        spelling=checksum(spelled),
        target=whole if not place else precise if place == written else digest(f"{tool}\n{place}"),
        whole=whole,
        contained=contained,
        known=call.known,
        frozen_limit=call.frozen_limit,
        batch=call.batch,
    )


def essential(call: Call) -> Json:
    """Return the arguments that make two calls the same operation to the journal.

    What is cosmetic is left out, and how long to wait for a command; paths and commands have one spelling each.
    """
    kind = nature(call)
    names = names_of(call.arguments, kind) if is_object(call.arguments) else None
    told = _exact(call, names, command_member(call.arguments) if kind.effect == "exec" else None)
    if kind.effect != "exec" or not is_object(told) or not RUN.intersection(told):
        return told
    return {key: value for key, value in told.items() if not is_patience(key)}


@lru_cache(maxsize=256)
def _whole(tool: str) -> str:
    return digest(f"{tool}\n")


def _exact(call: Call, names: Names | None, command: tuple[str, str] | None) -> Json:
    """Return what identifies the call: its loop key's values, or the arguments without cosmetics, paths tidied."""
    chosen = _chosen(call) if call.loop_key else None
    if chosen is not None:
        return chosen
    arguments = call.arguments
    if names is None:
        return arguments
    exact: dict[str, Json] = arguments if names.all_kept else {key: arguments[key] for key in names.kept}
    for key in names.paths:
        tidied = _tidy(key, arguments[key])
        if tidied is not arguments[key]:
            exact = {**exact, key: tidied}
    return exact if command is None else {**exact, command[0]: squeeze(command[1])}


def _chosen(call: Call) -> list[Json] | None:
    found = [values for path in call.loop_key if (values := _at(call.arguments, path.split(".")))]
    return found or None


def _at(value: Json, path: list[str]) -> list[Json]:
    """Return the values at a path; `*` stands for every member of an object or array."""
    if not path:
        return [value]
    step, rest = path[0], path[1:]
    members: list[Json] = []
    if is_object(value):
        members = [value[key] for key in sorted(value)] if step == "*" else [value[step]] if step in value else []
    elif is_array(value):
        members = [item for place, item in enumerate(value) if step in {"*", str(place)}]
    return [found for member in members for found in _at(member, rest)]


def _loose(exact: dict[str, Json], names: Names) -> dict[str, Json]:
    """Leave out paging and limits of reads and polls, and a poll's patience; the outcome tells whether they mattered.

    Blanks at the ends of what is asked are dropped: only the outcome could show that they mattered.
    """
    loose, numbers = names.loose, names.loose_numbers
    return {
        key: value.strip() if isinstance(value, str) else value
        for key, value in exact.items()
        if key not in loose and not (key in numbers and _counts(value))
    }


def _counts(value: Json) -> bool:
    """Tell whether a value is a position or a number of things, or a list of such."""
    numbers: list[Json] = value if is_array(value) else [value]
    return all(isinstance(one, int | float) and abs(one) < _EPOCH for one in numbers)


def _tidy(key: str, value: Json) -> Json:
    """Give one spelling to a path: no `./`, no double or trailing slash; `..` stays, since links may be on the way."""
    if not isinstance(value, str) or not value or "://" in value or ".." in value:
        return value
    plain = "//" not in value and "/." not in value and not value.startswith(".") and not value.endswith("/")
    return value if plain or not is_path(key) else normpath(value)


def _place(arguments: dict[str, Json], names: Names, spelled: str, written: str | None) -> tuple[str, bool]:
    """Return the place a call addresses and whether it has an account of its own; empty: the tool as a whole.

    Args:
        arguments: The call's arguments.
        names: What their names say.
        spelled: The arguments as Python writes them, in which a link shows at once.
        written: Their canonical form; None: not known.
    """
    if names.hosted or "://" in spelled:
        for key in names.ordered:
            value = arguments[key]
            if isinstance(value, str):
                if "://" in value and (link := pattern(r"\w+://([^/\s]+)").match(value)):
                    return f"host {link[1].lower()}", True
                if key in HOSTED:
                    return f"host {value.lower()}", True
    if not names.places:
        return "", names.contained
    if written is None or len(names.places) < len(arguments):
        written = canonical({key: arguments[key] for key in names.places})
    return written, names.contained
