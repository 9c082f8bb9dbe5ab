"""Judges a reply that carries no error: complete or not, refused, cut, empty, or with a call that cannot be read."""

import msgspec

from stoic.core.classify.fields import code_like
from stoic.core.classify.finishes import FINISHES, NORMAL, RESAMPLED, TOOL, plain
from stoic.core.classify.reading import Reading
from stoic.core.classify.rules import (
    EMPTY_RESPONSE,
    MALFORMED_TOOL_CALL,
    NETWORK,
    TRUNCATED,
    UNKNOWN,
    Family,
    Finding,
    Mark,
)
from stoic.core.failures import FailureClass
from stoic.foreign_json import read_foreign
from stoic.records import CallPart


def judge(reading: Reading, family: Family, *, cut: bool) -> Finding | None:
    """Return what is wrong with a reply, or None for a complete and normal one.

    Args:
        reading: The reply.
        family: What is known of its provider.
        cut: Whether the connection broke, rather than ended.
    """
    finish = plain(reading.finish)
    mark = family.finishes.get(finish) or FINISHES.get(finish)
    if mark and mark.failure is FailureClass.REFUSAL and not reading.hint:
        return _finding(_categorised(mark, reading), reading)
    hint = reading.hint
    if hint:
        return Finding(mark=_categorised(hint.mark, reading), field=hint.field, value=code_like(hint.value))
    if reading.stream and not reading.ended:
        return _unended(reading, cut=cut)
    if not reading.known:
        return Finding(mark=UNKNOWN, field="body", value="")
    if not reading.ended:  # a body that says itself that the reply had not finished
        return Finding(mark=TRUNCATED, field="body", value="")
    return _ended(mark, finish, reading)


def end_unconfirmed(reading: Reading) -> bool:
    """Return whether only `[DONE]` ended a text."""
    return reading.done and not reading.ended and reading.visible and not _calls(reading)


def _calls(reading: Reading) -> list[CallPart]:
    return [part for part in reading.parts if isinstance(part, CallPart)]


def _unended(reading: Reading, *, cut: bool) -> Finding | None:
    if cut:
        return Finding(mark=NETWORK, field="end", value="cut")
    if end_unconfirmed(reading):
        return None
    return Finding(mark=TRUNCATED, field="end", value="clean")


def _ended(mark: Mark | None, finish: str, reading: Reading) -> Finding | None:
    """Judge a reply whose own end came, by its finish reason and then by what it holds."""
    if mark is None and finish in RESAMPLED:
        mark = UNKNOWN if reading.visible else EMPTY_RESPONSE
    elif mark is None and finish and finish not in NORMAL:
        mark = UNKNOWN
    mark = mark or _content(finish, reading)
    return mark and _finding(mark, reading)


def _content(finish: str, reading: Reading) -> Mark | None:
    """Return what is wrong with what a normally ended reply holds."""
    calls = _calls(reading)
    if not all(call.whole for call in calls):
        return TRUNCATED
    if not all(_readable(call) for call in calls) or (finish in TOOL and not calls and not reading.other_output):
        return MALFORMED_TOOL_CALL
    return None if calls or reading.visible else EMPTY_RESPONSE


def _readable(call: CallPart) -> bool:
    """Return whether a call names a tool and its arguments are an object, or none."""
    if not call.name:
        return False
    if not call.arguments.strip():
        return True
    try:
        return isinstance(read_foreign(call.arguments.encode(errors="replace")), dict | None)
    except msgspec.DecodeError:
        return False


def _finding(mark: Mark, reading: Reading) -> Finding:
    return Finding(mark=mark, field=reading.finish_field or "body", value=code_like(reading.finish or ""))


def _categorised(mark: Mark, reading: Reading) -> Mark:
    """Return a refusal's mark with the category and side that the reply's filters name."""
    category = mark.category or (reading.category[1] if reading.category else None)
    return Mark(failure=mark.failure, category=category, where=reading.where or mark.where, scope=mark.scope)
