"""Every fixed sentence the runtime itself says to a model or of an ending to a person."""

import re
import shlex
import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches

import msgspec

from stoic.core.classify.verdict import Verdict
from stoic.core.failures import Axis, FailureClass
from stoic.moments import date_of
from stoic.records import Json, Operation, Refusal

_MARK = re.compile(r"[\W_]*+(?=runtime)", re.IGNORECASE)
"""What may stand before the word with which results begin that are the runtime's own; with a bracket in it, it is the mark."""
_BEGINNING = 4096
"""So far into a text its first letters are looked for."""
EMPTY_REPLY = "[runtime] Your last reply was empty. Answer from what is there, or say what is missing."
HALF_CALL = (
    "[runtime] Your last reply hit its length limit inside a tool call, so nothing of it was run or kept. "
    "Take a smaller step: split the work into several shorter calls."
)
UNREADABLE_CALL = (
    "[runtime] Your last reply held a tool call that could not be read, so nothing of it was run or kept. "
    "Call the tool again with arguments that are one JSON object."
)
WITHHELD_RESULT = (
    "[runtime] This result was withheld because the request that held it did not go through. That does not tell whether "
    "the operation took effect. Do not repeat an operation with side effects; where nothing tells, report it as unknown."
)
ALSO_WITHHELD = ", also without what could be withheld"
"""After who refused, where something was withheld and asked without."""
NO_RESULT = "[runtime] No result of this call was recorded; whether it took effect is unknown."
NO_OUTPUT = "(no output)"

START_ANEW = (
    "This task ended by refusal and never runs again. Start a new task with another model; you may refer to the artefact "
    "paths or the branch of this one."
)
TASK_REFUSED = (
    "The provider refused, and the task stopped at once. Its scene and everything it made are untouched; what led to the "
    f"refusal is not passed on. {START_ANEW}"
)
INTERRUPTED = "The task cannot go on: what it needs to run is gone (its folder, a tool or its agent)."
NOT_ASKED_AGAIN = "Stopped: the brief was refused before, and it was decided not to send it to another provider."
TASK_DELIVERED = "The task says that it is done. Where an effect outside matters, check it independently."
TASK_UNFINISHED = "The task did not finish. What it said until then is no result; say so where you use it."


def unknown_tool(name: str, known: list[str]) -> str:
    """Say that a tool does not exist, which names are close and which exist."""
    name = name[:64]
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    listed = ", ".join(sorted(known)) or "none"
    return f"[runtime] There is no tool named {name!r}.{hint} Tools that exist: {listed}."


def not_in_mode(name: str, mode: str, known: list[str]) -> str:
    """Say that the thread's mode leaves a tool out, and which it has."""
    listed = ", ".join(sorted(known)) or "none"
    return (
        f"[runtime] The call of {name} was not run: mode {mode} does not have this tool. Tools of this mode: {listed}. Say what "
        "you would do with it; a person can switch the mode."
    )


def bad_arguments(tool: str, reason: str) -> str:
    """Say which argument of a call does not fit."""
    return f"[runtime] The call of {tool} was not run: {reason}"


def blocked(reason: str) -> str:
    """Say that a call was not run because the agent repeats itself."""
    return f"[runtime] {reason}"


def stuck(reason: str, thread: str) -> str:
    """Say to a person that a thread's turn was stopped as a loop."""
    return (
        f"Stopped: the agent repeats itself without news. {reason} Send a message to go on another way, or let it repeat so "
        f"many calls more: `stoic resume {shlex.quote(thread)} --allow N`."
    )


def allowed(calls: int) -> str:
    """Say to the model that a person lets it repeat itself for a while."""
    said = "one more call" if calls == 1 else f"{calls} more calls"
    return (
        f"[runtime] A person allows {said} of those that were blocked as a loop. After that they are blocked again: use "
        "what comes of them, or say what is missing."
    )


def denied(tool: str, *, by_person: bool) -> str:
    """Say that a call was not allowed, and by whom."""
    who = "A person denied" if by_person else "The permission rules of this run do not allow"
    return f"[runtime] {who} this call of {tool}; it was not run. Go on without it, or say what you would need."


def not_decided(tool: str) -> str:
    """Say that nobody has decided about a call in time."""
    return (
        f"[runtime] Nobody decided about this call of {tool} in time; it was not run. Go on without it, or ask again."
    )


def decision(content: dict[str, Json]) -> str:
    """Tell the model who decided what about a call, as data."""
    said = {
        "decision": "denied" if content["answer"] == "deny" else "allowed",
        "by": content.get("by"),
        "reason": content.get("reason"),
        "arguments_used": content.get("arguments"),
    }
    known = {name: value for name, value in said.items() if value is not None}
    return f"[approval] {msgspec.json.encode(known).decode()}"


