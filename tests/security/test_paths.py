"""Paths that lead out, hang, or cannot be: the same for every tool that takes one, also while somebody exchanges what stands there."""

import io
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.tools.room import Room, call

from stoic.cli.asking import Asker
from stoic.cli.guidance import read_guidance
from stoic.cli.pictures import read_images
from stoic.cli.screen import Screen
from stoic.errors import UsageError
from stoic.records import Question
from stoic.tools.beneath import opened_file, replace_file
from stoic.tools.builtin import workspace_tools
from stoic.tools.ignoring import PatternTooSlowError
from stoic.tools.walking import walk
from stoic.tools.workspace import Workspace

SECRET = "canary-outside"
RACES = 15


@pytest.fixture
def room(tmp_path: Path) -> Room:
    made = Room(tmp_path)
    (made.outside / "secret").write_text(SECRET)
    return made


Use = Callable[[str, Room], str]


def using(name: str, **arguments: str) -> Use:
    def use(path: str, room: Room) -> str:
        (tool,) = [each for each in workspace_tools(room.workspace) if each.name == name]
        return call(tool, path=path, **arguments)

    return use


USES: dict[str, Use] = {
    "read": using("read_file"),
    "write": using("write_file", content="mine"),
    "edit": using("edit_file", old=SECRET, new="mine"),
    "list": using("list_files"),
    "search": using("search_files", query="canary"),
}
OUT = [
    "../outside", "../outside/secret", "/etc/passwd", "/proc/self/environ", "/proc/self/cwd/../outside/secret", "/dev/zero",
    "link", "link/secret", "link/../../outside/secret", "deep/../../outside/secret", "proc/environ", "loop/../../outside",
    "//outside", "./.././outside/secret", "deep/chain/secret",
]  # fmt: skip


@pytest.mark.parametrize("path", OUT)
@pytest.mark.parametrize("name", USES)
def test_no_tool_leaves_the_workspace(name: str, path: str, room: Room):
    room.put("deep/file")
    (room.root / "link").symlink_to(room.outside)
    (room.root / "proc").symlink_to("/proc/self")
    (room.root / "loop").symlink_to("loop")
    (room.root / "deep" / "chain").symlink_to("../link")
    with pytest.raises((OSError, ValueError, RuntimeError)) as raised:
        USES[name](path, room)
    assert SECRET not in str(raised.value)
    assert [each.name for each in room.outside.iterdir()] == ["secret"]
    assert (room.outside / "secret").read_text() == SECRET


@pytest.mark.parametrize(
    "path", ["~", "~root/x", "$HOME/x", "%2e%2e/x", "..\\x", "file:///etc/passwd", "-rf", "a\x1b[2Jb"]
)
def test_a_path_is_a_name_and_nothing_is_expanded_in_it(path: str, room: Room):
    assert USES["write"](path, room).startswith("wrote 4 bytes")
    assert (room.root / path).read_text() == "mine"
    assert USES["read"](path, room) == "mine"


def test_what_is_exchanged_while_a_tool_runs_leads_nowhere_else(room: Room):
    """A thread puts a link to the outside in the place of a folder and of a file, again and again, while both are used."""
    room.put("folder/secret", "inside")
    room.put("file", "inside")
    (room.root / "door").symlink_to(room.outside)
    (room.root / "key").symlink_to(room.outside / "secret")
    stopping = threading.Event()

    def exchange() -> None:
        while not stopping.is_set():
            for name, link in (("folder", "door"), ("file", "key")):
                for one, other in ((name, link), (link, name)):
                    (room.root / one).rename(room.root / "away")
                    (room.root / other).rename(room.root / one)
                    (room.root / "away").rename(room.root / other)

    # A write to the folder would make it anew while it is away.
    uses = [(name, path) for name in ("read", "edit") for path in ("folder/secret", "file")]
    uses += [("write", "file"), ("list", "folder"), ("search", "folder"), ("search", ".")]
    exchanging = threading.Thread(target=exchange)
    exchanging.start()
    seen: set[str] = set()
    try:
        for _ in range(RACES):
            for name, path in uses:
                try:
                    seen.add(USES[name](path, room))
                except (OSError, ValueError):
                    seen.add("refused")
    finally:
        stopping.set()
        exchanging.join()
    assert "refused" in seen
    assert not [each for each in seen if SECRET in each]
    assert (room.outside / "secret").read_text() == SECRET
    assert [each.name for each in room.outside.iterdir()] == ["secret"]


def test_a_write_through_a_second_name_of_a_file_outside_changes_nothing_there(room: Room):
    (room.root / "same").hardlink_to(room.outside / "secret")
    USES["write"]("same", room)
    assert (room.outside / "secret").read_text() == SECRET


PUT: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "link": lambda path: path.symlink_to("../outside/secret"),
}


