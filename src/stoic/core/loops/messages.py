"""Writes what the model is told: which rule, how many, what was equal, what was only noise, what would be progress."""

from stoic.core.loops.words import pattern

_TOOL_CHARACTERS = 64

_BLOCKED = {
    "unknown_tool": (
        "{count} calls in a row named tools that do not exist",
        "a call to one of the tools that are offered",
    ),
    "global_breaker": (
        "`{tool}` had the same arguments and the same outcome {count} times in a row",
        "a change that could alter the outcome (an edit, another input), another call, or an answer saying what is missing",
    ),
    "thread": (
        "{count} calls in a row brought nothing new; this call to `{tool}` is one whose outcome is known already",
        "a call that has not been made yet, a change outside, or an answer saying what is missing",
    ),
    "poll_no_progress": (
        "`{tool}` was polled with the same arguments and brought the same outcome {count} times in a row",
        "one wait with a deadline and then one more poll, other work meanwhile, or an answer saying what is pending",
    ),
    "same_error_varied_args": (
        "different calls of `{tool}` to the same target ended in the same refusal {count} times in a row",
        "another target or tool, or asking for the missing permission, credential or quota; other arguments are none",
    ),
}

_WARNED = {
    "poll_no_progress": (
        "`{tool}` was polled {count} times in a row with the same outcome",
        "waiting with a deadline, or other work meanwhile",
    ),
    "repeat": (
        "`{tool}` was called {count} times with the same arguments",
        "different arguments, another tool, or using what is known",
    ),
    "stagnation": (
        "{count} different calls of `{tool}` had the same outcome",
        "asking something whose answer can differ, elsewhere or with another tool",
    ),
    "same_error_varied_args": (
        "{count} different calls of `{tool}` to the same target ended in the same refusal",
        "another target or tool, or asking for the missing permission, credential or quota; other arguments are none",
    ),
    "no_new_information": (
        "{count} calls in a row brought nothing that was not known already",
        "a call that has not been made yet, or an answer from what is known",
    ),
    "text_repeat": (
        "the same text was written {count} times without anything new between",
        "making the call that the text announces, or a final answer",
    ),
}


def blocked(rule: str, tool: str, count: int, noise: list[str], *, thread: bool = False) -> str:
    """Write the result that a blocked call gets; it holds no byte of arguments or results."""
    what, progress = _BLOCKED["thread" if thread else rule]
    return (
        f"Not run: blocked by the loop rule {rule}. {_fact(what, tool, count)}.{_only(noise)} "
        f"What would count as progress: {progress}. The same call will be blocked again."
    )


def warned(rule: str, tool: str, count: int, noise: list[str]) -> str:
    """Write the suffix of a result after which the model should reconsider."""
    what, progress = _WARNED[rule]
    return f"[Loop warning, rule {rule}: {_fact(what, tool, count)}.{_only(noise)} What would count as progress: {progress}.]"


def stopped(count: int) -> str:
    """Write why a turn stops whose texts repeat."""
    return f"Stopped by the loop rule text_repeat: {_fact(_WARNED['text_repeat'][0], '', count)}."


def _fact(what: str, tool: str, count: int) -> str:
    said = what.format(tool=_shown(tool), count=count)
    return said[0].upper() + said[1:]


def _only(noise: list[str]) -> str:
    return f" What differed is not news: {', '.join(noise)}." if noise else ""


def _shown(tool: str) -> str:
    """Keep of a name, which a model may have made up, only what a tool's name can hold."""
    return pattern(r"[^\w.:/-]").sub("?", tool)[:_TOOL_CHARACTERS]
