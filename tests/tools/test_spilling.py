"""Spilled output: whole, in a file of its own outside the workspace, for its owner alone."""

import stat

import pytest

from stoic.core.loops import Call, LoopDetector
from stoic.records import Operation
from stoic.tools.spilling import Spill


def operation(identity: str = "t.1.1.0", thread: str = "t") -> Operation:
    return Operation(
        id=identity, thread=thread, turn=1, round=1, index=0, tool="x", effect="read", arguments_key="", state="running"
    )


def test_the_first_and_the_last_part_are_shown_and_the_whole_is_kept(tmp_path):
    spill = Spill(tmp_path / "spill", shown_characters=40)
    text = "".join(f"line {number}\n" for number in range(100))
    shown = spill.keep(operation(), text)
    head, note, tail = shown.partition("\n[runtime: ")[0], shown.split("[runtime: ")[1], shown.rpartition("]\n")[2]
    assert (head, tail) == ("line 0\nline 1", "e 97\nline 98\nline 99\n"[-20:])
    left_out = len(text) - len(head) - len(tail)
    said = "read_output has them, from first_line=2 on; invocation id: t.1.1.0"
    assert note.startswith(f"{left_out} of {len(text)} characters are left out here. {said}]\n")
    path = spill.path("t", "t.1.1.0")
    assert path is not None
    assert path == tmp_path / "spill" / "t" / "t.1.1.0.txt"
    assert path.read_text() == text


def test_file_and_folders_are_for_their_owner_alone(tmp_path):
    spill = Spill(tmp_path / "spill", shown_characters=4)
    spill.keep(operation(), "x" * 100)
    modes = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "spill").rglob("*")
    }
    assert modes == {"spill/t": 0o700, "spill/t/t.1.1.0.txt": 0o600}
    assert stat.S_IMODE((tmp_path / "spill").stat().st_mode) == 0o700


def test_only_what_is_longer_than_what_is_shown_is_cut():
    spill = Spill(shown_characters=10)
    assert not spill.is_too_long("x" * 10)
    assert spill.is_too_long("x" * 11)


def test_without_a_folder_the_note_says_that_the_rest_is_lost():
    shown = Spill(shown_characters=10).keep(operation(), "x" * 100)
    assert shown == "xxxxx\n[runtime: 90 of 100 characters are left out here. They were not kept]\nxxxxx"


def test_a_folder_that_cannot_be_made_loses_the_rest_and_not_the_result(tmp_path):
    (tmp_path / "file").write_text("")
    shown = Spill(tmp_path / "file" / "spill", shown_characters=10).keep(operation(), "x" * 100)
    assert "They could not be kept (Not a directory)" in shown


def test_a_link_in_the_files_place_is_not_written_through(tmp_path):
    spill = Spill(tmp_path / "spill", shown_characters=10)
    (tmp_path / "spill" / "t").mkdir(parents=True)
    (tmp_path / "target").write_text("mine")
    (tmp_path / "spill" / "t" / "t.1.1.0.txt").symlink_to(tmp_path / "target")
    assert "could not be kept" in spill.keep(operation(), "x" * 100)
    assert (tmp_path / "target").read_text() == "mine"


@pytest.mark.parametrize("thread", ["../up", "/etc", "a/b", "..", ".", "T", "ä", "a b", "x" * 200, "~t", "a\0b"])
def test_a_thread_of_any_name_has_its_own_folder_inside(tmp_path, thread: str):
    spill = Spill(tmp_path, shown_characters=10)
    name = f"{thread}.1.1.0"
    assert "invocation id" in spill.keep(operation(name, thread), "x" * 100)
    path = spill.path(thread, name)
    assert path is not None
    assert path.parent.parent == tmp_path
    assert path.resolve().parent.parent == tmp_path.resolve()
    assert path.is_file()


def test_names_that_some_file_systems_take_for_one_another_have_different_folders(tmp_path):
    spill = Spill(tmp_path)
    folders = {str(spill.path(thread, "o")).lower() for thread in ("t", "T", "~t", "t.", "t ")}
    assert len(folders) == 5


def test_equal_outputs_of_two_operations_are_equal_to_the_loop_detector(tmp_path):
    spill = Spill(tmp_path, shown_characters=100)
    detector = LoopDetector()
    number = 0
    for number in range(100):
        call = Call(tool="x", arguments={}, effect="read")
        if detector.before(call).action == "block":
            break
        detector.after(call, spill.keep(operation(f"brave-otter.1.{number}.0"), "same line\n" * 1000))
    assert number == 30


def test_a_forgotten_thread_leaves_nothing_and_others_stay(tmp_path):
    spill = Spill(tmp_path / "spill", shown_characters=10)
    for thread in ("one", "two"):
        spill.keep(operation(f"{thread}.1.1.0", thread), "x" * 100)
    for _ in range(2):
        spill.forget("one")
    assert [path.name for path in (tmp_path / "spill").iterdir()] == ["two"]
    Spill().forget("one")
