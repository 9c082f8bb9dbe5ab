"""`edit_file`: exactly the named piece changes, or nothing does and the text says why."""

import stat

import pytest
from tests.tools.room import Room, call

from stoic.tools.editing import LIMIT_BYTES, EditError, edit_tool, edited
from stoic.tools.workspace import OutsideWorkspaceError


@pytest.fixture
def room(tmp_path) -> Room:
    return Room(tmp_path)


def test_a_piece_that_stands_once_is_replaced_and_the_rest_stays(room: Room):
    file = room.put("a.py", "def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    assert call(edit_tool(room.workspace), path="a.py", old="return 1", new="return 3") == "replaced 1 piece of a.py"
    assert file.read_text() == "def f():\n    return 3\n\n\ndef g():\n    return 2\n"


def test_the_schema_names_its_parameters_and_it_counts_as_a_write(room: Room):
    tool = edit_tool(room.workspace)
    assert tool.effect == "write"
    assert list(tool.schema.parameters["properties"]) == ["path", "old", "new", "count"]
    assert tool.schema.parameters["required"] == ["path", "old", "new"]


def test_a_piece_that_stands_more_often_is_refused_with_its_lines(room: Room):
    file = room.put("a", "x = 1\ny = 1\nx = 1\n")
    with pytest.raises(EditError, match=r"stands 2 times in 'a' \(line 1, 3\), not 1; .*count=2 to replace all"):
        call(edit_tool(room.workspace), path="a", old="x = 1", new="x = 2")
    assert file.read_text() == "x = 1\ny = 1\nx = 1\n"


def test_the_right_count_replaces_all_places(room: Room):
    file = room.put("a", "x = 1\ny = 1\nx = 1\n")
    assert call(edit_tool(room.workspace), path="a", old="x", new="z", count=2) == "replaced 2 pieces of a"
    assert file.read_text() == "z = 1\ny = 1\nz = 1\n"


@pytest.mark.parametrize("count", [2, 3])
def test_a_wrong_count_changes_nothing(count: int):
    with pytest.raises(EditError, match=f"stands 1 times in 'a' .*, not {count}"):
        edited("a", "one two", "one", "1", count)


@pytest.mark.parametrize(
    ("text", "old", "hint"),
    [
        ("a\nreturn value\n", "retrun value", r"The nearest is line 2: 'return value'"),
        ("a\n    return 1\n", "return 1\nb", r"Its first line is line 2, but indentation"),
        ("abc\n", "something else entirely", r"No line is like its first one; read the file again"),
        ("abc\n", "\n\n\n", r"It holds nothing but white space"),
        ("", "x", r"No line is like"),
    ],
)
def test_a_piece_that_is_not_there_is_told_with_the_nearest_line(text: str, old: str, hint: str):
    with pytest.raises(EditError, match=rf"old does not stand in 'a'; nothing was changed\. {hint}"):
        edited("a", text, old, "new")


@pytest.mark.parametrize(
    ("old", "new", "count", "said"),
    [("", "x", 1, "old is empty"), ("x", "x", 1, "old and new are the same"), ("x", "y", 0, "at least 1")],
)
def test_an_edit_that_cannot_mean_anything_is_refused(old: str, new: str, count: int, said: str):
    with pytest.raises(EditError, match=said):
        edited("a", "x", old, new, count)


def test_plain_line_breaks_fit_a_file_with_crlf_and_keep_its_line_ends():
    assert edited("a", "one\r\ntwo\r\nthree\r\n", "one\ntwo", "1\n2") == "1\r\n2\r\nthree\r\n"


def test_line_ends_and_a_byte_order_mark_around_an_edit_stay(room: Room):
    file = room.put("a", b"\xef\xbb\xbfone\r\ntwo\nthree\r")
    call(edit_tool(room.workspace), path="a", old="two", new="2")
    assert file.read_bytes() == b"\xef\xbb\xbfone\r\n2\nthree\r"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"gr\xfcn", "is not UTF-8 text .byte 2."),
        (b"a\0b", "is a binary file"),
        (b"x" * (LIMIT_BYTES + 1), "is larger than"),
    ],
)
def test_a_file_that_an_edit_could_harm_is_refused(room: Room, content: bytes, said: str):
    room.put("a", content)
    with pytest.raises(EditError, match=said):
        call(edit_tool(room.workspace), path="a", old="x", new="y")
    assert (room.root / "a").read_bytes() == content


def test_an_edit_keeps_the_mode_and_leaves_nothing_beside_the_file(room: Room):
    file = room.put("run.sh", "echo a")
    file.chmod(0o750)
    call(edit_tool(room.workspace), path="run.sh", old="a", new="b")
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    assert [path.name for path in room.root.iterdir()] == ["run.sh"]


@pytest.mark.parametrize("path", ["../outside/secret", "link", "folder/../../outside/secret"])
def test_an_edit_does_not_leave_the_workspace(room: Room, path: str):
    (room.root / "link").symlink_to(room.outside / "secret")
    with pytest.raises(OutsideWorkspaceError):
        call(edit_tool(room.workspace), path=path, old="secret", new="x")
    assert (room.outside / "secret").read_text() == "secret"


def test_a_missing_file_is_named(room: Room):
    with pytest.raises(FileNotFoundError, match="there is no file 'none' in the workspace"):
        call(edit_tool(room.workspace), path="none", old="a", new="b")
