"""The arguments of a call: from the model's text to a JSON value, and to a key that is equal for equal calls."""

import hashlib

import msgspec

from stoic.core.canonical import canonical
from stoic.records import Json


def arguments_of(text: str) -> Json:
    """Return the arguments of a whole call's text; no text at all means no arguments.

    Raises:
        msgspec.DecodeError: the text is not JSON
    """
    return msgspec.json.decode(text) if text.strip() else {}


def arguments_key(tool: str, arguments: Json) -> str:
    """Return a hash that is equal for calls of one tool with equal canonical arguments."""
    return hashlib.blake2b(f"{tool}\n{canonical(arguments)}".encode(), digest_size=16).hexdigest()
