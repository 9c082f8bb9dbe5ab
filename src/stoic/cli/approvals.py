"""`stoic approvals`: the calls that wait for a person, and a person's answers to them (SPEC §10, §13)."""

import asyncio
import getpass
import os
from pathlib import Path
from typing import IO, cast

import msgspec

from stoic.cli import exits
from stoic.cli.cleaning import escaped, json_text, one_line, quoted
from stoic.cli.inputs import read_stdin
from stoic.cli.names import near
from stoic.cli.opening import log_to_list, opened, opened_log, require_log
from stoic.cli.screen import Style
from stoic.cli.unattended import SESSION
from stoic.cli.waiting import moment
from stoic.cli.worker import make_agent
from stoic.core.arguments import arguments_of
from stoic.errors import NoSuchThreadError, UsageError
from stoic.foreign_json import read_foreign
from stoic.ports import Loaded, Store, load_readable
from stoic.records import Json, Parked, Question, Record
from stoic.settings import read_settings
from stoic.wiring import Runtime, SystemClock

_LINES = 40
"""So many lines of a call's arguments are shown; what is not shown is said."""
_UNNAMED = "none:none"
"""The model of an agent that asks none."""


class Approval(Record, frozen=True, omit_defaults=False):
    """One question to a person, for programs."""

    operation: str
    thread: str
    tool: str
    effect: str
    arguments: str
    """JSON, exactly as the model wrote it."""
    asked_at: int
    """Epoch milliseconds."""
    expires_at: int | None
    """When nobody's answer counts as a denial; null: never."""
    allowed_answers: list[str]
    """Of `once`, `session` and `deny`."""
    editable: bool
    """Whether it may be allowed with other arguments."""
    answer: str | None
    """What somebody has answered that no process has taken up yet."""


def list_approvals(*, as_json: bool, stdout: IO[str]) -> int:
    """Print what waits for a person, the oldest thread first; as JSON, one object a line, answered ones too."""
    if not log_to_list():
        return exits.COMPLETED
    found = asyncio.run(_read())
    if as_json:
        for each in found:
            stdout.write(json_text(each) + "\n")
        return exits.COMPLETED
    style, now_ms = Style(stdout, os.environ), SystemClock().now_ms()
    waiting = [each for each in found if each.answer is None]
    for each in waiting:
        _print(each, style, now_ms, stdout)
    if not waiting:
        stdout.write("nothing waits for a person's approval\n")
    for each in found:
        if each.answer is not None:
            said = f"{one_line(each.operation)} of {one_line(each.tool)} is answered ({each.answer}); {_goes_on(each)}"
            stdout.write(style(said, "dim") + "\n")
    return exits.COMPLETED


def allow(operation: str, *, edit: str | None, session: bool, stdout: IO[str]) -> int:
    """Allow a call, once or for the session, as the model wrote it or with other arguments.

    Args:
        operation: its id
        edit: a JSON object that it runs with instead, or `-` for stdin
        session: whether every later call of the tool in that thread runs too while nobody looks at it
        stdout: where to

    Raises:
        UsageError: nothing of that id waits, its time is over, or it cannot be answered so
    """
    arguments = None if edit is None else _object(read_stdin("--edit on stdin") if edit == "-" else edit)
    answer = "session" if session else "once"
    found = _answer(operation, answer, reason=None, arguments=arguments)
    said = "for the session" if session else "once"
    changed = "" if arguments is None else ", with your arguments"
    stdout.write(
        f"{one_line(found.operation)} of {one_line(found.tool)} is allowed {said}{changed}; {_goes_on(found)}\n"
    )
    return exits.COMPLETED


def deny(operation: str, *, reason: str | None, stdout: IO[str]) -> int:
    """Deny a call; the model is told, with the reason if there is one. Raises UsageError: nothing of that id waits."""
    found = _answer(operation, "deny", reason=reason, arguments=None)
    stdout.write(f"{one_line(found.operation)} of {one_line(found.tool)} is denied; {_goes_on(found)}\n")
    return exits.COMPLETED


def _answer(operation: str, answer: str, *, reason: str | None, arguments: Json | None) -> Approval:
    require_log(f"no operation {operation!r} waits for a person")
    return asyncio.run(_put(operation, answer, reason=reason, arguments=arguments))


async def _put(operation: str, answer: str, *, reason: str | None, arguments: Json | None) -> Approval:
    async with opened(Runtime(settings=read_settings(), delivers_notices=False, runs_tasks=False)) as runtime:
        found = _chosen(await _questions(runtime.store), operation)
        _check(found, answer, is_edited=arguments is not None, now_ms=runtime.clock.now_ms())
        if arguments is not None:
            _check_edit(found, arguments)
        agent = make_agent(_UNNAMED, Path(), "deny")
        thread = runtime.thread(found.thread, agent, session=SESSION)
        await thread.answer(
            operation, found.tool, answer, by=f"cli:{_user()}", reason=reason or None, arguments=arguments
        )
        return found


def _chosen(found: list[Approval], operation: str) -> Approval:
    """Return the question of an id. Raises UsageError that names those there are."""
    waiting = [each.operation for each in found if each.answer is None]
    known = next((each for each in found if each.operation == operation), None)
    if known is not None and known.answer is None:
        return known
    close = near(operation, waiting)
    if known is not None:
        said = f"operation {operation!r} is answered already ({known.answer}); {_goes_on(known)}; "
    else:
        said = f"no operation {operation!r} waits for a person; "
    if close and known is None:
        hint = f"did you mean {' or '.join(close)}?"
    else:
        hint = f"those that wait: {', '.join(waiting)}" if waiting else "none waits"
    raise UsageError(f"{said}{hint}")


