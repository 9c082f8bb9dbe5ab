"""The arguments of a call: from the model's text to a JSON value, and to a key that is equal for equal operations."""

import hashlib

import msgspec

from stoic.core.canonical import canonical
from stoic.core.loops.call import Call, Effect
from stoic.foreign_json import read_foreign
from stoic.records import Json

LONGEST = 2 * 1024 * 1024
"""Characters of one call's arguments; no model writes a quarter of them."""


def arguments_of(text: str) -> Json:
    """Return the arguments of a whole call's text; no text at all means no arguments.

    Raises:
        msgspec.DecodeError: the text is not JSON, nested too deep or longer than `LONGEST`
    """
    if len(text) > LONGEST:
        raise msgspec.DecodeError(f"at most {LONGEST} characters are read")
    return read_foreign(text) if text.strip() else {}


def arguments_key(tool: str, arguments: Json, effect: Effect | None = None) -> str:
    """Return a hash that is equal for calls of one tool that would do the same outside (SPEC §10, §11).

    Key order, spacing, cosmetic arguments and, beside a command, how long to wait for it make no difference.

    Args:
        tool: its name
        arguments: what the model wrote
        effect: what the tool declares; None: told from its name and arguments
    """
    # Loaded at the first call with an effect: importing an agent stays cheap.
    from stoic.core.loops.identity import essential  # noqa: PLC0415

    told = canonical(essential(Call(tool=tool, arguments=arguments, effect=effect)))
    return hashlib.blake2b(f"{tool}\n{told}".encode(), digest_size=16).hexdigest()
