"""Reads a Python traceback as text: the exception, its message and the chain of causes."""

import re
import textwrap
from typing import Any

from stoic.cli.pasted_http import provider_of

Exchange = dict[str, Any]

_HEAD = "Traceback (most recent call last):"
_SEPARATORS = re.compile(
    r"^The above exception was the direct cause of the following exception:$|"
    r"^During handling of the above exception, another exception occurred:$",
    re.MULTILINE,
)
_EXCEPTION_LINE = re.compile(r"^[A-Za-z_][\w.]*(?::.*)?$")
_ALONE = re.compile(
    r"^(?:[a-z_][\w]*\.)+(?:[A-Z]\w*|gaierror|herror|timeout)(?:: |$)|^[A-Z]\w*(?:Error|Exception|Timeout|Interrupt|Cancelled)(?:: |$)"
)
_GROUP_BARS = re.compile(r"^[ \t]*[|+](?:-+)?(?: \+-*[ \t]?\d*)? ?", re.MULTILINE)
_STREAM_FRAMES = ("_streaming.py", "iter_lines", "iter_bytes", "iter_raw", "httpx_sse")
_SDK_PROVIDERS = ("anthropic", "groq", "mistralai", "cohere", "together", "cerebras", "fireworks", "litellm", "ollama")


def read(text: str) -> Exchange | None:
    """Return the exchange that a traceback shows, or None if the text is none."""
    text = textwrap.dedent(text.replace("\r\n", "\n")).strip()
    if "Exception Group Traceback" in text:
        text = _GROUP_BARS.sub("", text)
    if _HEAD not in text:
        if not _ALONE.match(text):
            return None
        chain = [_exception(text)]
    else:
        blocks = [block for block in _SEPARATORS.split(text) if _HEAD in block]
        chain = [found for found in map(_raised, reversed(blocks)) if found[0]]
    if not chain:
        return None
    kind, message = chain[0]
    return {
        "provider": _provider(text, chain),
        "exception": {
            "type": kind,
            "message": message,
            "cause": [f"{name}: {said}" if said else name for name, said in chain[1:]],
            "after_first_byte": any(frame in text for frame in _STREAM_FRAMES),
        },
    }


def _raised(block: str) -> tuple[str, str]:
    """Return (type, message) of a traceback's block: its last lines that are not indented frames."""
    lines = block.strip().split("\n")
    head = max(index for index, line in enumerate(lines) if _HEAD in line)
    for index in range(head + 1, len(lines)):
        if _EXCEPTION_LINE.match(lines[index]):
            return _exception("\n".join(lines[index:]))
    return "", ""


def _exception(text: str) -> tuple[str, str]:
    first, _, rest = text.partition("\n")
    name, _, message = first.partition(":")
    return name.strip(), f"{message.strip()}\n{rest}".strip()


def _provider(text: str, chain: list[tuple[str, str]]) -> str:
    """Return the provider that an address in the text or the SDK of an exception gives away."""
    found = provider_of(text, {})
    if found != "unknown":
        return found
    roots = [name.partition(".")[0] for name, _ in chain]
    if any(name.startswith("google.") for name, _ in chain):
        return "gemini"
    if "botocore" in roots:
        return "bedrock"
    return next((root for root in roots if root in _SDK_PROVIDERS), "openai" if "openai" in roots else "client")