class Exchanging(Workspace):
    """A workspace in which something else is put in a file's place right after the path was judged."""

    def __init__(self, room: Room, put: str) -> None:
        super().__init__(room.root)
        room.put("AGENTS.md", "Be kind.")
        self._put = PUT[put]

    def resolve(self, path: str) -> Path:
        real = super().resolve(path)
        real.unlink()
        self._put(real)
        return real


@pytest.mark.parametrize("put", PUT)
def test_what_takes_the_place_of_a_file_is_neither_read_nor_waited_for(put: str, room: Room):
    with pytest.raises((OSError, ValueError)), opened_file(Exchanging(room, put), "AGENTS.md"):
        raise AssertionError


@pytest.mark.parametrize("put", PUT)
def test_what_takes_the_place_of_a_file_is_not_written_to(put: str, room: Room):
    with pytest.raises((OSError, ValueError)):
        replace_file(Exchanging(room, put), "AGENTS.md", b"mine")
    assert (room.outside / "secret").read_text() == SECRET


@pytest.mark.parametrize("put", PUT)
def test_what_takes_the_place_of_the_instructions_is_not_read_into_them(put: str, room: Room):
    guidance = read_guidance(Exchanging(room, put))
    assert guidance.text == ""
    assert "AGENTS.md of the workspace was not read" in (guidance.note or "")


@pytest.mark.parametrize("put", PUT)
def test_what_takes_the_place_of_a_file_is_not_in_the_question_about_it(put: str, room: Room):
    shown = question(Exchanging(room, put), "AGENTS.md", "new text")
    assert "new text" in shown or "the call would fail" in shown
    assert SECRET not in shown


def question(workspace: Workspace, path: str, content: str) -> str:
    """Return what a person is asked about a call of `write_file`."""
    stream = io.StringIO()
    asker = Asker(Screen(stream, {}), None, None, workspace)  # pyright: ignore[reportArgumentType] - nothing is typed here
    arguments = json.dumps({"path": path, "content": content})
    asker._show(Question(operation="t.1.1.0", tool="write_file", effect="write", arguments=arguments))
    return stream.getvalue()


@pytest.mark.parametrize("put", PUT)
def test_a_picture_that_is_none_is_one_clear_error(put: str, tmp_path: Path):
    PUT[put](tmp_path / "picture.png")
    with pytest.raises(UsageError, match=r"image .*picture\.png' (is not a file|does not exist)"):
        read_images([tmp_path / "picture.png"])


NAMES = [
    b"two\nlines",
    b"esc\x1b]0;title\x07",
    "over\u202eride".encode(),
    b"not-\xff-utf8",
    "c1\x9b2J".encode(),
    b"\xf0\x9f\x98\x80",
]


def test_a_name_of_any_bytes_is_listed_and_searched_on_one_harmless_line(room: Room):
    for name in NAMES:
        (Path(os.fsdecode(os.fsencode(room.root) + b"/" + name))).write_text("needle")
    for text in (USES["list"](".", room), using("search_files", query="needle")(".", room)):
        lines = text.splitlines()
        assert len(lines) == len(NAMES)
        assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("path", ["x" * 5000, "x/" * 50_000 + "x", "../" * 50_000, "a\0b", "\ud800", ""])
def test_a_path_that_cannot_be_is_one_short_error(name: str, path: str, room: Room):
    if path == "" and name in {"list", "search"}:
        return
    with pytest.raises((OSError, ValueError)):
        USES[name](path, room)
    assert list(room.root.iterdir()) == []


SLOW = "*a*" * 80 + "b"


@pytest.mark.parametrize("use", ["list", "search"])
def test_a_pattern_of_a_gitignore_that_would_take_for_ever_is_named(use: str, room: Room):
    """The standard library's expressions cannot be stopped: eight stars and a name of 60 letters once took a minute."""
    room.put(".gitignore", f"{SLOW}\n")
    room.put("a" * 250)
    with pytest.raises(PatternTooSlowError, match="needs more than 1 s for one path"):
        USES[use](".", room)


def test_a_pattern_of_the_call_that_would_take_for_ever_is_named(room: Room):
    room.put("a" * 250)
    with pytest.raises(PatternTooSlowError, match="needs more than 1 s for one path"):
        using("list_files", pattern=SLOW)(".", room)


@pytest.mark.parametrize(
    "line",
    ["[[:alpha:]]*", "[", "[z-a]", "\\", "/**" * 300_000, "x" * 1_000_000, "\xff\0", "!" * 1000, "**/" * 300],
)
def test_a_line_of_a_gitignore_that_is_no_pattern_hides_nothing(line: str, room: Room):
    room.put(".gitignore", f"{line}\nhidden\n")
    room.put("shown")
    assert "shown" in USES["list"](".", room)


def test_a_walk_that_takes_too_long_ends(room: Room):
    room.put("file")
    with pytest.raises(TimeoutError, match="takes too long; name a folder inside"):
        list(walk(room.workspace, ".", seconds=-1))
