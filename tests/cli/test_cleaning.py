"""Lines folded for a terminal: nothing is lost, nothing is wider, indents stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from stoic.cli.cleaning import folded
from stoic.cli.wording import describe
from stoic.events import ToolEnded


@given(st.text(st.sampled_from("ab 漢"), max_size=60), st.integers(0, 6), st.integers(16, 40))
def test_folded_lines_fit_and_hold_every_character_in_order(text, indent, columns):
    lines = folded(" " * indent + text, columns)
    assert [line for line in lines if cell_len(line) > columns] == []
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_a_line_without_room_for_its_indent_is_folded_all_the_same():
    assert folded("       aaaa漢漢漢", 16) == ["       aaaa漢漢", "漢"]


def test_words_stay_whole_and_following_lines_are_indented_like_the_first():
    assert folded("    one two three four", 14) == ["    one two", "    three four"]


def test_word_longer_than_a_line_is_cut():
    assert folded("  " + "x" * 20, 14) == ["  " + "x" * 12, "  " + "x" * 8]


@pytest.mark.parametrize("columns", [None, 5, 80])
def test_line_without_a_width_or_with_none_to_spare_stays_as_it_is(columns):
    line = "    some words here"
    assert folded(line, columns) == [line]


@pytest.mark.parametrize(("text", "mark"), [("[exit code 0]\nok", "✓"), ("[exit code 1]\nFAILED", "!"), ("seen", "✓")])
def test_a_command_that_failed_gets_no_tick(text: str, mark: str):
    line = describe(ToolEnded(operation="o", tool="shell", state="returned", text=text))
    assert line is not None
    assert line.text.startswith(f"{mark} shell returned: ")
