"""Says what an error object means: its codes first, then a text its provider is known to use, then the status."""

import re
from collections.abc import Iterator

from stoic.core.classify import known_texts, providers, shared_codes
from stoic.core.classify.error_objects import in_message
from stoic.core.classify.fields import at, code_like, filtered_names, fold, items, mapping, text
from stoic.core.classify.rules import TIMEOUT, ErrorObject, Family, Finding, Mark, Words, refused
from stoic.core.failures import Axis, FailureClass
from stoic.records import Json

Inner = list[tuple[ErrorObject, Family]]
"""Errors inside another one, each with what is known of its own provider."""

_POLICY = re.compile(r"(self_harm|[a-z]+)_policy(?:_violation)?")
_WORDS_READ = 4000
_MOST_DIGITS = 15


def judge(error: ErrorObject, family: Family, inner: Inner, *, page: bool) -> Finding | None:
    """Return what an error means, or None if nothing about it is known.

    Args:
        error: The error.
        family: What is known of its provider.
        inner: The errors inside it, as `inside` returns them.
        page: Whether it came as a page for people.
    """
    found = _opened(inner) or specific(error, family)
    status = by_status(error.status, family, page=page)
    if found is None:
        found = status or _by_code(error, shared_codes.VAGUE, {})[1]
    elif status is not None:
        if found.mark.failure is FailureClass.SERVER_ERROR and status.mark == TIMEOUT:
            return status  # "server error" on a timeout's status: the status is the more exact of the two
        found = _confirmed(found, status) or found
    return found and _completed(found, error, family)


def by_status(status: int | None, family: Family, *, page: bool) -> Finding | None:
    """Return what an HTTP status alone means at this provider."""
    if status is None:
        return None
    mark = family.statuses.get(status) or shared_codes.by_status(status, page=page)
    return mark and Finding(mark=mark, field="status", value=str(status))


def specific(error: ErrorObject, family: Family) -> Finding | None:
    """Return what an error's own codes or known text mean, without the status."""
    read = family.read(error) if family.read else None
    if read is not None:
        return read
    firm, coded = _by_code(error, family.codes, shared_codes.CODES)
    if firm is not None:
        return _counted(firm, error, family)
    return _by_policy(error) or _by_words_or_code(coded, error, family)


def _counted(coded: Finding, error: ErrorObject, family: Family) -> Finding:
    """Return an overflow that a code states with the numbers of its text: a smaller `max_tokens` may be enough."""
    if coded.mark.failure is not FailureClass.CONTEXT_LENGTH:
        return coded
    said = _by_words(error, family)
    if said is None or said.limit_tokens is None or said.mark.failure is not coded.mark.failure:
        return coded
    return Finding(mark=said.mark, field=coded.field, value=coded.value, limit_tokens=said.limit_tokens)


def _by_words_or_code(coded: Finding | None, error: ErrorObject, family: Family) -> Finding | None:
    """Return what a known text says, unless a code already says the same: structure is the better evidence."""
    said = _by_words(error, family)
    return _confirmed(said, coded) or said or coded


def _confirmed(said: Finding | None, structural: Finding | None) -> Finding | None:
    """Return the structural finding if a text says nothing more than it."""
    if said is None or structural is None or not said.by_text or said.limit_tokens is not None:
        return None
    same = (said.mark.failure, said.mark.axis) == (structural.mark.failure, structural.mark.axis)
    return structural if same and said.mark.waits == structural.mark.waits else None


def _opened(inner: Inner) -> Finding | None:
    """Return what an error inside another one means: a gateway's, or one whose text is an error as a whole."""
    for error, family in inner:
        found = specific(error, family)
        if found:
            return _completed(found, error, family)
    return None


def inside(error: ErrorObject, family: Family) -> Inner:
    """Return the errors inside an error, each with what is known of its own provider."""
    written = error.written
    if written is None:
        written = in_message(error.message, error.message_field, error.status)
    found = [(inner, family) for inner in written]
    if family.open is None:
        return found
    return [*((inner, providers.family(provider)) for inner, provider in family.open(error)), *found]