def not_started(tool: str) -> str:
    """Say that a call was cancelled before it started."""
    return f"[runtime] The turn was cancelled before this call of {tool} started; it was not run."


def cancelled_read(tool: str) -> str:
    """Say that a call without effect was cancelled while it ran."""
    return f"[runtime] The turn was cancelled while {tool} ran; it has no result."


def read_cut_off(operation: Operation) -> str:
    """Say that a call without effect is not started again, since its process has ended during each of its runs."""
    return (
        f"[runtime] The process ended {operation.runs} times while this call of {operation.tool} ran, so it has no result "
        "and was not started again. It changes nothing: call it again if you still need it."
    )


def effect_unknown(operation: Operation, why: str) -> str:
    """Say that an operation with an effect has no known end."""
    return (
        f"[runtime] {why} Effect unknown: operation {operation.id} of {operation.tool} may or may not have taken effect. "
        "Do not repeat it; check independent state, and where nothing tells, report it as unknown."
    )


CONTEXT_FULL = "The conversation is larger than the model's context window."
NOTHING_TO_COMPACT = (
    "There is nothing before this turn to sum up: the newest input alone is too large, and left the view."
)
INPUT_LEFT = "The newest input left the view."
SUMMARY_INSTRUCTIONS = (
    "You compress the record of an agent's work so that the agent can go on from it. Write in the record's language, at "
    "most 600 words: the task and every constraint a person stated, what was done and found (names, paths, numbers), what is "
    "open, and what is unknown. Say of anything uncertain that it is uncertain. Write only the summary."
)
TURN_CANCELLED = "The turn was cancelled."
CUT_SHORT = "The process ended while this call ran."
RESULT_LOST = "The process ended while this call ran, and its result is lost."
LOST = "This call has no result."
NOT_RUN_AGAIN = "Not run: the same call was made before and has no result."
CANCELLED_RUNNING = "The turn was cancelled while this call ran."


def status_done(operation: Operation, why: str, *, by_person: bool = False) -> str:
    """Say that an operation is done though its result is lost, and who said so."""
    who = "A person" if by_person else "The tool's own status function"
    return f"[runtime] {why} {who} says that operation {operation.id} of {operation.tool} is done. Do not repeat it."


def status_said(operation: Operation, answer: str, why: str | None) -> str | None:
    """Say what the tool's own status function knows of an operation whose result is lost; None: it does not know either."""
    why = why or LOST
    if answer == "done":
        return status_done(operation, why)
    if answer == "not_done":
        return (
            f"[runtime] {why} The tool's own status function says that operation {operation.id} of {operation.tool} is not "
            "done. The same call may be made again."
        )
    return None


def became_known(known: Sequence[dict[str, Json]]) -> str:
    """Say what has become known of operations that were told as unknown, and who said so."""
    told = [
        f"operation {each['operation']} of {each['tool']} is "
        + ("done; do not repeat it" if each["answer"] == "done" else "not done; the same call may be made again")
        + (" (a person says so)." if each["by_person"] else " (the tool's own status function says so).")
        for each in known
    ]
    return "[runtime] What was unknown is known now: " + " Also ".join(told)


def images_left_out(count: int) -> str:
    """Say that images are not shown, where they stood."""
    what = "An image that belongs here is" if count == 1 else f"{count} images that belong here are"
    return f"[runtime] {what} not shown: the provider found the size too large. Say so if it matters for the answer."


def repeats_unknown(operation: Operation) -> str:
    """Say that an equal call is refused while an earlier one's effect is unknown."""
    return (
        f"[runtime] Not run: operation {operation.id} was the same call of {operation.tool} with equal arguments, and whether "
        "it took effect is unknown. Repeating it could do it twice. Check independent state and report what you find; a "
        "person can decide whether it may run again."
    )


