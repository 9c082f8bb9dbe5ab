"""`list_files`: what there is, without what git ignores, links followed nowhere."""

import os

import pytest
from tests.tools.room import Room, call

from stoic.tools.listing import LIMIT_ENTRIES, list_tool
from stoic.tools.workspace import OutsideWorkspaceError


@pytest.fixture
def room(tmp_path) -> Room:
    return Room(tmp_path)


def listed(room: Room, **arguments) -> list[str]:
    return call(list_tool(room.workspace), **arguments).split("\n")


def test_folders_stand_before_what_is_in_them_in_order(room: Room):
    for path in ("b/c/deep.txt", "b/x.txt", "a.txt", "z/y.txt"):
        room.put(path)
    assert listed(room) == ["a.txt", "b/", "b/c/", "b/c/deep.txt", "b/x.txt", "z/", "z/y.txt"]


def test_deeper_levels_are_marked_and_not_opened(room: Room):
    room.put("a/b/c.txt")
    assert listed(room, levels=1) == ["a/ …"]
    assert listed(room, levels=2) == ["a/", "a/b/ …"]


@pytest.mark.parametrize(
    ("rules", "hidden"),
    [
        ("*.log", {"a.log", "sub/b.log"}),
        ("/a.log", {"a.log"}),
        ("sub/", {"sub/", "sub/b.log", "sub/k.txt"}),
        ("*.log\n!b.log", {"a.log"}),
        ("# a.log\n\n", set()),
        ("sub/*\n!sub/k.txt", {"sub/b.log"}),
        ("***[\n!\n*.log", {"a.log", "sub/b.log"}),
    ],
)
def test_what_gitignore_hides_is_left_out(room: Room, rules: str, hidden: set[str]):
    for path in ("a.log", "sub/b.log", "sub/k.txt", "t.txt"):
        room.put(path)
    room.put(".gitignore", rules)
    everything = {".gitignore", "a.log", "sub/", "sub/b.log", "sub/k.txt", "t.txt"}
    assert set(listed(room)) == everything - hidden


def test_a_deeper_gitignore_has_the_last_word(room: Room):
    room.put(".gitignore", "*.log")
    room.put("sub/.gitignore", "!kept.log\n/only-here")
    for path in ("kept.log", "sub/kept.log", "sub/other.log", "sub/only-here", "only-here"):
        room.put(path)
    assert set(listed(room)) == {".gitignore", "only-here", "sub/", "sub/.gitignore", "sub/kept.log"}


def test_rules_of_the_folders_above_hold_for_a_named_folder(room: Room):
    room.put(".gitignore", "*.log\nsub/inner/x")
    for path in ("sub/inner/a.log", "sub/inner/x", "sub/inner/y"):
        room.put(path)
    assert listed(room, path="sub/inner") == ["sub/inner/y"]


def test_an_ignored_folder_is_listed_when_it_is_named_itself(room: Room):
    room.put(".gitignore", "build/")
    room.put("build/out.txt")
    assert listed(room) == [".gitignore"]
    assert listed(room, path="build") == ["build/out.txt"]


def test_the_git_folder_is_never_listed(room: Room):
    room.put(".git/config")
    room.put("a")
    assert listed(room) == ["a"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["a.py", "s/b.py", "s/t/u/v/c.py"]),
        ("s/*.py", ["s/b.py"]),
        ("s/**/*.py", ["s/b.py", "s/t/u/v/c.py"]),
        ("none", ["[nothing in '.' matches 'none']"]),
    ],
)
def test_a_pattern_finds_files_at_any_depth(room: Room, pattern: str, found: list[str]):
    for path in ("a.py", "s/b.py", "s/t/u/v/c.py", "s/d.txt"):
        room.put(path)
    assert listed(room, pattern=pattern) == found


def test_links_and_other_things_are_named_and_not_followed(room: Room):
    (room.root / "out").symlink_to(room.outside)
    (room.root / "loop").symlink_to(".")
    os.mkfifo(room.root / "pipe")
    assert listed(room) == ["loop (link)", "out (link)", "pipe (no regular file)"]


def test_too_many_entries_are_cut_with_a_note(room: Room):
    for number in range(LIMIT_ENTRIES + 1):
        room.put(f"{number:04}")
    lines = listed(room)
    assert lines[LIMIT_ENTRIES - 1] == f"{LIMIT_ENTRIES - 1:04}"
    assert lines[LIMIT_ENTRIES:] == [
        f"[more follows after {LIMIT_ENTRIES} entries: name a folder inside, or a pattern]"
    ]


def test_exactly_as_many_entries_as_are_shown_have_no_note(room: Room):
    for number in range(LIMIT_ENTRIES):
        room.put(f"{number:04}")
    assert len(listed(room)) == LIMIT_ENTRIES


def test_a_name_with_a_line_break_stays_on_one_line(room: Room):
    room.put("a\n[more]")
    assert listed(room) == [r"'a\n[more]'"]


@pytest.mark.parametrize("path", ["..", "/etc", "out", "../root2"])
def test_a_folder_outside_is_refused(room: Room, path: str):
    (room.root / "out").symlink_to(room.outside)
    with pytest.raises(OutsideWorkspaceError):
        listed(room, path=path)


def test_what_is_no_folder_is_said(room: Room):
    room.put("file")
    with pytest.raises(FileNotFoundError, match="there is no folder 'none'"):
        listed(room, path="none")
    with pytest.raises(NotADirectoryError, match="'file' is no folder"):
        listed(room, path="file")
    assert listed(Room(room.put("other/x").parent)) == ["['.' is empty, or all in it is ignored]"]


def test_a_folder_deeper_than_descriptors_reach_ends_without_an_error(room: Room):
    room.put("/".join(["d"] * 100) + "/file")
    assert listed(room, pattern="file") == ["[nothing in '.' matches 'file']"]
