"""What takes escape sequences out of texts of models and tools: nothing that commands a terminal is left, nothing else goes."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stoic.cli.cleaning import harmless, shown, stripped
from stoic.cli.sequences import SequenceFilter, without_sequences

# What sequences are made of, and some plain characters between.
PIECES = st.sampled_from(
    ["\x1b", "[", "]", "P", "\\", "\x9b", "\x9d", "\x90", "\x9c", "\x07", "(", " ", "0", "31", ";", "m", "?", "\n", "\t",
     "\r", "a", "é", "漢", "\x18", "\x1b[2J", "\x1b]0;t\x07", "\x1bP+q\x1b\\", "\x1b_x", "\u202e", "\ud800"]
)  # fmt: skip
OVERRIDES = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
TEXTS = st.lists(PIECES, max_size=30).map("".join)


def is_control(character: str) -> bool:
    return ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\x1b[31mred\x1b[0m b", "ared b"),
        ("\x1b[2J\x1b[1;1Hat the top", "at the top"),
        ("\x9b2Jeight bits", "eight bits"),
        ("\x1b[?1049hother screen", "other screen"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9d0;title\x9ctext", "text"),
        ("\x1bP1$r0m\x1b\\text", "text"),
        ("\x1b_hidden\x1b\\\x1b^private\x1b\\\x1bXstart\x1b\\text", "text"),
        ("\x1b(0charset\x1bcreset\x1b7\x1b8", "charsetreset"),
        ("\x1b[31", "31"),
        ("\x1b]never ended\nbut not swallowed", "never ended\nbut not swallowed"),
        ("\x1b]" + "x" * 5_000 + "\x07y", "x" * 5_000 + "y"),
        ("\x1b[" + "1" * 100 + "m", "1" * 100 + "m"),
        ("bell\x07 null\x00 del\x7f next\x85 return\r\n", "bell null del next return\n"),
        ("tab\there\n", "tab\there\n"),
    ],
)
def test_sequences_go_whole_and_what_is_none_stays(text, left):
    assert harmless(text) == left


@given(TEXTS)
@example("\x1b\x1b[2J[2J")
def test_no_control_is_left_but_newline_and_tab(text):
    for cleaned in (harmless(text), stripped(text)):
        assert [character for character in cleaned if is_control(character) and character not in "\n\t"] == []
        assert harmless(cleaned) == cleaned
        assert not {*OVERRIDES} & {*cleaned}
    assert "\t" not in stripped(text)


@given(st.text(st.characters(exclude_categories=["Cc"], exclude_characters=OVERRIDES)))
def test_text_without_controls_stays_as_it_is(text):
    assert harmless(text) == text


@given(TEXTS, st.data())
def test_pieces_give_what_the_whole_gives_wherever_they_part(text, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    sequences = SequenceFilter()
    assert "".join([*map(sequences.feed, pieces), sequences.finish()]) == without_sequences(text)
    assert "".join(map(shown, [*map(sequences.feed, pieces), sequences.finish()])) == stripped(text)


@given(st.text(st.sampled_from("ab\n \t"), max_size=20))
def test_plain_pieces_are_never_held_back(text):
    assert SequenceFilter().feed(text) == text