_WHAT: dict[FailureClass, str] = {
    FailureClass.NETWORK: "the network connection failed",
    FailureClass.TIMEOUT: "no answer came in time",
    FailureClass.OVERLOADED: "the provider is overloaded",
    FailureClass.SERVER_ERROR: "the provider failed while answering",
    FailureClass.RATE_LIMIT: "the rate limit is reached",
    FailureClass.TRUNCATED_STREAM: "the answer broke off before its end",
    FailureClass.QUOTA: "the account's quota is used up",
    FailureClass.AUTH: "the credential was not accepted",
    FailureClass.PERMISSION: "the credential may not do this",
    FailureClass.MODEL_NOT_FOUND: "the provider does not serve this model",
    FailureClass.CONTEXT_LENGTH: "the conversation is larger than the model's context window",
    FailureClass.INVALID_REQUEST: "the provider finds the request invalid",
    FailureClass.BAD_SCHEMA: "the provider does not take a tool's schema",
    FailureClass.IMAGE_TOO_LARGE: "an image is too large",
    FailureClass.HISTORY_CORRUPT: "the provider finds the conversation's history invalid",
    FailureClass.SIGNATURE_INVALID: "the provider does not accept a replayed signature",
    FailureClass.MALFORMED_TOOL_CALL: "the model produced an unreadable tool call twice",
    FailureClass.OUTPUT_LIMIT: "the model hit its output limit inside a tool call twice",
    FailureClass.EMPTY_RESPONSE: "the model answered with nothing twice",
    FailureClass.UNKNOWN: "something happened that stoic does not know",
}

_REMEDY: dict[Axis, str] = {
    Axis.TIME: "The cause usually fades by itself; try again later.",
    Axis.CREDENTIAL: "Replace or refill the credential, then send again.",
    Axis.CONFIG: "Change the configuration (model name, base URL, access, proxy or certificate), then send again.",
    Axis.COMPACTION: "The newest input left the view; continue with a smaller one or a new thread.",
    Axis.REQUEST_CHANGE: "The input that led to it left the view; the thread can go on.",
    Axis.NEVER: "It was not tried again; `stoic show` has the evidence.",
}


_FROM_NETWORK = frozenset({FailureClass.NETWORK, FailureClass.TIMEOUT, FailureClass.TRUNCATED_STREAM})
"""What the details of these are is said by a machine on the way, not by the provider."""
_NO_HELP: dict[str, str] = {
    "max_tokens": " A smaller max_tokens did not help.",
    "images": " Leaving out images did not help.",
    "plain": " Leaving out thinking and signatures did not help.",
}
"""What was tried in vain, by the kind of the changed re-send."""
_IMAGE_STAYS = (
    "It stands in the answered part of the conversation, which never changes: go on with another model or in a new "
    "thread. The newest input left the view."
)


def _remedy(axis: Axis, credential_from: str) -> str:
    """Return what helps; of a credential where it stands, if that is known."""
    named = f"the credential in {credential_from}" if credential_from else "the credential"
    return _REMEDY.get(axis, "").replace("the credential", named, 1)


def failed(
    verdict: Verdict,
    provider: str,
    model: str,
    attempts: int,
    detail: str | None = None,
    changed: str | None = None,
    credential_from: str = "",
) -> str:
    """Say to a person what ended the turn and what to do, in a few sentences.

    Args:
        verdict: what the last attempt's failure is
        provider: whose
        model: likewise
        attempts: how often the round was sent
        detail: the failure's own words
        changed: the kind of the changed re-send that this class had in the turn
        credential_from: the variable or file that holds the credential; empty: not known
    """
    failure, axis = verdict.failure or FailureClass.UNKNOWN, verdict.recovers_with or Axis.NEVER
    what = _WHAT.get(failure, str(failure).replace("_", " "))
    tries = f" after {attempts} attempts" if attempts > 1 else ""
    wait = f" The provider asks to wait {verdict.retry_after_ms / 1000:.0f} s." if verdict.retry_after_ms else ""
    said = (f" Details: {detail}." if failure in _FROM_NETWORK else f' It said: "{detail}".') if detail else ""
    missed = "" if changed is None else _NO_HELP[changed]
    remedy = _remedy(axis, credential_from)
    if failure is FailureClass.IMAGE_TOO_LARGE and changed is None:
        remedy = _IMAGE_STAYS
    return f"{provider}:{model}{tries}: {what} ({failure}).{said}{wait}{missed} {remedy}".rstrip()


def input_withheld(provider: str, category: str | None) -> str:
    """Say to a person that an answer is not about what was asked, since a provider refused to read that."""
    category = f" (category {category})" if category else ""
    return (
        f"All that this turn was given was withheld, since {provider} refused it{category}: the answer is not about it. The "
        "same stays withheld until a person starts fresh, compacts or switches the model."
    )


