"""Hashes what came of a call, with what changes without meaning anything masked: labelled times, pids and the like."""

from stoic.core.loops.denials import denial
from stoic.core.loops.hashes import checksum, digest
from stoic.core.loops.noise_values import MaskedResult, mask
from stoic.core.loops.observation import Identity, Outcome
from stoic.records import Json

_NOTHING = frozenset((b"null", b"[]", b"{}"))
_HEADS = {(failed, text): b"%d%d" % (failed, text) for failed in (False, True) for text in (False, True)}
"""What stands before the data in what is hashed: whether it is an error, and whether it is text."""
_DENIAL_BYTES = 8000


def outcome(result: Json, identity: Identity, *, failed: bool) -> Outcome:
    """Hash a raw result, before the host decorates it.

    Args:
        result: What the tool returned: text or any JSON value.
        identity: The call's identity; its nature decides whether an id in the result is news.
        failed: Whether the tool reported an error.
    """
    seen = mask(result, identity.nature, failed=failed)
    masked = digest(_HEADS[failed, seen.is_text] + seen.data)
    return Outcome(
        masked=masked,
        pair=digest(f"{identity.key}{masked}"),
        raw=checksum(seen.source) if seen.noise else "",
        noise=seen.noise,
        failed=failed,
        denial=denial(_start(seen)) if failed else "",
        silent=not failed and (not seen.data if seen.is_text else seen.data in _NOTHING),
    )


def _start(seen: MaskedResult) -> str:
    """Return the start of a result as text, lines as lines."""
    text = seen.data[:_DENIAL_BYTES].decode("utf-8", "replace")
    return text if seen.is_text else text.replace("\\n", "\n")