def _by_code(
    error: ErrorObject, own: dict[str, Mark], shared: dict[str, Mark]
) -> tuple[Finding | None, Finding | None]:
    """Return what the most specific firm code means, and the most specific known one; a code's own table counts first."""
    first: Finding | None = None
    for field, value in error.codes:
        code = fold(value)
        mark = own.get(code) or shared.get(code)
        if mark is None:
            continue
        found = Finding(mark=mark, field=field, value=value)
        first = first or found
        if mark.firm:
            return found, first
    return None, first


def _by_policy(error: ErrorObject) -> Finding | None:
    """OpenAI names a policy verdict `<category>_policy` or `<category>_policy_violation`; the set is open."""
    for field, value in error.codes:
        matched = _POLICY.fullmatch(value) if "_policy" in value else None
        if matched:
            # Misalignment is a verdict on what the agent was about to do, to be reviewed by a person.
            scope = "agent_action" if matched[1] == "misalignment" else None
            return Finding(mark=refused(matched[1], scope=scope), field=field, value=value)
    return None


def _by_words(error: ErrorObject, family: Family) -> Finding | None:
    message = _read_of(error)
    for row, matched in known_texts.matches(family, message, error.status) if message else ():
        found = _with_numbers(row, matched, error)
        if found:
            return found
    return None


def _read_of(error: ErrorObject) -> str:
    """Return what is read of an error's text."""
    return error.message[:_WORDS_READ].lower()


def _with_numbers(row: Words, matched: re.Match[str], error: ErrorObject) -> Finding | None:
    groups = matched.groupdict()
    numbers = {name: _count(value) for name, value in groups.items() if value and name != "category"}
    limit, requested, taken = numbers.get("limit"), numbers.get("requested"), numbers.get("input")
    if "requested" in groups and (limit is None or requested is None or requested <= limit):
        return None  # it fits the limit: only a matter of time
    mark, most = row.mark, numbers.get("most")
    if groups.get("category"):
        mark = refused(groups["category"], where=mark.where)
    if limit is not None and taken is not None and taken < limit:
        mark, most = Mark(failure=mark.failure, axis=Axis.REQUEST_CHANGE), limit - taken
    return Finding(
        mark=mark,
        field=error.message_field,
        value=error.message[slice(*matched.span())],
        limit_tokens=most,
        by_text=True,
    )


def _count(digits: str) -> int | None:
    """Return the number that a text writes, such as `128,000`; None if it is none, or longer than any count of tokens."""
    written = digits.replace(",", "")
    return int(written) if 0 < len(written) <= _MOST_DIGITS else None


# ---- what more a refusal's error says ------------------------------------------------------------


def _completed(found: Finding, error: ErrorObject, family: Family) -> Finding:
    """Return a refusal with the category and side that other fields or the known text name."""
    mark = found.mark
    if mark.failure is not FailureClass.REFUSAL:
        return found
    # "Moderation" only says that there was one: a filter or a sentence may say about what.
    named = None if mark.category == "moderation" else mark.category
    category, where = named, mark.where
    for name, side in _filters(error.data):
        category, where = category or name, where or side
    said = None if found.by_text else _refusing_words(error, family)
    if said is not None:
        category, where = category or said.category, where or said.where
    complete = refused(category or mark.category, where=where, scope=mark.scope)
    value = "" if found.by_text else found.value
    return Finding(mark=complete, field=found.field, value=code_like(value))


def _refusing_words(error: ErrorObject, family: Family) -> Mark | None:
    """Return what a known text says, if one of a refusal may be among them."""
    if not known_texts.may_refuse(family, _read_of(error), error.status):
        return None
    said = _by_words(error, family)
    return said and said.mark


def _filters(data: dict[str, Json]) -> Iterator[tuple[str | None, str | None]]:
    """Yield (category, where) of the content filters that acted, as Azure lists them."""
    for holder in (mapping(data.get("innererror")), data):
        for key in ("content_filter_result", "content_filter_results"):
            for name in filtered_names(holder.get(key)):
                yield ("blocklist" if name == "custom_blocklists" else name), None
    for entry in items(data.get("content_filters")):
        if mapping(entry).get("blocked") is True:
            side = {"prompt": "prompt", "completion": "completion"}.get(text(at(entry, "source_type")))
            names = filtered_names(at(entry, "content_filter_results"))
            yield (names[0] if names else None), side
