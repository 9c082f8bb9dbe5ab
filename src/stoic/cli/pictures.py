"""Reads the images of `--image` and `/image`: which kind a file is, is told from its first bytes, never from its name."""

import base64
import os
import shlex
import stat
from contextlib import suppress
from pathlib import Path

from stoic.errors import UsageError
from stoic.records import ImagePart

LIMIT_BYTES = 5_000_000
"""What the strictest of the APIs takes for one image (https://docs.anthropic.com/en/docs/build-with-claude/vision)."""
_KINDS = "PNG, JPEG, GIF or WebP"


def read_images(paths: list[Path]) -> list[ImagePart]:
    """Return the images of files, in their order.

    Raises:
        UsageError: a file cannot be read, is no image of a known kind, or is larger than 5 MB
    """
    return [_read(path) for path in paths]


def typed_path(text: str) -> Path:
    """Return the path that a person typed or dropped on the terminal: `~`, quotes and escaped spaces as shells read them.

    A file that has the very name as it stands comes first.
    """
    words = [text]
    if not os.path.lexists(text):
        with suppress(ValueError):  # a quote without its end
            words = shlex.split(text)
    path = Path(words[0] if len(words) == 1 else text)
    try:
        return path.expanduser()
    except RuntimeError:  # nobody of that name
        return path


def media_type_of(data: bytes) -> str | None:
    """Return the media type that the first bytes of a file tell, None for every other kind of file."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def _read(path: Path) -> ImagePart:
    name = repr(str(path))
    try:
        # Does not wait for the other side of a pipe; what the path led to is looked at once it is open.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(number)
            if not stat.S_ISREG(found.st_mode):
                raise UsageError(f"image {name} is not a file; name a {_KINDS} file")
            with os.fdopen(number, "rb", closefd=False) as file:
                data = file.read(LIMIT_BYTES + 1)
        finally:
            os.close(number)
    except FileNotFoundError:
        raise UsageError(f"image {name} does not exist; name a {_KINDS} file") from None
    except OSError as error:
        raise UsageError(f"image {name} cannot be read ({error.strerror}); name a file that you may read") from None
    media_type = media_type_of(data)
    if media_type is None:
        raise UsageError(f"image {name} is none of {_KINDS}; convert it first")
    if len(data) > LIMIT_BYTES:
        raise UsageError(
            f"image {name} has {found.st_size:,} bytes, more than {LIMIT_BYTES:,} (5 MB); make it smaller first"
        )
    return ImagePart(media_type=media_type, data_base64=base64.b64encode(data).decode())
