"""The file tools: nothing outside the workspace, nothing half written, nothing that hangs or fills the memory."""

import os
import stat
from pathlib import Path

import pytest

from stoic.tools.files import LIMIT_BYTES, file_tools
from stoic.tools.workspace import OutsideWorkspaceError, Workspace


class Room:
    """A workspace with something outside it."""

    def __init__(self, folder: Path) -> None:
        self.outside = folder / "outside"
        self.root = folder / "root"
        self.outside.mkdir()
        self.root.mkdir()
        (self.outside / "secret").write_text("secret")
        self.workspace = Workspace(self.root)
        self.read, self.write = file_tools(self.workspace)


@pytest.fixture
def room(tmp_path) -> Room:
    return Room(tmp_path)


@pytest.mark.parametrize(
    "path", ["../outside/secret", "a/../../outside/secret", "..", "/etc/passwd", "/", "../root2/x"]
)
def test_a_path_that_leads_out_is_refused(room: Room, path: str):
    with pytest.raises(OutsideWorkspaceError, match="is outside the workspace"):
        room.workspace.resolve(path)
    with pytest.raises(OutsideWorkspaceError):
        room.read(path)
    with pytest.raises(OutsideWorkspaceError):
        room.write(path, "x")


def test_a_sibling_whose_name_begins_like_the_root_is_outside(room: Room):
    (room.root.parent / "root-two").mkdir()
    with pytest.raises(OutsideWorkspaceError):
        room.workspace.resolve("../root-two/x")


@pytest.mark.parametrize("link", ["link", "folder/link"])
def test_a_link_that_leads_out_is_refused(room: Room, link: str):
    (room.root / "folder").mkdir()
    (room.root / link).symlink_to(room.outside)
    with pytest.raises(OutsideWorkspaceError):
        room.read(f"{link}/secret")
    with pytest.raises(OutsideWorkspaceError):
        room.write(f"{link}/new", "x")
    assert sorted(room.outside.iterdir()) == [room.outside / "secret"]


def test_a_dangling_link_that_leads_out_is_refused(room: Room):
    (room.root / "link").symlink_to(room.outside / "not yet")
    with pytest.raises(OutsideWorkspaceError):
        room.write("link", "x")
    assert not (room.outside / "not yet").exists()


def test_a_link_that_stays_inside_is_followed(room: Room):
    (room.root / "real").write_text("inside")
    (room.root / "link").symlink_to(room.root / "real")
    assert room.read("link") == "inside"


def test_a_nul_byte_is_refused(room: Room):
    with pytest.raises(OutsideWorkspaceError, match="NUL"):
        room.read("a\0b")


def test_an_absolute_path_inside_the_workspace_is_fine(room: Room):
    (room.root / "file").write_text("text")
    assert room.read(str(room.root / "file")) == "text"


def test_a_workspace_must_exist(tmp_path):
    with pytest.raises(FileNotFoundError):
        Workspace(tmp_path / "none")


def test_a_missing_file_is_named(room: Room):
    with pytest.raises(FileNotFoundError, match="there is no file 'none' in the workspace"):
        room.read("none")


def test_a_folder_is_not_a_file(room: Room):
    (room.root / "folder").mkdir()
    for act in (lambda: room.read("folder"), lambda: room.write("folder", "x")):
        with pytest.raises(IsADirectoryError, match="'folder' is a folder"):
            act()


def test_a_fifo_is_refused_and_does_not_hang(room: Room):
    os.mkfifo(room.root / "pipe")
    for act in (lambda: room.read("pipe"), lambda: room.write("pipe", "x")):
        with pytest.raises(ValueError, match="not a regular file"):
            act()


def test_a_binary_file_is_not_shown(room: Room):
    (room.root / "binary").write_bytes(b"\x7fELF\0\0")
    with pytest.raises(ValueError, match="is a binary file of 6 bytes"):
        room.read("binary")


def test_bytes_that_are_no_utf8_are_replaced(room: Room):
    (room.root / "latin").write_bytes("grün\n".encode("latin-1"))
    assert room.read("latin") == "gr\ufffdn\n"


def test_an_empty_file_is_empty_text(room: Room):
    (room.root / "empty").write_bytes(b"")
    assert room.read("empty") == ""


def test_a_long_file_is_read_in_parts_that_together_are_the_file(room: Room):
    text = "".join(f"line {number}\n" for number in range(1, 30_001))
    (room.root / "long").write_text(text)
    parts, line = list[str](), 1
    while True:
        part = room.read("long", first_line=line, limit_lines=2_000)
        shown, more, hint = part.partition("\n[more follows: go on with first_line=")
        parts.append(shown)
        if not more:
            break
        line = int(hint.rstrip("]"))
    assert "".join(parts) == text


def test_one_huge_line_does_not_fill_the_answer(room: Room):
    with (room.root / "huge").open("wb") as file:
        file.truncate(0)
        file.write(b"x" * (4 * LIMIT_BYTES))
    assert len(room.read("huge")) <= LIMIT_BYTES + 200


def test_a_sparse_file_larger_than_memory_is_answered(room: Room):
    with (room.root / "sparse").open("wb") as file:
        file.write(b"begin\n")
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match="binary"):
        room.read("sparse")


def test_a_line_beyond_the_end_is_said(room: Room):
    (room.root / "short").write_text("one\ntwo\n")
    assert room.read("short", first_line=9) == "[short has 2 lines; line 9 is beyond its end]"


@pytest.mark.parametrize(("first_line", "limit_lines"), [(0, 1), (1, 0), (-1, 1)])
def test_lines_count_from_one(room: Room, first_line: int, limit_lines: int):
    (room.root / "file").write_text("x")
    with pytest.raises(ValueError, match="count from 1"):
        room.read("file", first_line, limit_lines)


def test_a_new_file_gets_its_folders(room: Room):
    assert room.write("a/b/c.txt", "grün") == "wrote 5 bytes to a/b/c.txt"
    assert (room.root / "a/b/c.txt").read_text() == "grün"


def test_a_replaced_file_keeps_its_mode_and_a_new_one_follows_the_umask(room: Room):
    script = room.root / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    room.write("run.sh", "new")
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    room.write("new", "x")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((room.root / "new").stat().st_mode) == 0o666 & ~mask


def test_a_write_replaces_the_file_as_a_whole(room: Room):
    old = room.root / "file"
    old.write_text("old content")
    with old.open() as reader:
        room.write("file", "new")
        assert reader.read() == "old content"
    assert old.read_text() == "new"


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(room: Room):
    (room.root / "file").write_text("old")
    (room.root / "blocked").write_text("a file where a folder would have to be")
    with pytest.raises(OSError, match="blocked"):
        room.write("blocked/file", "new")
    assert sorted(path.name for path in room.root.iterdir()) == ["blocked", "file"]


def test_a_write_leaves_no_temporary_file(room: Room):
    room.write("file", "x")
    assert [path.name for path in room.root.iterdir()] == ["file"]


def test_a_write_through_a_link_changes_what_it_points_to_and_keeps_the_link(room: Room):
    (room.root / "real").write_text("old")
    (room.root / "link").symlink_to("real")
    room.write("link", "new")
    assert (room.root / "link").is_symlink()
    assert (room.root / "real").read_text() == "new"


def test_text_with_a_single_surrogate_can_be_written(room: Room):
    room.write("file", "a\udc80b")
    assert b"a" in (room.root / "file").read_bytes()
