"""The file that a host's stub names is no news, wherever in a long text the stub stands."""

import pytest

from stoic.core.loops.noise_texts import mask_texts
from stoic.core.loops.observation import Nature

PLAIN = "no number stands on this line, nor anything that looks like a label of noise at all\n" * 120
SLASHES = "some/where there is a path on each line of this and/or another one\n" * 200
VARIED = "".join(
    f"{chr(103 + n % 16)}{chr(103 + n // 16)}/where there is a path/on each line of this\n" for n in range(300)
)
"""Long, with many slashes, and with no line that occurs twice."""
FAR = (
    "a line with one / and one more \\ on it, but none before the rest of what it says, is no stub " + "x" * 400 + "\n"
)
STUBS = [
    "Output too large. Full output saved to: {}",
    "result truncated, see {} for the rest",
    "exceeds 30 KB; written to {}",
    "full log: {}",
    "and/or too long, see {}",
]


def text_of(text):
    (one,) = mask_texts([text], Nature(), failed=False).texts
    return one


@pytest.mark.parametrize("stub", STUBS)
@pytest.mark.parametrize("path", ["/w/spill/{}.txt", "C:\\spill\\{}.txt", "\\{}"])
@pytest.mark.parametrize("around", ["", PLAIN, SLASHES, VARIED, FAR * 30, PLAIN.replace("\n", " ")])
def test_the_file_of_a_stub_is_masked(stub, path, around):
    one, other = (f"{around}\n{stub.format(path.format(name))}\n{around}" for name in ("ab", "cd"))
    assert text_of(one) == text_of(other)


@pytest.mark.parametrize("around", [PLAIN, SLASHES, VARIED, FAR * 30])
@pytest.mark.parametrize(
    "text", ["too\nlong, see /w/{}", "truncated, at /w/{}", "full of joy: /w/{}", "saved to /w/{}"]
)
def test_a_file_that_no_stub_names_is_kept(text, around):
    one, other = (f"{around}\n{text.format(name)}\n{around}" for name in ("ab", "cd"))
    assert text_of(one) != text_of(other)
