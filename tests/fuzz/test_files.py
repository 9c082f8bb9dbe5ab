"""`stoic explain` and `stoic scan` take any file: a report, or one line that says what is wrong, and always an end."""

import io
import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.processes import Bench
from tests.cli.test_explain import PASTED, har
from tests.cli.test_scan import shapes
from tests.fuzz.hostile import broken_bytes, broken_values, hostile_texts, recorded, words_of, written
from tests.fuzz.volume import ending, examples

from stoic.cli.explain import explain
from stoic.cli.scan import scan

CASES = [*recorded("failures_wire"), *recorded("refusals_wire")]
TRACES = recorded("loops")


def lines_of(values):
    return b"\n".join(written(value) for value in values)


HARS = [
    {"log": {"entries": [har(), har(status=0), har(status=529, text="")]}},
    har(text="eA==", content={"encoding": "base64"}),
]
EXCHANGES = [*CASES, CASES[:3], *HARS, *(case["body"] for case in CASES if isinstance(case.get("body"), dict))]
PASTES = [
    *(text.encode() for text, *_ in PASTED.values()),
    *(written(value) for value in EXCHANGES[::7]),
    lines_of(CASES[:4]),
    b"",
    b"\xef\xbb\xbf",
]
EXCHANGE_WORDS = words_of(EXCHANGES)
RECORDINGS = [*TRACES[:40], {"cases": TRACES[:3]}, *(value for _, value, _ in shapes())]
RECORDING_WORDS = words_of(RECORDINGS)
FILES = [*(written(value) for value in RECORDINGS[::4]), *(lines_of(value) for _, value, lines in shapes() if lines)]

LINES = ("a", "\n", "\r\n", "HTTP/1.1 200 OK\n", "HTTP/1.1 429 \n\n", "data: {}\n\n", "event: error\n", "curl: (28) x\n", "Traceback (most recent call last):\n", '  File "a"\n', "openai.RateLimitError: Error code: 429 - {'error': {'code': 1}}\n", "a.b.CError: x", "| ", "+-", "  + Exception Group Traceback", ": ", "retry-after: 3\n", "transfer-encoding: chunked\n", "{", "[", "< ", "<\n", "host: x\n", "\u2028", "\x85", "\x0c")  # fmt: skip


