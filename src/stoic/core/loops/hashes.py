"""Short hashes of what was called and what came of it."""

from hashlib import blake2b, sha1
from zlib import crc32

_BYTES = 8
_EMPTY = blake2b(digest_size=_BYTES)
"""Copied for each hash: that takes half the time of making one with a size."""
_LARGE_BYTES = 8000
"""What is larger takes half the time, or less, by SHA-1, for which processors have instructions."""


def digest(data: str | bytes) -> str:
    """Hash to hexadecimal; lone surrogates in a text are allowed.

    The eight bytes make an accidental collision among a thread's remembered calls (at most some hundreds) a matter of
    1 in 10**13.
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if len(data) > _LARGE_BYTES:
        return sha1(data, usedforsecurity=False).hexdigest()[: 2 * _BYTES]
    hashed = _EMPTY.copy()
    hashed.update(data)
    return hashed.hexdigest()


def checksum(data: str | bytes) -> str:
    """Return four bytes in hexadecimal, only to tell whether what is equal otherwise differs at all."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    return f"{crc32(data):x}"
