"""Lines folded for a terminal: nothing is lost, nothing is wider, indents stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from stoic.cli.cleaning import folded
from stoic.cli.up import ended_said
from stoic.cli.wording import describe, ending
from stoic.events import OutcomeReached, ToolEnded
from stoic.records import Outcome


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


def test_a_call_that_was_not_run_is_shown_with_its_arguments():
    arguments = '{"command":"rm -rf ' + "x" * 100 + '"}'
    event = ToolEnded(
        operation="o", tool="shell", state="not_run", failure="tool_denied", text="[runtime] No.", arguments=arguments
    )
    line = describe(event)
    assert line is not None
    assert line.text == f"- shell not run (tool_denied): rm -rf {'x' * 52}… · No."


def test_the_name_of_a_tool_that_a_model_made_up_commands_nothing():
    line = describe(ToolEnded(operation="o", tool="\x1b[2Jnope\x07", state="not_run", failure="unknown_tool"))
    assert line is not None
    assert line.text == "- nope not run (unknown_tool)"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("Stopped after 2 seconds, the limit.", "stopped: after 2 seconds, the limit."),
        ("Stopped: the agent repeats itself.", "stopped: the agent repeats itself."),
        ("p:m refused this request.", "stopped: p:m refused this request."),
    ],
)
def test_an_ending_says_its_name_once(message: str, shown: str):
    line = ending(OutcomeReached(outcome="stopped", message=message))
    assert line is not None
    assert line.text == shown


def test_a_turn_that_waits_for_something_else_says_so():
    line = ending(OutcomeReached(outcome="parked", reason="time", thread="a b", until_ms=1_800_000_000_000))
    assert line is not None
    assert line.text == (
        "parked: the turn waits for the time that its provider has stated until 2027-01-15 08:00:00 UTC. `stoic up` then goes "
        "on with it, or `stoic resume 'a b'`"
    )


def test_a_completion_that_answers_nothing_of_its_input_does_not_look_like_success():
    why, message = "input_withheld", "All was withheld."
    line = ending(OutcomeReached(outcome="completed", cut=True, reason=why, message=message))
    assert line is not None
    assert (line.style, line.text) == (
        "yellow",
        "! All was withheld. Also, the answer hit its length limit and is cut.",
    )
    said = ended_said("t", Outcome(outcome="completed", turn=3, rounds=1, reason=why, message=message))
    assert (said.style, said.text) == ("red", "t · turn 3 completed (input_withheld) · 1 round: All was withheld.")
    assert ending(OutcomeReached(outcome="completed")) is None