def check(run, name):
    """Check what a command says: something and 0, or one line and 2."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace"), io.StringIO()
    with ending():
        code = run(out, err)
    out.flush()
    if code == 0:
        assert err.getvalue() == ""
    else:
        assert code == 2
        assert err.getvalue().startswith(f"stoic {name}: ")
        assert err.getvalue().endswith("\n")
        assert len(err.getvalue().splitlines()) == 1
        assert len(err.getvalue()) < 2_000
        assert out.buffer.getvalue() == b""


def check_explain(file, data, as_json):
    file.write_bytes(data)
    empty = io.StringIO()
    check(lambda out, err: explain(str(file), as_json=as_json, stdin=empty, stdout=out, stderr=err), "explain")


def check_scan(file, data, as_json):
    file.write_bytes(data)
    empty = io.BytesIO()
    check(lambda out, err: scan(str(file), as_json=as_json, stdin=empty, stdout=out, stderr=err), "scan")


def test_any_bytes_are_explained_or_refused_in_one_line(tmp_path):
    @examples(140)
    @given(broken_bytes(PASTES), st.booleans())
    def run(data, as_json):
        check_explain(tmp_path / "file", data, as_json)

    run()


def test_any_text_of_lines_that_are_pasted_is_explained_or_refused_in_one_line(tmp_path):
    @examples(140)
    @given(hostile_texts(LINES), st.booleans())
    def run(text, as_json):
        check_explain(tmp_path / "file", text.encode("utf-8", "surrogatepass"), as_json)

    run()


def test_exchanges_of_any_shape_are_explained_or_refused_in_one_line(tmp_path):
    @examples(140)
    @given(broken_values(EXCHANGES, EXCHANGE_WORDS), st.booleans(), st.booleans())
    def run(value, as_json, ascii_only):
        check_explain(tmp_path / "file", written(value, ascii_only=ascii_only), as_json)

    run()


def test_any_bytes_are_scanned_or_refused_in_one_line(tmp_path):
    @examples(150)
    @given(broken_bytes(FILES), st.booleans())
    def run(data, as_json):
        check_scan(tmp_path / "file", data, as_json)

    run()


def test_recordings_of_any_shape_are_scanned_or_refused_in_one_line(tmp_path):
    @examples(140)
    @given(broken_values(RECORDINGS, RECORDING_WORDS), st.booleans(), st.booleans())
    def run(value, as_json, as_lines):
        data = lines_of(value) if as_lines and isinstance(value, list) else written(value)
        check_scan(tmp_path / "file", data, as_json)

    run()


# ---- found by the above -------------------------------------------------------------------------

ODD_TYPES = ([], {}, ["user"], {"a": 1}, 1, None, True)


@pytest.mark.parametrize("shape", list(shapes()), ids=lambda shape: shape[0])
def test_recording_with_a_field_of_another_type_is_scanned_or_refused_in_one_line(tmp_path, shape: Any):
    _, value, lines = shape
    items = value if isinstance(value, list) else next(each for each in value.values() if isinstance(each, list))
    for field, odd in product(("role", "type", "kind", "event", "action", "source", "subtype"), ODD_TYPES):
        changed = [*items[:3], *({**item, field: odd} for item in items[:4] if isinstance(item, dict)), *items[3:6]]
        whole = dict(value) if isinstance(value, dict) else changed
        if isinstance(whole, dict):
            whole |= {key: changed for key in whole if isinstance(whole[key], list)}
        check_scan(tmp_path / "file", lines_of(changed) if lines else written(whole), as_json=True)


def test_list_of_lists_of_traces_is_refused_in_one_line(tmp_path):
    check_scan(tmp_path / "file", written([TRACES[:2], TRACES[2:3]]), as_json=False)


@pytest.mark.parametrize(
    "trace",
    [
        {"calls": [], "tools": {"x": {"effect": "y" * 9_000}}},
        {"calls": [], "tools": {"x" * 9_000: 1}},
        {"calls": [{"event": "y" * 9_000}]},
        {"calls": [], "tools": {"x": {"frozen_limit": "9" * 9_000}}},
        {"calls": [], "tools": {"x": {"loop_key": ["y", 1] * 9_000}}},
        {"id": "i" * 9_000, "calls": [1]},
    ],
    ids=lambda trace: str(trace)[:40],
)
def test_long_value_of_a_trace_makes_no_long_error(tmp_path, trace):
    check_scan(tmp_path / "file", written(trace), as_json=False)


def test_traceback_that_begins_amid_a_line_is_explained(tmp_path):
    for before in ("\0", "ERROR: ", "2026-01-01 | "):
        text = before + PASTED["traceback"][0]
        assert explained_as(tmp_path / "file", text) == "quota"


def explained_as(file, text):
    file.write_bytes(text.encode())
    out, err = io.StringIO(), io.StringIO()
    assert explain(str(file), as_json=True, stdin=io.StringIO(), stdout=out, stderr=err) == 0, err.getvalue()
    return json.loads(out.getvalue())["class"]


def repeated(piece, megabytes, *, before="", after=""):
    return (before + piece * (int(megabytes * 1e6) // len(piece)) + after).encode()


HEAD = "Traceback (most recent call last):\n"
GROUP = f"Exception Group {HEAD}"
BOMBS = {
    "lines of a group's traceback": repeated("\n", 1, before=GROUP, after="x"),
    "spaces of a group's traceback": repeated("\n ", 1, before=GROUP, after="x"),
    "bars of a group's traceback": repeated("| +-", 1, before=GROUP),
    "heads of tracebacks": repeated(HEAD, 2),
    "chained exceptions": repeated(f"{HEAD}a.B: x\n\nThe above exception was the direct cause of the following exception:\n\n", 1),
    "responses": repeated("HTTP/1.1 200 OK\n\n", 2),
    "responses of curl -v": repeated("HTTP/1.1 200 OK\n<\n", 2),
    "headers": repeated("a: b\n", 2, before="HTTP/1.1 200 OK\n"),
    "sizes of chunks": repeated("a\n", 2, before="HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n"),
    "empty lines of a stream": repeated("\n \n", 2, before="data: a", after="x"),
    "talk of curl": repeated("> a\n", 2),
    "hosts": repeated("https://", 2, before="HTTP/1.1 429 \n\n"),
    "digits of a wait": written({"status": 429, "headers": {"retry-after": "1" * 1_000_000}}),
    "digits of a duration": written({"status": 429, "body": {"error": {"message": "x", "details": [{"retryDelay": "1" * 1_000_000}]}}}),
    "dates": written({"status": 429, "body": {"error": {"message": "x", "resets_at": "jan 1 " * 200_000}}}),
    "words of an exception": written({"exception": {"type": "a." * 500_000, "message": "Error code: 429 - [" + "a." * 500_000 + "]"}}),
    "names of an exception": written({"exception": {"type": "Connector" * 100_000, "message": ""}}),
    "quotes of a literal": written({"exception": {"type": "E", "message": "Error code: 429 - {" + "'a'," * 250_000 + "}"}}),
    "causes": written({"exception": {"type": "E", "message": "x", "cause": ["a: b"] * 100_000}}),
    "brackets": b"[" * 2_000_000,
    "members": b'{"a":' * 1_000_000,
    "blanks": b" " * 4_000_000,
    "carriage returns": b"\r" * 2_000_000,
    "binary": bytes(range(256)) * 8_000,
}  # fmt: skip


@pytest.mark.parametrize("what", BOMBS)
def test_file_of_megabytes_is_explained_and_scanned_in_a_few_seconds(tmp_path, what):
    check_explain(tmp_path / "file", BOMBS[what], as_json=False)
    check_scan(tmp_path / "file", BOMBS[what], as_json=False)


def test_file_that_is_too_large_is_refused_before_it_is_read(tmp_path):
    file = tmp_path / "file"
    with file.open("wb") as sparse:
        sparse.truncate(2**40)
    for name, command in (("explain", explain), ("scan", scan)):
        out, err = io.StringIO(), io.StringIO()
        stdin: Any = None
        assert command(str(file), as_json=False, stdin=stdin, stdout=out, stderr=err) == 2
        assert err.getvalue() == f"stoic {name}: {file}: there is more in it than 128 MiB; give the part that matters\n"


class Endless(io.RawIOBase):
    """A stream that never ends; it can be read in pieces only."""

    def readable(self):
        return True

    def readinto(self, buffer):
        buffer[:] = b" " * len(buffer)
        return len(buffer)


def test_stream_without_end_is_refused():
    err = io.StringIO()
    stream = io.BufferedReader(Endless())
    assert scan("-", as_json=False, stdin=stream, stdout=io.StringIO(), stderr=err) == 2
    assert explain("-", as_json=False, stdin=io.TextIOWrapper(stream, "utf-8"), stdout=io.StringIO(), stderr=err) == 2
    assert err.getvalue().count("stdin: there is more in it than 128 MiB; give the part that matters\n") == 2


GIVEN = [
    ("explain", bytes(range(256)) * 40),
    ("explain", b'{"status": 429, "body": "\xed\xa0\x80"}'),
    ("explain", b'{"id": "\\ud800", "status": 429, "body": {"error": {"message": "\\udfff"}}}'),
    ("explain", b"[" * 100_000),
    ("scan", bytes(range(256)) * 40),
    ("scan", b'[{"tool": "\x1b[2J", "args": {"a": "\\u0000"}, "result": "\\u2028"}]'),
]


@pytest.mark.parametrize(("command", "data"), GIVEN)
def test_command_takes_anything_on_stdin_without_a_traceback(tmp_path, command, data):
    done = Bench(tmp_path).stoic(command, "-", stdin=data, LC_ALL="C")
    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == (1 if done.returncode else 0)
    assert "\x1b" not in done.stdout + done.stderr
