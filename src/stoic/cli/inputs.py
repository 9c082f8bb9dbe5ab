"""Reads what a person gave on the command line, and says in one line what is wrong with it."""

import sys
from pathlib import Path

from msgspec import structs

from stoic.errors import ConfigurationError, UsageError
from stoic.settings import Settings, read_settings


def read_prompt(prompt: str | None) -> str | None:
    """Return the message: the argument itself, or all of stdin for `-`; None when none was given.

    Raises:
        UsageError: it is empty or not UTF-8
    """
    if prompt is None:
        return None
    if prompt == "-":
        text, origin = _decoded(sys.stdin.buffer.read()), "the prompt on stdin"
    else:
        text, origin = _checked(prompt, "PROMPT"), "PROMPT"
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
    _checked(str(real), f"the path of workspace {str(folder)!r}")
    return real


def choose_settings(base_url: str | None) -> Settings:
    """Return the environment's settings, with the base URL of `--base-url` if there is one."""
    settings = read_settings()
    return settings if base_url is None else structs.replace(settings, openai_base_url=base_url)


def choose_model(model: str | None, settings: Settings) -> str:
    """Return `--model`, else `$STOIC_MODEL`. Raises ConfigurationError if there is neither."""
    chosen = model or settings.model
    if chosen is None:
        raise ConfigurationError(
            "no model is named; add --model openai-chat:NAME or set STOIC_MODEL=openai-chat:NAME (`stoic demo` needs none)"
        )
    return chosen


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"the prompt on stdin is not UTF-8 (byte {error.start}); convert it first") from None


def _checked(text: str, origin: str) -> str:
    """Refuse what came as bytes that are no UTF-8: neither the log nor a request could hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{origin} is not UTF-8; convert it first") from None
    return text
