"""Compiles a model's regular expression, unless it is one that would take the memory of the machine."""

import re

import regex

LONGEST = 4_000
"""Characters of a query; nobody looks for more."""
MOST_STEPS = 100_000
"""Steps of an expression when what it counts is written out, as the engine does: `(a{9}){9}` has 90."""

_PART = re.compile(
    r"(?P<comment>\(\?#[^)]*\))|(?P<verbose>\(\?[a-zA-Z0-9-]*x)|(?P<count>\{(\d+)(?:,\d*)?\})|(?P<kept>\{[^{}]*\}|[*+?\s])"
    r"|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.",
    re.DOTALL,
)
"""A part of an expression; behind what is `kept` a count still counts what stands before it."""


class ExpressionError(ValueError):
    """The expression cannot be taken; the text is told to the model."""


def compiled(query: str, flags: int) -> regex.Pattern[str]:
    """Return an expression to search with.

    Raises:
        ExpressionError: it is none, is nested too deep, or counts so high that it would need the memory of the machine
    """
    if _steps(query) > MOST_STEPS:
        raise ExpressionError(
            f"query counts so high that it has more than {MOST_STEPS} steps; use smaller numbers in {{}}, or * and +"
        )
    try:
        return regex.compile(query, flags)
    except regex.error as error:
        raise ExpressionError(
            f"query is no regular expression ({error}); expression=false looks for it as it is"
        ) from None
    except RecursionError:
        raise ExpressionError("query is nested too deep; write it with fewer parentheses in each other") from None


def _steps(query: str) -> int:
    """Return how many steps there are when all that is counted is written out, rather too many than too few."""
    levels, last = [0], 0
    for part in _PART.finditer(query):
        if part["verbose"]:  # then a `#` would hide what follows it, or not
            raise ExpressionError("query sets the flag x, which is not taken; write it without")
        if part["count"]:
            grown = last * max(1, int(part[4]))
            levels[-1] += grown - last
            last = grown
        elif part[0] == "(":
            levels.append(0)
        elif part[0] == ")" and len(levels) > 1:
            last = levels.pop() + 1
            levels[-1] += last
        elif not part["comment"]:
            last = last if part["kept"] else 1
            levels[-1] += 1
    return sum(levels)
