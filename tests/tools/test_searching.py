"""`search_files`: lines of text files, bounded whatever the files and the expression are."""

import os

import pytest
from tests.tools.room import Room, call

from stoic.tools.searching import LIMIT_FILE_BYTES, LIMIT_MATCHES, Search, SearchError, search_tool
from stoic.tools.workspace import OutsideWorkspaceError


@pytest.fixture
def room(tmp_path) -> Room:
    return Room(tmp_path)


def found(room: Room, **arguments) -> list[str]:
    return call(search_tool(room.workspace), **arguments).split("\n")


def test_lines_are_named_by_path_and_number(room: Room):
    room.put("b.txt", "one\ntwo needle\nthree\nneedle four needle\n")
    room.put("a/c.txt", "needle")
    assert found(room, query="needle") == ["a/c.txt:1: needle", "b.txt:2: two needle", "b.txt:4: needle four needle"]


def test_a_text_is_looked_for_as_it_is_and_an_expression_as_one(room: Room):
    room.put("a", "f(x)\nfx\n")
    assert found(room, query="f(x)") == ["a:1: f(x)"]
    assert found(room, query="f(x)", expression=True) == ["a:2: fx"]
    assert found(room, query=r"^\w+$", expression=True) == ["a:2: fx"]


def test_case_matters_unless_told_otherwise(room: Room):
    room.put("a", "Ärger\nÄRGER\n")
    assert found(room, query="Ärger") == ["a:1: Ärger"]
    assert found(room, query="ärger", ignore_case=True) == ["a:1: Ärger", "a:2: ÄRGER"]


def test_ignored_files_links_binary_files_and_pipes_are_not_searched(room: Room):
    room.put(".gitignore", "*.log")
    room.put("a.log", "secret")
    room.put("binary", b"\0secret")
    (room.root / "link").symlink_to(room.outside / "secret")
    (room.root / "folder").symlink_to(room.outside)
    os.mkfifo(room.root / "pipe")
    assert found(room, query="secret") == ["[no line found with 'secret']"]


def test_path_and_pattern_narrow_the_search(room: Room):
    for path in ("a.py", "s/b.py", "s/c.txt"):
        room.put(path, "x")
    assert found(room, query="x", path="s") == ["s/b.py:1: x", "s/c.txt:1: x"]
    assert found(room, query="x", pattern="*.py") == ["a.py:1: x", "s/b.py:1: x"]


def test_too_many_lines_are_cut_with_a_note(room: Room):
    room.put("a", "x\n" * (LIMIT_MATCHES + 1))
    lines = found(room, query="x")
    assert lines[LIMIT_MATCHES - 1] == f"a:{LIMIT_MATCHES}: x"
    assert lines[LIMIT_MATCHES:] == [
        f"[more follows after {LIMIT_MATCHES} lines: use a narrower query, path or pattern]"
    ]
    room.put("a", "x\n" * LIMIT_MATCHES)
    assert len(found(room, query="x")) == LIMIT_MATCHES


def test_a_file_that_is_too_large_is_named(room: Room):
    room.put("large", b"x" * (LIMIT_FILE_BYTES + 1))
    assert found(room, query="x") == [
        "[no line found with 'x']",
        f"[not searched, larger than {LIMIT_FILE_BYTES} bytes: large]",
    ]


def test_a_long_line_is_shown_around_what_was_found(room: Room):
    room.put("a", "a" * 5000 + "needle" + "b" * 5000)
    (line,) = found(room, query="needle")
    assert "needle" in line
    assert line.startswith("a:1: …aaa")
    assert line.endswith("bbb…")
    assert len(line) < 300


def test_an_expression_that_would_take_for_ever_is_ended(room: Room):
    room.put("a", "a" * 5000 + "b")
    search = Search(r"(a|aa)+$", expression=True, seconds=0.05)
    with pytest.raises(SearchError, match=r"needs more than 0\.05 s on 'a'; write it without nested repetitions"):
        search.run(room.workspace)


@pytest.mark.parametrize(
    ("query", "expression", "said"), [("", False, "query is empty"), ("(", True, "is no regular expression")]
)
def test_a_query_that_cannot_be_is_refused(room: Room, query: str, expression: bool, said: str):
    with pytest.raises(SearchError, match=said):
        found(room, query=query, expression=expression)


def test_a_folder_outside_is_refused(room: Room):
    with pytest.raises(OutsideWorkspaceError):
        found(room, query="secret", path="../outside")


def test_bytes_that_are_no_utf8_do_not_hide_the_rest(room: Room):
    room.put("latin", "grün needle\n".encode("latin-1"))
    assert found(room, query="needle") == ["latin:1: gr\ufffdn needle"]
