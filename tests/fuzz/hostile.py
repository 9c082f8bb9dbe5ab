"""What strangers may send: arbitrary bytes, texts and JSON values, and real ones with a few things broken in them."""

import json
import re
from copy import deepcopy
from pathlib import Path

from hypothesis import strategies as st

CASES = Path(__file__).parents[1] / "cases"

DEEP = 100_000
"""Levels of nesting that no parser follows."""

_NESTED = re.compile(rb'"nest (\d+) (list|object)"')
"""A text that stands for a value nested so deeply; `written` puts it there."""

PIECES = [
    b"",
    b"\x00",
    b"\x1b[2J",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b"\\ud800",
    b"\\u0000",
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n",
    b"\r\r",
    b"\n\r\n",
    b":",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"data: ",
    b"data:",
    b"event: error\n",
    b"id: 1\n",
    b"data: [DONE]\n\n",
    b"null",
    b"true",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-0",
    b"9" * 25,
    b"9" * 400,
    b"9" * 5_000,
    b'"a":1,"a":[],',
    b"[" * 1_200,
    b'{"a":' * 1_200,
    b"[" * DEEP,
    b"x" * 70_000,
]
"""What is put into, or in place of, a stretch of real bytes."""

VALUES = [
    None,
    True,
    False,
    0,
    -1,
    3,
    1.5,
    -0.0,
    1e308,
    float("nan"),
    float("inf"),
    2**31,
    2**63,
    -(2**64),
    10**400,
    "",
    " ",
    "\n",
    "0",
    "\0",
    "\x1b]0;x\x07",
    "\ud800",
    "a\udfff",
    "\u2028",
    "\u202e",
    "é",
    "null",
    "NaN",
    "[DONE]",
    "{}",
    '{"error":{"code":429}}',
    "[" * 1_200,
    "9" * 5_000,
    "x" * 10_000,
    [],
    {},
    [[]],
    [None],
    [{}],
    ["a", 1],
    {"": {}},
    {"a": {"b": [1]}},
    {"type": []},
    {"type": {}},
    *(f"nest {levels} {kind}" for levels in (90, 200, 330, 480, 700, 900, 980, DEEP) for kind in ("list", "object")),
]
"""What is put in the place of a real value."""

PLACES = st.integers(0, 1_000_000)
"""A place, taken modulo what there is."""


def hostile_texts(words=()):
    """Draw texts: anything, also single surrogates and control characters, among words that mean something."""
    some = st.sampled_from([*words, *(value for value in VALUES if isinstance(value, str) and len(value) < 100)])
    return st.lists(st.one_of(some, st.text(st.characters(codec=None), max_size=8)), max_size=8).map("".join)


def broken_bytes(seeds, pieces=PIECES):
    """Draw bytes: arbitrary, or real ones that were cut, spliced, repeated, reordered or written into."""
    ends = st.sampled_from([b"\n", b"\r\n", b"\r"])

    @st.composite  # inside, so that a failure does not print the seeds
    def some_bytes(draw):
        data = draw(st.sampled_from(seeds) | st.binary(max_size=200))
        for _ in range(draw(st.integers(0, 4))):
            at, span = draw(PLACES) % (len(data) + 1), draw(st.sampled_from([0, 1, 2, 7, 60, 800]))
            before, some, after = data[:at], data[at : at + span], data[at + span :]
            match draw(st.sampled_from(["cut", "insert", "replace", "drop", "repeat", "move", "splice", "end"])):
                case "cut":
                    data = before
                case "insert":
                    data = before + draw(st.sampled_from(pieces)) + some + after
                case "replace":
                    data = before + draw(st.sampled_from(pieces)) + after
                case "drop":
                    data = before + after
                case "repeat":
                    data = before + some * draw(st.integers(2, 4)) + after
                case "move":
                    rest, to = before + after, draw(PLACES) % (len(before + after) + 1)
                    data = rest[:to] + some + rest[to:]
                case "splice":
                    other = draw(st.sampled_from(seeds))
                    data = before + other[draw(PLACES) % (len(other) + 1) :]
                case _:
                    data = data.replace(draw(ends), draw(ends))
        return data

    return some_bytes()


def broken_values(seeds, words=()):
    """Draw a real JSON value in which up to four things are of another type, gone, doubled, exchanged, unknown or renamed."""
    names = [*words, "x_unknown", "", "\0", "\ud800"]

    @st.composite
    def some_value(draw):
        root = [deepcopy(draw(st.sampled_from(seeds)))]
        for _ in range(draw(st.integers(0, 4))):
            places = list(_places(root))
            holder, key = places[draw(PLACES) % len(places)]
            value = deepcopy(draw(st.sampled_from(VALUES)))
            match draw(st.sampled_from(["replace", "delete", "double", "exchange", "add", "rename", "list", "object"])):
                case "delete" if holder is not root:
                    del holder[key]
                case "double" if isinstance(holder, list) and holder is not root:
                    holder.insert(key, deepcopy(holder[key]))
                case "exchange":
                    other, place = places[draw(PLACES) % len(places)]
                    holder[key], other[place] = deepcopy(other[place]), deepcopy(holder[key])
                case "add" if isinstance(holder, dict):
                    holder[draw(st.sampled_from(names))] = value
                case "rename" if isinstance(holder, dict):
                    holder[draw(st.sampled_from(names))] = holder.pop(key)
                case "list":
                    holder[key] = [holder[key]]
                case "object":
                    holder[key] = {"a": holder[key]}
                case _:
                    holder[key] = value
        return root[0]

    return some_value()


def written(value, *, ascii_only=True):
    """Return a value as JSON bytes, also one that strict JSON cannot hold."""
    text = json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":"))
    return _NESTED.sub(_nested, text.encode("utf-8", "surrogatepass"))


def _nested(found):
    levels = int(found[1])
    return b"[" * levels + b"]" * levels if found[2] == b"list" else b'{"a":' * levels + b"1" + b"}" * levels


def recorded(name):
    """Return the cases of a file of recorded failures."""
    value = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    return value if isinstance(value, list) else value["cases"]


def words_of(values):
    """Return the keys and the short texts of values: the words in which they speak."""
    found = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            found |= value.keys()
            pending += value.values()
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, str) and len(value) <= 32:
            found.add(value)
    return sorted(found)


def _places(holder):
    for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from _places(holder[key])