def refused(refusal: Refusal, *, withheld: bool, task: bool, stays: bool, unsent: bool = False) -> str:
    """Say to a person that a provider refused, what was done about it, and what can be done.

    Args:
        refusal: whose verdict
        withheld: whether it refused also without what could be withheld
        task: whether the thread never runs again
        stays: whether what was refused stays in the model's view
        unsent: whether nothing was sent, since the same was refused before
    """
    category = f" (category {refusal.category})" if refusal.category else ""
    also = ALSO_WITHHELD if withheld else ""
    what = "the same before, so nothing was sent" if unsent else "this request"
    said = f"{refusal.provider}:{refusal.model} refused {what}{category}{also}. "
    if task:
        return f"{said}This thread does not run again; everything in it stays as it stands. Start a new one with another model."
    if refusal.scope == "account":
        return f"{said}It refuses the account itself: nothing is sent with this credential until it is replaced."
    if refusal.scope == "agent_action":
        return f"{said}It wants a person to decide; nothing was sent again or elsewhere."
    if stays:
        return f"{said}No other candidate may be asked now; what was refused stays withheld as far as it goes."
    return (
        f"{said}Nothing was sent to another provider; what was refused left the model's view and stays in the log. "
        "You can go on with something else, switch the model, or start fresh."
    )


def not_summed_up(why: str, model: str, category: str | None, failure: str | None, thread: str) -> str:
    """Say to a person why the beginning of a conversation was not summed up; the history is as it was.

    Args:
        why: `nothing`, `refused`, `empty`, `cut`, `failed`, `blocked` or `cancelled`
        model: `PROVIDER:NAME` that was to sum up
        category: of a refusal, as the provider named it
        failure: the class of a failure, or the type of what the agent's own function raised
        thread: its id
    """
    named = f" (category {category})" if category else ""
    said = {
        "nothing": "There is nothing yet to sum up: it would all be kept word for word.",
        "refused": f"{model} refused to sum up the conversation{named}.",
        "empty": "The summary came back empty and was not used.",
        "cut": "The summary broke off before its end and was not used.",
        "failed": f"Summing up failed ({failure}).",
        "blocked": f"Nothing was summed up, since {model} refused lately or is closed; nothing was sent.",
        "cancelled": "Summing up was cancelled.",
    }[why]
    remedy = (
        f" A fresh start leaves it behind (`stoic fresh {shlex.quote(thread)}`), another model may sum it up."
        if why == "refused"
        else ""
    )
    return f"{said} The history is unchanged.{remedy}"


def summary(text: str) -> str:
    """Wrap a summary as what a model reads of the earlier conversation."""
    return f"[runtime] The earlier part of this conversation was summed up, since it no longer fitted:\n\n{text}"


def bug(why: str) -> str:
    """Say to a person that stoic itself is at fault."""
    return f"A bug of stoic: {why}. The newest input left the view; the thread can go on. Please report it."


def limit_reached(what: str) -> str:
    """Say to a person that the turn reached one of its limits."""
    return f"Stopped {what}. Send another message to go on, or raise the limit."


def own_words(tool: str, text: str) -> str:
    """Return what a tool returned as a result that cannot be taken for the runtime's word: only ours begins with its mark.

    A web page, a file or a command may begin like that; capitals, spaces and look-alike brackets change nothing.
    """
    found = _MARK.match(unicodedata.normalize("NFKC", text[:_BEGINNING]))
    return f"[from {tool}, not from the runtime]\n{text}" if found and "[" in found[0] else text


def closed_route(
    provider: str,
    model: str,
    failure: str,
    waits_for: str,
    until_ms: int | None,
    now_ms: int,
    credential_from: str = "",
    *,
    was_sent: bool = False,
) -> str:
    """Say to a person that a route is not asked at the moment, and what opens it.

    Args:
        provider: whose
        model: likewise
        failure: the class after which it was closed
        waits_for: what opens it
        until_ms: when the clock alone does
        now_ms: epoch milliseconds
        credential_from: as of `failed`
        was_sent: whether the turn had sent something before
    """
    nothing = "nothing more was sent" if was_sent else "nothing was sent"
    if waits_for == "trial":
        return f"{provider}:{model} is being tried by another turn after {failure}; {nothing}. Try again shortly."
    again = f"`stoic health retry {shlex.quote(f'{provider}:{model}')}`"
    if until_ms is not None:
        until = f"until {date_of(until_ms):%Y-%m-%d %H:%M:%S} UTC"
        return (
            f"{provider}:{model} is closed after {failure} {until}, {_span(until_ms - now_ms)} from now; {nothing}. Try "
            f"again then, or say {again}."
        )
    remedy = _remedy(Axis(waits_for), credential_from)
    return f"{provider}:{model} is closed after {failure}; {nothing}. {remedy} Or say {again}."


def _span(ms: int) -> str:
    """Return a length of time in the largest units that say it well enough."""
    seconds = max(ms, 0) // 1000
    if seconds < 120:  # noqa: PLR2004 - two minutes are still told in seconds
        return f"{seconds} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004 - likewise, in minutes
