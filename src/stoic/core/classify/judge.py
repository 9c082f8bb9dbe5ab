"""Classifies one report: which failure it is, what it recovers with, and which field said so."""

from stoic.core.classify import error_meaning, exceptions, naming, providers, replies, waits
from stoic.core.classify.documents import documents_of, read_reply
from stoic.core.classify.error_objects import in_body, in_event, is_page
from stoic.core.classify.fields import at, decoded, shortened, text
from stoic.core.classify.reading import Document, Reading
from stoic.core.classify.rules import TRUNCATED, UNKNOWN, ErrorObject, Family, Finding
from stoic.core.classify.verdict import Evidence, Verdict
from stoic.core.failures import DEFAULT_AXIS, Axis, FailureClass
from stoic.records import CallPart, Json, Report

_REQUEST_ID_HEADERS = (
    "x-request-id",
    "request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "x-goog-request-id",
    "cf-ray",
)


def judge(report: Report) -> Verdict:
    """Return the verdict on a report; see `stoic.core.classify.classify`."""
    body = decoded(report.body)
    documents = documents_of(body, report.events)
    reading = read_reply(report, documents)
    errors = _errors(report, body, documents)
    if not errors and report.exception is not None and not reading.ended:
        if exceptions.is_cancelled(report.exception):
            return _verdict(report, _family(report, []), reading, exceptions.judge(report.exception), [], [])
        errors = exceptions.carried_errors(report.exception, report.status)
    family = _family(report, errors)
    inner = [error_meaning.inside(error, family) for error in errors]
    finding = _judged(report, body, family, reading, errors, inner)
    # What a gateway passes on from the provider behind it is the more exact.
    behind = [error for group in inner for error, _ in group]
    return _verdict(report, family, reading, finding, errors, [*behind, *errors])


def _family(report: Report, errors: list[ErrorObject]) -> Family:
    """Return the provider's table; a provider without one may still be named by its SDK's exception or by its answer."""
    if report.exception is not None and providers.table_name(report.provider) is None:
        return providers.family(report.exception.type.partition(".")[0])
    family = providers.family(report.provider)
    if not family.compatible:
        return family
    for error in errors:
        named = naming.named_by(error, report.headers)
        if named:
            return providers.family_behind(report.provider, named)
    return family


def _errors(report: Report, body: Json, documents: list[Document]) -> list[ErrorObject]:
    events = documents[len(documents) - len(report.events) :]
    found = [error for event in events for error in in_event(event.event, event.raw, event.path)]
    found += in_body(body, report.status)
    header = report.headers.get("x-amzn-errortype", "").partition(":")[0]
    if header:  # AWS names the exception beside the body
        code = ("headers.x-amzn-errortype", header)
        first = found[0] if found else ErrorObject(path="body", data={}, codes=[], status=report.status)
        return [_with_code(first, code), *found[1:]]
    return found


def _with_code(error: ErrorObject, code: tuple[str, str]) -> ErrorObject:
    return ErrorObject(
        path=error.path,
        data=error.data,
        codes=[code, *error.codes],
        message=error.message,
        message_field=error.message_field,
        status=error.status,
    )


def _judged(
    report: Report,
    body: Json,
    family: Family,
    reading: Reading,
    errors: list[ErrorObject],
    inner: list[error_meaning.Inner],
) -> Finding | None:
    page = is_page(body)
    for error, inside in zip(errors, inner, strict=True):
        found = error_meaning.judge(error, family, inside, page=page)
        if found:
            return found
    if errors:
        field, value = (errors[0].codes or [(errors[0].path, "")])[0]
        return Finding(mark=UNKNOWN, field=field, value=value)
    if report.exception is not None and not reading.ended:
        return exceptions.judge(report.exception)
    return error_meaning.by_status(report.status, family, page=page) or _without_error(report, body, family, reading)


def _without_error(report: Report, body: Json, family: Family, reading: Reading) -> Finding | None:
    """Judge an answer that neither an error nor its status calls a failure."""
    if report.status is not None and not 200 <= report.status < 300:  # noqa: PLR2004 -- the successes of HTTP
        return Finding(mark=UNKNOWN, field="status", value=str(report.status))
    if _is_half_json(body):
        return Finding(mark=TRUNCATED, field="body", value="")
    return replies.judge(reading, family, cut=report.end == "cut")


