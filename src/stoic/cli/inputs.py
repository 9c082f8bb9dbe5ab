"""Reads what a person gave on the command line, and says in one line what is wrong with it."""

import math
import sys
from pathlib import Path

from stoic.errors import UsageError
from stoic.prices import price_of
from stoic.runtime.threads import LONGEST_TEXT


def read_prompt(prompt: str | None) -> str | None:
    """Return the message: the argument itself, or all of stdin for `-`; None when none was given.

    Raises:
        UsageError: it is empty or not UTF-8
    """
    if prompt is None:
        return None
    if prompt == "-":
        text, origin = read_stdin("the prompt on stdin"), "the prompt on stdin"
    else:
        text, origin = check_utf8(prompt, "PROMPT"), "PROMPT"
    if not text.strip():
        raise UsageError(f"{origin} is empty; say something")
    return text


def read_workspace(folder: Path) -> Path:
    """Return the workspace's real path. Raises UsageError if it is no folder that can be used."""
    try:
        real = folder.resolve(strict=True)
        is_folder = real.is_dir()
    except FileNotFoundError:
        raise UsageError(f"workspace {str(folder)!r} does not exist; create it, or name another folder") from None
    except (OSError, RuntimeError) as error:
        raise UsageError(f"workspace {str(folder)!r} cannot be used ({error}); name another folder") from None
    if not is_folder:
        raise UsageError(f"workspace {str(folder)!r} is not a folder; name the folder that the agent may work in")
    check_utf8(str(real), f"the path of workspace {str(folder)!r}")
    return real


def check_budget(model: str, max_cost_usd: float | None, max_seconds: float | None) -> None:
    """Check `--max-cost` and `--max-seconds`.

    Args:
        model: `PROVIDER:NAME`
        max_cost_usd: None: no bound
        max_seconds: None: no bound

    Raises:
        UsageError: one is not above 0, or no price is known by which the cost could be told
    """
    for option, value in (("--max-cost", max_cost_usd), ("--max-seconds", max_seconds)):
        if value is not None and not 0 < value < math.inf:
            raise UsageError(f"{option} is {value:g}; it must be a number above 0")
    if max_cost_usd is not None and not has_price(model):
        raise UsageError(
            f"--max-cost: no price of {model} is known, so its cost cannot be told; use --max-seconds or --max-rounds"
        )


def has_price(model: str) -> bool:
    """Tell whether the price of `PROVIDER:NAME` is known."""
    provider, _, name = model.partition(":")
    return price_of(provider, name) is not None


def read_stdin(origin: str) -> str:
    """Return all of stdin, which may never end. Raises UsageError if it is too long, or not UTF-8."""
    data = sys.stdin.buffer.read(LONGEST_TEXT + 1)
    if len(data) > LONGEST_TEXT:
        raise UsageError(f"{origin} is longer than {LONGEST_TEXT:,} bytes; put it into a file and say where it is")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{origin} is not UTF-8 (byte {error.start}); convert it first") from None


def check_utf8(text: str, origin: str) -> str:
    """Return the text. Raises UsageError if it came as bytes that are no UTF-8: neither log nor request could hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{origin} is not UTF-8; convert it first") from None
    return text
