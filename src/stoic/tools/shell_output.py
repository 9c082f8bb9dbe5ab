"""Reads what a keeper stored of a shell's output: a page from some byte on, or the newest lines."""

import codecs
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from stoic.records import Record
from stoic.tools.shell_keeper import SEGMENT_BYTES

PAGE_BYTES = 16 * 1024
"""Of one page: below what a result may hold before it is spilled."""
_LONGEST_CHARACTER_BYTES = 4


class Page(Record, frozen=True, omit_defaults=False):
    """A part of an output. Bytes that are no UTF-8 are replaced; a character is never cut in two."""

    text: str
    first_byte: int
    """Where it begins."""
    next_offset: int
    """Where the next page begins."""
    total_bytes: int
    """How much was written up to now, kept or not."""
    dropped_bytes: int = 0
    """How much of what was asked for is not kept any more; it comes before the text."""


class _Kept:
    """What is kept of an output at one moment."""

    def __init__(self, folder: Path) -> None:
        """Look into the shell's folder. Raises OSError."""
        self._folder = folder
        self._sizes: dict[int, int] = {}
        for path in folder.iterdir():
            if path.name.isdigit():
                with suppress(FileNotFoundError):  # the keeper has just removed it
                    self._sizes[int(path.name)] = path.stat().st_size
        self._numbers = sorted(self._sizes)
        newest = self._numbers[-1] if self._numbers else 0
        self.total_bytes = newest * SEGMENT_BYTES + self._sizes.get(newest, 0)

    def first_from(self, offset: int) -> int:
        """Return the first byte that is kept, from an offset on; the end if there is none."""
        wanted = offset // SEGMENT_BYTES
        number = next((number for number in self._numbers if number >= wanted), wanted)
        return min(max(offset, number * SEGMENT_BYTES), self.total_bytes)

    def newest_from(self) -> int:
        """Return the first byte from which on everything is kept."""
        number = self._numbers[-1] if self._numbers else 0
        while number - 1 in self._sizes:
            number -= 1
        return number * SEGMENT_BYTES

    def read(self, first_byte: int) -> bytes:
        """Return at most a page from a kept byte on, up to the next one that is not kept. Raises OSError."""
        data = b""
        while len(data) < PAGE_BYTES:
            number, place = divmod(first_byte + len(data), SEGMENT_BYTES)
            if place >= self._sizes.get(number, 0):
                break
            with (self._folder / str(number)).open("rb") as file:
                file.seek(place)
                data += file.read(min(PAGE_BYTES - len(data), self._sizes[number] - place))
        return data


def read_from(folder: Path, offset: int, *, is_complete: bool) -> Page:
    """Return a page of an output.

    Args:
        folder: the shell's
        offset: the byte to begin with
        is_complete: whether the output has ended, so that no half character at its end will be completed

    Raises:
        ValueError: no such byte has been written
        OSError: the files cannot be read
    """
    while True:
        kept = _Kept(folder)
        if not 0 <= offset <= kept.total_bytes:
            raise ValueError(f"offset must be from 0 to {kept.total_bytes}, which is where the output ends now")
        first_byte = kept.first_from(offset)
        try:
            page = _page(kept, first_byte, kept.read(first_byte), is_complete=is_complete)
        except FileNotFoundError:
            continue  # the keeper has just replaced it by a newer one: look again
        return replace(page, dropped_bytes=first_byte - offset)


def read_newest(folder: Path, lines: int, *, is_complete: bool) -> Page:
    """Return the newest lines of an output, as many as fit into a page.

    Args:
        folder: the shell's
        lines: how many at the most
        is_complete: as for `read_from`

    Raises:
        ValueError: lines is below 1
        OSError: the files cannot be read
    """
    if lines < 1:
        raise ValueError("tail_lines must be at least 1")
    while True:
        kept = _Kept(folder)
        first_byte = max(kept.newest_from(), kept.total_bytes - PAGE_BYTES)
        try:
            data = kept.read(first_byte)
        except FileNotFoundError:
            continue  # as above
        begin = _newest_lines(data, lines, is_whole=first_byte == 0)
        return _page(kept, first_byte + begin, data[begin:], is_complete=is_complete)


def _newest_lines(data: bytes, lines: int, *, is_whole: bool) -> int:
    """Return where the newest lines begin; the first one in the data is none unless they are whole, or there is no other."""
    end = begin = len(data) - data.endswith(b"\n")
    for _ in range(lines):
        begin = data.rfind(b"\n", 0, begin)
        if begin < 0:
            return 0 if is_whole else data.find(b"\n", 0, end) + 1
    return begin + 1


def _page(kept: _Kept, first_byte: int, data: bytes, *, is_complete: bool) -> Page:
    end = first_byte + len(data)
    begin = _half_character(data) if first_byte else 0
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data[begin:], final=is_complete and end == kept.total_bytes)
    half = len(decoder.getstate()[0])
    # What completes a character before a gap is not kept: go on behind the gap.
    is_before_gap = end < kept.total_bytes and kept.first_from(end) > end
    next_offset = end if is_before_gap else end - half
    return Page(text=text, first_byte=first_byte + begin, next_offset=next_offset, total_bytes=kept.total_bytes)


def _half_character(data: bytes) -> int:
    """Return how many bytes at the beginning are the end of a character that began before."""
    bytes_ = data[: _LONGEST_CHARACTER_BYTES - 1]
    return next((place for place, byte in enumerate(bytes_) if byte & 0xC0 != 0x80), len(bytes_))  # noqa: PLR2004 - UTF-8's mark
