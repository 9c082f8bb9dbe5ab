"""Classifies one report: which failure it is, what it recovers with, and which field said so."""

from stoic.core.classify import error_meaning, exceptions, providers, replies, waits
from stoic.core.classify.documents import documents_of, read_reply
from stoic.core.classify.error_objects import in_body, in_event, is_page
from stoic.core.classify.fields import decoded, mapping, shortened, text
from stoic.core.classify.reading import Reading
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
    family = _family(report)
    documents = documents_of(report)
    reading = read_reply(report, documents)
    errors = _errors(report)
    carried: list[ErrorObject] = []
    if not errors and report.exception is not None and not reading.ended:
        if exceptions.is_cancelled(report.exception):
            return _verdict(report, family, reading, exceptions.judge(report.exception), [])
        carried = exceptions.carried_errors(report.exception, report.status)
    finding = _judged(report, family, reading, errors or carried)
    return _verdict(report, family, reading, finding, errors or carried)


def _family(report: Report) -> Family:
    """Return the provider's table; a provider without one may still be named by its SDK's exception."""
    if report.exception is not None and providers.table_name(report.provider) is None:
        return providers.family(report.exception.type.partition(".")[0])
    return providers.family(report.provider)


def _errors(report: Report) -> list[ErrorObject]:
    found = [
        error
        for index, event in enumerate(report.events)
        for error in in_event({**event, "data": decoded(event.get("data"))}, f"events[{index}]")
    ]
    found.extend(in_body(decoded(report.body), report.status))
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


def _judged(report: Report, family: Family, reading: Reading, errors: list[ErrorObject]) -> Finding | None:
    page = is_page(report.body)
    for error in errors:
        found = error_meaning.judge(error, family, page=page)
        if found:
            return found
    if errors:
        field, value = (errors[0].codes or [(errors[0].path, "")])[0]
        return Finding(mark=UNKNOWN, field=field, value=value)
    if report.exception is not None and not reading.ended:
        return exceptions.judge(report.exception)
    return error_meaning.by_status(report.status, family, page=page) or _without_error(report, family, reading)


def _without_error(report: Report, family: Family, reading: Reading) -> Finding | None:
    """Judge an answer that neither an error nor its status calls a failure."""
    if report.status is not None and not 200 <= report.status < 300:  # noqa: PLR2004 -- the successes of HTTP
        return Finding(mark=UNKNOWN, field="status", value=str(report.status))
    if not reading.known and _is_half_json(report.body):
        return Finding(mark=TRUNCATED, field="body", value="")
    return replies.judge(reading, family, cut=report.end == "cut")


def _is_half_json(body: Json) -> bool:
    """Return whether a body began as JSON and is none: its end did not arrive."""
    return isinstance(body, str) and body.lstrip()[:1] in ("{", "[")


# ---- the verdict --------------------------------------------------------------------------------


def _verdict(
    report: Report, family: Family, reading: Reading, finding: Finding | None, errors: list[ErrorObject]
) -> Verdict:
    request_id = _request_id(report, reading, errors)
    if finding is None:
        return Verdict(failure=None, request_id=request_id, end_unconfirmed=replies.end_unconfirmed(reading))
    failure = finding.mark.failure
    evidence = [Evidence(field=finding.field, value=shortened(finding.value))]
    if failure is FailureClass.REFUSAL:
        return _refusal(report, reading, finding, evidence, request_id)
    axis = finding.mark.axis or DEFAULT_AXIS[failure]
    wait = _wait(report, family, finding, axis, errors)
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
    report: Report, family: Family, finding: Finding, axis: Axis, errors: list[ErrorObject]
) -> waits.Stated | None:
    """Return the stated wait where waiting can help; a quota is only lifted by time if the error itself says when."""
    if not finding.mark.waits:
        return None
    # What a gateway passes on from the provider behind it is the more exact.
    errors = [*(inner for error in errors for inner, _ in error_meaning.inside(error, family)), *errors]
    if finding.mark.failure is FailureClass.QUOTA:
        return waits.stated_reset(errors, report.headers, report.received_at, family.zone_hours)
    if axis is not Axis.TIME:
        return None
    limited = finding.mark.failure is FailureClass.RATE_LIMIT
    return waits.stated(report.headers, errors, report.received_at, family.zone_hours, limited=limited)


def _refusal(
    report: Report, reading: Reading, finding: Finding, evidence: list[Evidence], request_id: str | None
) -> Verdict:
    """Return the verdict of a refusal; the provider's words never become evidence, only its codes."""
    mark = finding.mark
    where = mark.where or ("completion" if reading.parts else "prompt")
    streamed = reading.stream or (report.exception is not None and report.exception.after_first_byte)
    evidence.extend(
        Evidence(field=field, value=category, decided="category")
        for field, category in reading.categories[:1]
        if category == mark.category
    )
    return Verdict(
        failure=FailureClass.REFUSAL,
        recovers_with=mark.axis or Axis.BOUNDARY,
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


def _stated_request_id(report: Report, errors: list[ErrorObject]) -> str | None:
    holders = [
        mapping(report.body),
        *(mapping(event.get("data")) for event in report.events),
        *(e.data for e in errors),
    ]
    for holder in holders:
        for key in ("request_id", "requestId"):
            if text(holder.get(key)):
                return text(holder[key])
    return None
