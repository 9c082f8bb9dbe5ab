"""Writes texts flat, in a few signs, and tells what words and lines a flat text has."""

from __future__ import annotations

import re
from functools import cache
from operator import itemgetter
from string import ascii_lowercase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SMALL = 8000
"""A text that is longer is worth a look at what parts of it may hold noise at all."""

_NEXT = bytes(range(0x80, 0xC0))
"""All bytes of a character in UTF-8 but the first."""
_FLAT = bytes.maketrans(
    bytes(range(65, 91)) + b"123456789" + bytes(range(128, 256)), bytes(range(97, 123)) + b"0" * 9 + b"?" * 128
)
_FOREIGN = 1.2
"""Where more than so many bytes are in a character it takes less time to write what is not Latin anew."""
_ALIKE = {"\xa0": " ", "\u202f": " ", "\xb5": "u", "\u03bc": "u"}
"""Blanks that do not break stand before units, too, and a sign for micro is in one."""
_START = 4
"""So many letters tell a word from most others."""
_start = itemgetter(slice(_START))
_LETTERS = bytes([byte if chr(byte) in "abcdefghijklmnopqrstuvwxy" else 32 for byte in range(256)])
"""Keeps the words of a flat text. Neither digits nor a `z` is part of one; see `words_of`."""
_ENDS = (b"gmt", b"utc")
"""Of a moment."""
_HEX = bytes.maketrans(b"abcdef", b"000000")
_BARRIER = b"\n\0 \0\n"
"""`searching.BARRIER`, which here parts nothing but makes more lines."""
_REPEATED = 3
"""Lines of which each occurs so often are worth being looked at once."""


def flat_bytes(text: str, written: bytes | None = None) -> bytes:
    """Return a text, equally long, in small ASCII letters, with `0` for every digit and `?` for what is not ASCII.

    Args:
        text: The text.
        written: The text in UTF-8, where it is known.
    """
    if text.isascii():
        return text.encode("ascii").translate(_FLAT)
    bare = text
    for one, other in _ALIKE.items():
        bare = bare.replace(one, other)
    written = written or text.encode("utf-8", "surrogatepass")
    if len(written) > _FOREIGN * len(text):
        return bare.encode("latin-1", "replace").translate(_FLAT)
    return (written if bare == text else bare.encode("utf-8", "surrogatepass")).translate(_FLAT, _NEXT)


def words_of(flat: bytes) -> list[bytes]:
    """Return the words of a flat text, and those that will be some, once something before them is masked.

    What is masked may end within a row of letters and digits: after a digit, a `z`, `gmt` or `utc` of a moment, or an
    address. No needle has these among the first letters of a word.
    """
    letters = flat.translate(_LETTERS)
    words = letters.split()
    for end in _ENDS:
        if end in letters:
            words += [after.split(b" ", 1)[0] for after in letters.split(end)[1:]]
    if b"at 0x" in flat:
        words += re.findall(rb"at 0x[0a-f]+([a-y]+)", flat)
    return words


def starts_of(words: Iterable[bytes]) -> set[bytes]:
    """Return how some words start."""
    return set(map(_start, words))


def starts_of_word(word: bytes) -> set[bytes]:
    """Return how a word may start that ends a needle, or that it may be the start of; a short one is a whole one.

    Only the letter of a drive may follow a short one, when it is masked together with the file behind it.
    """
    return starts_of([word, *[word + letter.encode("ascii") for letter in ascii_lowercase]])


def repeated_lines(flat: bytes) -> str | None:
    """Return each line of a text once, if most occur more often; None if not.

    One sign stands for digits and for the letters of hexadecimal numbers: so most lines of a log are equal.
    """
    sample = flat[:SMALL].translate(_HEX).split(b"\n")
    if len(sample) <= _REPEATED * len(set(sample)):
        return None
    lines = flat.translate(_HEX)
    if _BARRIER in lines:
        lines = lines.replace(_BARRIER, b"\n")
    return b"\n".join([b"", *set(lines.split(b"\n"))]).decode("ascii")


@cache
def folded(needle: str) -> str:
    """Return a needle as `repeated_lines` would write it."""
    return needle.encode("ascii").translate(_HEX).decode("ascii")
