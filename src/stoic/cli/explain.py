"""`stoic explain`: says of recorded exchanges which failure each one is, why, and what to do."""

import os
from typing import Any, TextIO

from msgspec.structs import replace

from stoic.cli.cleaning import json_text, one_line
from stoic.cli.exits import COMPLETED, USAGE
from stoic.cli.intake import Exchange, read_exchanges
from stoic.cli.pasted_http import ToldAs
from stoic.cli.reading import read_file, read_stream
from stoic.cli.screen import Style
from stoic.core.classify import Verdict, classify, report_from
from stoic.core.classify.verdict import Evidence
from stoic.core.failures import Axis, FailureClass
from stoic.errors import UsageError

_DECIDED = {"class": "", "wait": " (the wait)", "category": " (the category)"}

_MEANINGS: dict[FailureClass, str] = {
    FailureClass.NETWORK: "no connection, or the connection died",
    FailureClass.TIMEOUT: "no answer in time",
    FailureClass.OVERLOADED: "the provider has no capacity at the moment",
    FailureClass.SERVER_ERROR: "the provider broke while answering",
    FailureClass.RATE_LIMIT: "too many requests or tokens in a window of time",
    FailureClass.TRUNCATED_STREAM: "the answer ended without the protocol's own end",
    FailureClass.QUOTA: "the account's money or allowance is used up",
    FailureClass.AUTH: "the credential is missing, wrong or expired",
    FailureClass.PERMISSION: "the credential may not do this",
    FailureClass.MODEL_NOT_FOUND: "the provider does not serve this model",
    FailureClass.CONTEXT_LENGTH: "the request is larger than it may be",
    FailureClass.INVALID_REQUEST: "the provider finds the request malformed",
    FailureClass.BAD_SCHEMA: "a tool's schema is not one this provider takes",
    FailureClass.IMAGE_TOO_LARGE: "an image is beyond the provider's limit",
    FailureClass.HISTORY_CORRUPT: "the conversation breaks a rule of the API",
    FailureClass.SIGNATURE_INVALID: "a replayed reasoning signature is not accepted",
    FailureClass.MALFORMED_TOOL_CALL: "the model produced a tool call that cannot be read",
    FailureClass.OUTPUT_LIMIT: "the answer hit its length limit",
    FailureClass.EMPTY_RESPONSE: "a normal end with neither visible text nor a tool call",
    FailureClass.REFUSAL: "a verdict on the request's content: an outcome, not an error",
    FailureClass.CANCELLED: "somebody stopped it",
    FailureClass.UNKNOWN: "nothing that is known",
}

_TO_DO: dict[FailureClass, str] = {
    FailureClass.NETWORK: "Check the connection and the address; sending again may help.",
    FailureClass.TIMEOUT: "Send again; if it stays, allow more time or ask for less.",
    FailureClass.OVERLOADED: "Wait and send again a few times, or use another model for this turn.",
    FailureClass.SERVER_ERROR: "Wait and send again a few times; if it stays, look at the provider's status page.",
    FailureClass.RATE_LIMIT: "Wait and send again; if it is frequent, send less at a time or ask for a higher limit.",
    FailureClass.TRUNCATED_STREAM: "Discard what came, run no tool call of it, and send again.",
    FailureClass.QUOTA: "Add credit or use another key; no retry will help.",
    FailureClass.AUTH: "Replace or renew the key; no retry will help.",
    FailureClass.PERMISSION: "Change what the key, project, region or network may do; no retry will help.",
    FailureClass.MODEL_NOT_FOUND: "Correct the model's name or the address, or get access to it.",
    FailureClass.CONTEXT_LENGTH: "Make the request smaller (compact the conversation); the same bytes never pass.",
    FailureClass.INVALID_REQUEST: "Correct the field the provider names; the same bytes never pass.",
    FailureClass.BAD_SCHEMA: "Simplify the tool's schema to what this provider takes.",
    FailureClass.IMAGE_TOO_LARGE: "Send a smaller image, or none.",
    FailureClass.HISTORY_CORRUPT: "Repair the conversation: each call needs its result, and no message may be empty.",
    FailureClass.SIGNATURE_INVALID: "Leave out reasoning that another model or session made.",
    FailureClass.MALFORMED_TOOL_CALL: "Ask once more and say that the call could not be read; never guess its arguments.",
    FailureClass.OUTPUT_LIMIT: "Ask for less or allow a longer answer; a call that was cut must not run.",
    FailureClass.EMPTY_RESPONSE: "Ask once more and say that the reply was empty; never show it as an answer.",
    FailureClass.REFUSAL: "Do not resend the same bytes: take out what came from outside, or switch the model yourself.",
    FailureClass.CANCELLED: "Nothing: it was wanted.",
    FailureClass.UNKNOWN: "Look at it yourself: nothing here says that sending again is safe or useful.",
}

_TO_DO_BY_AXIS: dict[tuple[FailureClass, Axis], str] = {
    (FailureClass.NETWORK, Axis.CONFIG): "Correct the certificate, proxy or address; no retry will help.",
    (FailureClass.SERVER_ERROR, Axis.CONFIG): "Give the server what it lacks (memory, a smaller model).",
    (FailureClass.QUOTA, Axis.CONFIG): "Raise the limit that was set, or change the plan; no retry will help.",
    (FailureClass.QUOTA, Axis.TIME): "Wait until the allowance returns, or use another key or model until then.",
    (
        FailureClass.INVALID_REQUEST,
        Axis.CONFIG,
    ): "Change the server's setting or the address; the request is not at fault.",
    (FailureClass.CONTEXT_LENGTH, Axis.REQUEST_CHANGE): "Ask for a shorter answer (smaller max_tokens); no compaction.",
    (FailureClass.PERMISSION, Axis.TIME): "Wait: the access is being set up.",
}

