"""Writes texts flat, in a few signs, and tells what words and lines a flat text has, and what stands around its digits."""

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

_OTHER = bytes(set(range(128, 256)) - {0xA0, 0xB5})
_FLAT = bytes.maketrans(
    bytes(range(65, 91)) + b"123456789" + b"\xa0\xb5" + _OTHER,
    bytes(range(97, 123)) + b"0" * 9 + b" u" + b"?" * len(_OTHER),
)
"""From Latin-1: a blank that does not break stands before units, too, and a sign for micro is in one."""
_ALIKE = {"\u202f": " ", "\u03bc": "u"}
"""What else is like these."""
_SEPARATORS = " \t\r\n\f\v\x1c\x1d\x1e\x1f\"':=<>"
_NEAR = 48
"""More characters than a label has together with what may stand between it and its value, separators left out."""
_AHEAD, _BEHIND = 20, 32
"""More characters than are before and after a digit in what has no label before it."""
_BESIDE = 16
"""More characters than are in a needle before its first such sign, or from there on."""
RARE = 300
"""Where fewer than one in so many characters of a large text is a sign it pays to look around each."""
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


def flat_bytes(text: str) -> bytes:
    """Return a text, equally long, in small ASCII letters, with `0` for every digit and `?` for what is not ASCII."""
    if not text.isascii():
        for one, other in _ALIKE.items():
            text = text.replace(one, other)
    return text.encode("latin-1", "replace").translate(_FLAT)


def words_of(flat: bytes) -> list[bytes]:
    """Return the words of a flat text, and those that will be some, once something before them is masked.

    What is masked may end within a row of letters and digits: after a digit, a `z`, `gmt` or `utc` of a moment, or an
    address. No needle has these among the first letters of a word. Of the words of a large text each is returned once.
    """
    letters = flat.translate(_LETTERS)
    words = letters.split()
    if len(flat) > SMALL:
        words = list(set(words))
        letters = b" ".join(words)
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


def around_digits(pieces: list[str]) -> tuple[str, str]:
    """Return what stands before the digits of a flat text and what stands around them, without all that is far from any.

    The first has a zero byte instead of each digit, and of many separators before one only the first.

    Args:
        pieces: What stands between the digits.
    """
    before: list[str] = []
    around: list[str] = []
    for piece in pieces:
        if len(piece) <= _NEAR:
            before.append(piece)
            around.append(piece)
        else:
            label = piece.rstrip(_SEPARATORS)
            before.append(label[-_NEAR:] + piece[len(label) : len(label) + _NEAR])
            around.append(f"{piece[:_BEHIND]}\0{piece[-_AHEAD:]}")
    return "\0".join(before), "0".join(around)


def beside(flat: str, sign: str) -> str:
    """Return what stands beside a sign wherever a flat text has it; all of the text where that is often."""
    found: list[str] = []
    place = flat.find(sign)
    while place >= 0:
        if len(found) * RARE > len(flat):
            return flat
        found.append(flat[max(0, place - _BESIDE) : place + _BESIDE])
        place = flat.find(sign, place + 1)
    return "\0".join(found)
