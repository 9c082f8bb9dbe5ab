"""Reads files and streams that a person names, up to a bound: none of them may end."""

import os
from typing import IO, AnyStr

from stoic.errors import UsageError

LIMIT_BYTES = 128 * 1024 * 1024
"""The largest file or stream that is read whole; its values take several times as much."""


def read_file(path: str) -> bytes:
    """Return a file's bytes.

    Raises:
        UsageError: it is too large
        OSError: it cannot be read
        ValueError: no file can have such a name
    """
    with open(path, "rb") as file:  # noqa: PTH123 - a path of none but its text
        if os.fstat(file.fileno()).st_size > LIMIT_BYTES:
            raise _too_large(path)
        return read_stream(file, path)


def read_stream(stream: IO[AnyStr], name: str) -> AnyStr:
    """Return all that a stream holds, bytes or text. Raises UsageError if it is too much."""
    found = stream.read(LIMIT_BYTES + 1)
    if len(found) > LIMIT_BYTES:
        raise _too_large(name)
    return found


def _too_large(name: str) -> UsageError:
    return UsageError(f"{name}: there is more in it than {LIMIT_BYTES // 1024**2} MiB; give the part that matters")