_TO_DO_BY_SCOPE = {
    "account": "Contact the provider: access was revoked. No retry and no rewording will help.",
    "agent_action": "Look at what the agent was about to do and decide yourself.",
    "model": "Another model answered after a refusal: judge that answer yourself.",
}


def explain(file: str, *, as_json: bool, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Explain each exchange of a file. If any item is malformed nothing is printed but one line that says which.

    Args:
        file: A path, or `-` for `stdin`.
        as_json: Whether to print one JSON object a line, in input order, instead of text for people.
        stdin: Read when the file is `-`.
        stdout: Where explanations go.
        stderr: Where the one line about malformed input goes.

    Returns:
        The exit code: 0, or 2 for input that cannot be explained.
    """
    try:
        exchanges = read_exchanges(_text(file, stdin))
        verdicts = [_verdict(exchange, position) for position, exchange in enumerate(exchanges, 1)]
    except UsageError as error:
        stderr.write(f"stoic explain: {one_line(str(error))}\n")
        return USAGE
    style = Style(stdout, os.environ)
    for position, (exchange, verdict) in enumerate(zip(exchanges, verdicts, strict=True), 1):
        name = _name(exchange, position)
        if as_json:
            stdout.write(json_text(as_object(name, verdict)) + "\n")
        else:
            stdout.write(("\n" if position > 1 else "") + "\n".join(_lines(name, exchange, verdict, style)) + "\n")
    return COMPLETED


def as_object(name: str, verdict: Verdict) -> dict[str, Any]:
    """Return one line of `--json`: `class` is a failure class or `ok`, times are seconds, absent values null."""
    return {
        "id": name,
        "class": verdict.name,
        "recovers_with": verdict.recovers_with,
        "retry_after_s": _seconds(verdict.retry_after_ms),
        "scope": verdict.scope,
        "category": verdict.category,
        "where": verdict.where,
        "after_output": verdict.after_output,
        "evidence": [{"field": one.field, "value": one.value, "decided": one.decided} for one in verdict.evidence],
    }


def _text(file: str, stdin: TextIO) -> str:
    try:
        return read_stream(stdin, "stdin") if file == "-" else read_file(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 (byte {error.start}); convert it first") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {file!r} ({error}); name a file, or - for stdin") from None


def _verdict(exchange: Exchange, position: int) -> Verdict:
    try:
        verdict = classify(report_from(exchange))
    except UsageError as error:
        raise UsageError(f"item {position}: {error}") from None
    told_as = exchange.get("told_as")
    if not isinstance(told_as, ToldAs):
        return verdict
    return replace(verdict, evidence=[_as_pasted(one, told_as) for one in verdict.evidence])


def _as_pasted(one: Evidence, told_as: ToldAs) -> Evidence:
    """Name what stood in the text itself: it held no Python exception, one was only made of it."""
    made = one.field.startswith("exception.")
    return replace(one, field=told_as.field, value=told_as.value) if made else one


def _name(exchange: Exchange, position: int) -> str:
    given = exchange.get("id")
    return given if isinstance(given, str) and given else str(position)


def _seconds(milliseconds: int | None) -> float | int | None:
    if milliseconds is None:
        return None
    return milliseconds // 1000 if milliseconds % 1000 == 0 else milliseconds / 1000


def _lines(name: str, exchange: Exchange, verdict: Verdict, style: Style) -> list[str]:
    """Return what a person reads about one exchange."""
    title = f"{one_line(name)} ({one_line(str(exchange.get('provider') or 'unknown'))})"
    if verdict.failure is None:
        unconfirmed = "; only [DONE] said that it was over" if verdict.end_unconfirmed else ""
        return [style(title, "bold"), f"  {style('ok', 'green')}: a complete, normal reply{unconfirmed}"]
    lines = [
        style(title, "bold"),
        f"  {style(verdict.name, 'red')}: {_MEANINGS[verdict.failure]}",
        f"  recovers with: {_recovery(verdict)}",
    ]
    if verdict.failure is FailureClass.REFUSAL:
        after = "after output had been shown" if verdict.after_output else "nothing had been shown"
        lines.append(f"  refused: {verdict.category or 'no category named'}; {verdict.where}, {after}; {verdict.scope}")
    for one in verdict.evidence:
        value = f" = {one_line(one.value)}" if one.value else ""
        lines.append(f"  because: {one_line(one.field)}{value}{_DECIDED.get(one.decided, '')}")
    if verdict.request_id:
        lines.append(f"  request id: {one_line(verdict.request_id)}")
    return [*lines, f"  do: {_advice(verdict.failure, verdict)}"]


def _recovery(verdict: Verdict) -> str:
    wait = _seconds(verdict.retry_after_ms)
    stated = f", stated wait {wait} s" if wait is not None else ""
    smaller = f", max_tokens at most {verdict.limit_tokens}" if verdict.limit_tokens is not None else ""
    return f"{verdict.recovers_with}{stated}{smaller}"


def _advice(failure: FailureClass, verdict: Verdict) -> str:
    by_axis = _TO_DO_BY_AXIS.get((failure, verdict.recovers_with)) if verdict.recovers_with else None
    return _TO_DO_BY_SCOPE.get(verdict.scope or "") or by_axis or _TO_DO[failure]
