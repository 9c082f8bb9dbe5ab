"""The screen's count of rows against a display, for texts nobody thought of."""

import io
import os

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.cli.display import Display

from stoic.cli.cleaning import escaped, one_line, shortened, stripped
from stoic.cli.screen import Screen

TEXTS = st.lists(st.text(st.sampled_from("ab \n漢é\t🙂"), max_size=40), max_size=6)


class Tty(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(stream: Tty, columns: int, rows: int) -> Display:
    display = Display(columns, rows)
    display.feed(stream.getvalue().replace("\n", "\r\n").encode())  # as a terminal's ONLCR does
    return display


@given(before=st.text(st.sampled_from("x\n"), max_size=10), pieces=TEXTS, columns=st.integers(20, 40))
def test_erase_leaves_exactly_what_stood_before_the_mark(before, pieces, columns):
    stream = Tty()
    screen = Screen(stream, {}, lambda: os.terminal_size((columns, 100)))
    screen.text(before)
    screen.mark()
    expected = shown(stream, columns, 100).text()
    for piece in pieces:
        screen.text(stripped(piece))
    assert screen.erase()
    assert shown(stream, columns, 100).text() == expected


@given(pieces=TEXTS, rows=st.integers(2, 6))
def test_erase_refuses_exactly_when_the_mark_is_off_the_screen(pieces, rows):
    stream = Tty()
    screen = Screen(stream, {}, lambda: os.terminal_size((20, rows)))
    screen.mark()
    for piece in pieces:
        screen.text(stripped(piece))
    used = len(shown(stream, 20, rows).lines)
    assert screen.erase() is (used <= rows)


def test_erase_refuses_after_the_terminal_changed_its_size():
    sizes = iter([(80, 24), (80, 24), (60, 24)])
    last = [(60, 24)]
    screen = Screen(Tty(), {}, lambda: os.terminal_size(next(sizes, last[0])))
    screen.mark()
    screen.text("text")
    assert not screen.erase()


@given(st.text())
def test_cleaned_text_commands_nothing(text):
    for cleaned in (stripped(text), escaped(text)):
        assert all(character == "\n" or character.isprintable() or ord(character) >= 0xA0 for character in cleaned)
        assert "\u202e" not in cleaned


@given(st.text(), st.integers(1, 30))
def test_shortened_line_fits_its_cells(text, limit):
    display = Display(200, 5)
    display.feed(shortened(one_line(text), limit).encode(errors="replace"))
    assert cell_len("".join(display.lines[0])) <= limit


def test_escaped_text_shows_what_a_person_must_see():
    assert escaped("a\rb\x1b\u202e\nc") == "a\\x0db\\x1b\\u202e\nc"
    assert escaped("rm\u200b x\u2060\U000e0041\ufeff") == "rm\\u200b x\\u2060\\U000e0041\\ufeff"
