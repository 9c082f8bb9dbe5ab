"""What a parked turn waits for and until when, in a person's words."""

import msgspec

from stoic.cli.cleaning import one_line, quoted
from stoic.core.failures import Axis
from stoic.core.history import is_for_cooldown
from stoic.moments import date_of
from stoic.records import Json, Parked


def moment(epoch_ms: int) -> str:
    """Return a time as people write it, in UTC."""
    return f"{date_of(epoch_ms):%Y-%m-%d %H:%M:%S} UTC"


def waits_said(parked: Json) -> str:
    """Return what a turn waits for.

    Args:
        parked: the content of the row by which it was parked, as a thread's record has it too
    """
    content = msgspec.convert(parked, Parked)
    if content.until_ms is not None and is_for_cooldown(parked):
        causes = [each.partition(" ") for each in (content.event or "").split(", ")]
        providers = " or ".join(one_line(provider) for axis, _, provider in causes if axis == Axis.TIME)
        return f"waits for {providers} to answer again; the next try is at {moment(content.until_ms)}"
    until = "" if content.until_ms is None else f" until {moment(content.until_ms)}"
    return f"waits for {_what(content)}{until}"


def _what(parked: Parked) -> str:
    match parked.waits_for, parked.event:
        case "permission", _:
            names = ", ".join(f"{one_line(each.tool)} ({one_line(each.operation)})" for each in parked.questions)
            return f"a person to decide about {names}"
        case "task", _:
            return f"task{'' if len(parked.tasks) == 1 else 's'} {', '.join(map(one_line, parked.tasks))}"
        case "event", str() as event:
            kind, _, provider = event.partition(" ")
            return f"the {one_line(kind)} of {one_line(provider)} (`stoic event {quoted(kind)} {quoted(provider)}`)"
        case "event", None:
            return "an event"
        case "time", "trial":
            return "another turn that tries its model"
        case "time", "call":
            return "a time that its call has named"
        case "time", _:
            return "the time that its provider has stated"