def _is_half_json(body: Json) -> bool:
    """Return whether a decoded body began as JSON and is none: its end did not arrive."""
    return isinstance(body, str) and body.lstrip()[:1] in ("{", "[")


# ---- the verdict --------------------------------------------------------------------------------


def _verdict(
    report: Report,
    family: Family,
    reading: Reading,
    finding: Finding | None,
    errors: list[ErrorObject],
    sources: list[ErrorObject],
) -> Verdict:
    request_id = _request_id(report, reading, errors)
    if finding is None:
        return Verdict(failure=None, request_id=request_id, end_unconfirmed=replies.end_unconfirmed(reading))
    failure = finding.mark.failure
    evidence = [Evidence(field=finding.field, value=shortened(finding.value))]
    if failure is FailureClass.REFUSAL:
        return _refusal(report, reading, finding, evidence, request_id)
    axis = finding.mark.axis or DEFAULT_AXIS[failure]
    wait = _wait(report, family, finding, axis, sources)
    if wait is not None:
        axis = Axis.TIME
        evidence.append(Evidence(field=wait.field, value=wait.value, decided="wait"))
    return Verdict(
        failure=failure,
        recovers_with=axis,
        retry_after_ms=wait.wait_ms if wait else None,
        after_output=_after_output(reading),
        limit_tokens=finding.limit_tokens,
        evidence=evidence,
        request_id=request_id,
    )


def _wait(
    report: Report, family: Family, finding: Finding, axis: Axis, sources: list[ErrorObject]
) -> waits.Stated | None:
    """Return the stated wait where waiting can help; a quota is only lifted by time if the error itself says when."""
    if not finding.mark.waits:
        return None
    if finding.mark.failure is FailureClass.QUOTA:
        return waits.stated_reset(sources, report.headers, report.received_at, family.zone_hours)
    if axis is not Axis.TIME:
        return None
    limited = finding.mark.failure is FailureClass.RATE_LIMIT
    return waits.stated(report.headers, sources, report.received_at, family.zone_hours, limited=limited)


def _refusal(
    report: Report, reading: Reading, finding: Finding, evidence: list[Evidence], request_id: str | None
) -> Verdict:
    """Return the verdict of a refusal; the provider's words never become evidence, only its codes."""
    mark = finding.mark
    # Anthropic's stop reason tells no side; before any output it can only be the prompt.
    where = mark.where or ("completion" if reading.parts or reading.other_output else "prompt")
    streamed = reading.stream or (report.exception is not None and report.exception.after_first_byte)
    if reading.category and reading.category[1] == mark.category:
        evidence.append(Evidence(field=reading.category[0], value=reading.category[1], decided="category"))
    return Verdict(
        failure=FailureClass.REFUSAL,
        recovers_with=Axis.BOUNDARY,
        category=mark.category,
        where="mid_stream" if streamed else where,
        scope=mark.scope or "request_bytes",
        after_output=_after_output(reading),
        evidence=evidence,
        request_id=request_id,
    )


def _after_output(reading: Reading) -> bool:
    """Return whether a text or a call had been streamed; what comes whole was not shown before its verdict."""
    return reading.stream and (reading.visible or any(isinstance(part, CallPart) for part in reading.parts))


def _request_id(report: Report, reading: Reading, errors: list[ErrorObject]) -> str | None:
    if report.request_id:
        return report.request_id
    for name in _REQUEST_ID_HEADERS:
        if report.headers.get(name):
            return report.headers[name]
    return _stated_request_id(report, errors) or reading.request_id


def _stated_request_id(report: Report, errors: list[ErrorObject]) -> str:
    stated = _request_id_in(report.body)
    for event in report.events:
        stated = stated or _request_id_in(event.get("data"))
    for error in errors:
        stated = stated or _request_id_in(error.data)
    return stated


def _request_id_in(holder: Json) -> str:
    """Return the id that an object itself states, or nothing."""
    if isinstance(holder, dict) and ("request_id" in holder or "requestId" in holder):
        return text(at(holder, "request_id")) or text(at(holder, "requestId"))
    return ""
