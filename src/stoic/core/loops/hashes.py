"""Short hashes of what was called and what came of it."""

from collections.abc import Callable
from functools import cache
from typing import Any


def digest(text: str, size_bytes: int = 8) -> str:
    """Hash text to hexadecimal.

    Args:
        text: Any text; lone surrogates are allowed.
        size_bytes: Length of the hash. Eight bytes make an accidental collision among a thread's remembered
            calls (at most some hundreds) a matter of 1 in 10**13.
    """
    return _blake2b()(text.encode("utf-8", "surrogatepass"), digest_size=size_bytes).hexdigest()


@cache
def _blake2b() -> Callable[..., Any]:
    from hashlib import blake2b  # noqa: PLC0415  # loads OpenSSL, which importing the detector must not

    return blake2b
