"""The way down to a file: a link that appears after the path was judged does not lead out."""

import os

import pytest
from tests.tools.room import Room

from stoic.tools.beneath import opened_file, opened_folder, read_small, replace_file
from stoic.tools.workspace import Workspace


@pytest.fixture
def room(tmp_path) -> Room:
    return Room(tmp_path)


class Exchanging(Workspace):
    """A workspace in which somebody puts a link in a path's place right after it was judged."""

    def __init__(self, room: Room, name: str, target: str) -> None:
        super().__init__(room.root)
        self._name = name
        self._target = target

    def resolve(self, path: str):
        real = super().resolve(path)
        place = self.root / self._name
        if place.is_dir():
            place.rename(self.root / "moved")
        else:
            place.unlink(missing_ok=True)
        place.symlink_to(self._target)
        return real


@pytest.mark.parametrize(("path", "name"), [("folder/secret", "folder"), ("secret", "secret")])
def test_a_link_put_in_place_after_the_judgement_is_not_followed(room: Room, path: str, name: str):
    room.put(path, "inside")
    target = str(room.outside if name == "folder" else room.outside / "secret")
    workspace = Exchanging(room, name, target)
    with pytest.raises((OSError, ValueError)), opened_file(workspace, path):
        raise AssertionError


def test_a_write_through_a_folder_exchanged_for_a_link_changes_nothing_outside(room: Room):
    room.put("folder/secret", "inside")
    with pytest.raises(OSError, match="folder"):
        replace_file(Exchanging(room, "folder", str(room.outside)), "folder/secret", b"mine")
    assert (room.outside / "secret").read_text() == "secret"
    assert [path.name for path in room.outside.iterdir()] == ["secret"]


def test_the_root_itself_is_no_file(room: Room):
    for act in (lambda: replace_file(room.workspace, ".", b"x"), lambda: opened_file(room.workspace, ".").__enter__()):
        with pytest.raises(IsADirectoryError, match=r"'\.' is a folder"):
            act()


def test_a_small_file_is_read_only_if_it_is_one(room: Room):
    room.put("small", "abc")
    room.put("large", "abcd")
    os.mkfifo(room.root / "pipe")
    (room.root / "link").symlink_to("small")
    with opened_folder(room.root, room.root) as folder:
        found = {name: read_small(folder, name, 3) for name in ("small", "large", "pipe", "link", "none")}
    assert found == {"small": b"abc", "large": None, "pipe": None, "link": None, "none": None}