def _check(found: Approval, answer: str, *, is_edited: bool, now_ms: int) -> None:
    """Check that a question takes an answer. Raises UsageError."""
    if answer not in found.allowed_answers:
        raise UsageError(
            f"operation {found.operation!r} of {found.tool} is decided about call by call; leave --session out"
        )
    if is_edited and not found.editable:
        raise UsageError(f"operation {found.operation!r} has no arguments to change; leave --edit out")
    if answer != "deny" and found.expires_at is not None and now_ms >= found.expires_at:
        raise UsageError(
            f"operation {found.operation!r} could be allowed until {moment(found.expires_at)}; now it counts as denied"
        )


def _check_edit(found: Approval, arguments: Json) -> None:
    """Check other arguments against the model's own, since only the program has the tool. Raises UsageError.

    A name may be added, which an optional parameter needs; none may be missing, and each keeps its JSON type.
    """
    own = arguments_of(found.arguments)
    missing = [name for name in own if name not in arguments]
    if missing:
        raise UsageError(
            f"--edit lacks {missing[0]!r}, which the call has; give all of its arguments: {', '.join(own)}"
        )
    for name, value in own.items():
        was, now = _json_type(value), _json_type(arguments[name])
        if "null" not in {was, now} and was != now:
            raise UsageError(f"--edit gives {name!r} as {now}; in the call it is {was}")


def _json_type(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names = {int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]


async def _read() -> list[Approval]:
    async with opened_log() as store:
        return await _questions(store)


async def _questions(store: Store) -> list[Approval]:
    """Return every open question of every parked turn."""
    found: list[Approval] = []
    for record in await store.parked():
        parked = msgspec.convert(record.parked, Parked)
        if parked.waits_for != "permission":
            continue
        try:
            loaded = await load_readable(store, record.id)
        except NoSuchThreadError:  # deleted meanwhile
            continue
        found += [_approval(record.id, question, loaded) for question in parked.questions]
    return found


def _approval(thread: str, question: Question, loaded: Loaded) -> Approval:
    asked = [
        row.created_at
        for row in loaded.rows
        if row.kind == "question" and any(each["operation"] == question.operation for each in row.content["questions"])
    ]
    answers = [
        entry.content["answer"]
        for entry in loaded.inbox
        if entry.kind == "answer" and entry.content["operation"] == question.operation
    ]
    return Approval(
        operation=question.operation,
        thread=thread,
        tool=question.tool,
        effect=question.effect,
        arguments=question.arguments,
        asked_at=min(asked, default=loaded.rows[-1].created_at),
        expires_at=question.expires_at_ms,
        allowed_answers=list(question.allowed_answers),
        editable=any(each.id == question.operation for each in loaded.operations),
        answer=answers[-1] if answers else None,
    )


def _print(each: Approval, style: Style, now_ms: int, stdout: IO[str]) -> None:
    head = f"{one_line(each.operation)}  {one_line(each.tool)} ({each.effect})"
    expires = ""
    if each.expires_at is not None:
        over = now_ms >= each.expires_at
        expires = f" · {'its time was over' if over else 'counts as denied from'} {moment(each.expires_at)}"
    stdout.write(f"{style(head, 'bold')} · thread {one_line(each.thread)} · asked {moment(each.asked_at)}{expires}\n")
    lines = _argument_lines(each.arguments)
    for line in lines[:_LINES]:
        stdout.write(f"  {line}\n")
    if len(lines) > _LINES:
        stdout.write(style(f"  [{len(lines) - _LINES} MORE LINES ARE NOT SHOWN; --json has them]", "yellow") + "\n")
    named = quoted(each.operation)
    edit = " [--edit JSON]" if each.editable else ""
    session = " [--session]" if "session" in each.allowed_answers else ""
    stdout.write(style(f"  stoic approvals allow {named}{edit}{session}", "cyan") + "\n")
    stdout.write(style(f"  stoic approvals deny {named} [--reason TEXT]", "cyan") + "\n")


def _argument_lines(arguments: str) -> list[str]:
    """Return a call's arguments for whoever judges it: whole, every control character visible."""
    try:
        values = arguments_of(arguments)
    except msgspec.DecodeError:
        return escaped(arguments).splitlines()
    if not isinstance(values, dict):
        return escaped(arguments).splitlines()
    lines: list[str] = []
    for name, value in cast("dict[str, Json]", values).items():
        said = value if isinstance(value, str) else json_text(value)
        first, *rest = escaped(f"{name} = {said}").split("\n")
        lines += [first, *(f"  {line}" for line in rest)]
    return lines


def _object(text: str) -> dict[str, Json]:
    """Return the arguments that a person gives. Raises UsageError if they are no JSON object."""
    try:
        found = read_foreign(text)
    except msgspec.DecodeError as error:
        raise UsageError(f"--edit is not JSON ({error}); write all arguments as one JSON object") from None
    if not isinstance(found, dict):
        raise UsageError('--edit is no JSON object; write all arguments as one, such as {"path": "a.txt"}')
    return cast("dict[str, Json]", found)


def _goes_on(each: Approval) -> str:
    return f"`stoic up` or `stoic resume {quoted(each.thread)}` goes on"


def _user() -> str:
    """Return who sits here, as the system names them."""
    try:
        return one_line(getpass.getuser())
    except (KeyError, OSError):  # a user without a name
        return str(os.getuid())
