"""Ends of calls written down at once: found after a kill, never taken for another run's, gone when nobody needs them."""

import logging
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from stoic.core.commands import CallResult
from stoic.records import Operation
from stoic.tools.ends import Ends

_KEEP = """
import sys
from pathlib import Path
from tests.tools.test_ends import ends_of, operation, result
ends = ends_of(Path(sys.argv[1]), "killed")
ends.keep(operation("t.1.1.0"), result("t.1.1.0"))
print("kept", flush=True)
sys.stdin.read()
"""


def operation(identity: str, *, runs: int = 1, started_at: int | None = 5) -> Operation:
    return Operation(
        id=identity, thread="t", turn=1, round=1, index=0, tool="x", effect="read", arguments_key="",
        state="running", runs=runs, started_at=started_at,
    )  # fmt: skip


def result(identity: str, text: str = "what it returned") -> CallResult:
    return CallResult(operation=identity, text=text, state="returned", started_at=6, ended_at=7)


def ends_of(folder: Path, owner: str = "me", **numbers: int) -> Ends:
    return Ends(folder / "log.db-ends", owner, **numbers)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "log.db-ends").iterdir())


def test_another_process_finds_an_end_as_it_was(tmp_path):
    kept = CallResult(
        operation="t.1.1.0", text="über\nzwei \x00 Zeilen", state="unknown", failure="tool_timeout", started_at=6, ended_at=7
    )  # fmt: skip
    ends_of(tmp_path).keep(operation("t.1.1.0"), kept)
    other = ends_of(tmp_path, "other")
    assert other.find([operation("t.1.1.0"), operation("t.1.1.1")]) == [kept]
    assert other.find([operation("t.1.1.1")]) == []


def test_an_end_of_another_run_of_the_same_id_is_not_taken(tmp_path):
    ends_of(tmp_path).keep(operation("t.1.1.0", runs=1, started_at=5), result("t.1.1.0"))
    other = ends_of(tmp_path, "other")
    assert other.find([operation("t.1.1.0", runs=2, started_at=5)]) == []
    assert other.find([operation("t.1.1.0", runs=1, started_at=6)]) == []
    assert other.find([operation("t.1.1.0", runs=1, started_at=None)]) == []


def test_the_process_itself_finds_its_ends_too_and_each_once(tmp_path):
    ends = ends_of(tmp_path)
    ends.keep(operation("t.1.1.0"), result("t.1.1.0", "first"))
    ends.keep(operation("t.1.1.0"), result("t.1.1.0", "last"))
    assert ends.find([operation("t.1.1.0")]) == [result("t.1.1.0", "last")]


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path):
    ends_of(tmp_path, "a").keep(operation("t.1.1.0"), result("t.1.1.0"))
    path = tmp_path / "log.db-ends" / "a-1"
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + whole.replace(b"t.1.1.0", b"t.1.1.1"))
    found = ends_of(tmp_path, "b").find([operation("t.1.1.0"), operation("t.1.1.1")])
    assert found == [result("t.1.1.1")]


def test_file_and_folder_are_for_their_owner_alone(tmp_path):
    ends_of(tmp_path).keep(operation("t.1.1.0"), result("t.1.1.0"))
    folder = tmp_path / "log.db-ends"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()] == [0o600]


def test_nothing_is_left_when_every_result_was_stored(tmp_path):
    ends = ends_of(tmp_path)
    ends.keep(operation("t.1.1.0"), result("t.1.1.0"))
    ends.stored(["t.1.1.0", "t.1.1.1"])
    ends.close()
    assert files(tmp_path) == []


def test_a_result_that_was_not_stored_is_found_after_the_close(tmp_path):
    ends = ends_of(tmp_path)
    ends.keep(operation("t.1.1.0"), result("t.1.1.0"))
    ends.keep(operation("t.1.1.1"), result("t.1.1.1"))
    ends.stored(["t.1.1.1"])
    ends.close()
    assert ends_of(tmp_path, "next").find([operation("t.1.1.0")]) == [result("t.1.1.0")]


def test_a_full_file_is_replaced_by_one_with_what_is_still_needed(tmp_path):
    ends = ends_of(tmp_path, full_bytes=2_000)
    ends.keep(operation("t.1.1.0"), result("t.1.1.0"))
    for number in range(1, 100):
        ends.keep(operation(f"t.1.1.{number}"), result(f"t.1.1.{number}"))
        ends.stored([f"t.1.1.{number}"])
    (name,) = files(tmp_path)
    assert name != "me-1"
    assert (tmp_path / "log.db-ends" / name).stat().st_size < 4_000
    assert ends_of(tmp_path, "other").find([operation("t.1.1.0")]) == [result("t.1.1.0")]
    assert ends_of(tmp_path, "other").abandoned() == []


def test_ends_come_from_any_thread(tmp_path):
    ends = ends_of(tmp_path, full_bytes=500)
    names = [f"t.1.1.{number}" for number in range(200)]

    def keep(some: list[str]) -> None:
        for name in some:
            ends.keep(operation(name), result(name))

    threads = [threading.Thread(target=keep, args=[names[start::4]]) for start in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        ends.stored([])
    for thread in threads:
        thread.join()
    found = ends_of(tmp_path, "other").find([operation(name) for name in names])
    assert sorted(each.operation for each in found) == sorted(names)


def test_without_a_folder_nothing_is_kept():
    ends = Ends()
    ends.keep(operation("t.1.1.0"), result("t.1.1.0"))
    ends.stored(["t.1.1.0"])
    assert ends.find([operation("t.1.1.0")]) == []
    assert ends.abandoned() == []
    ends.close()


def test_a_disk_that_takes_nothing_is_a_warning(tmp_path, caplog):
    (tmp_path / "log.db-ends").write_text("a file where the folder should be")
    ends = ends_of(tmp_path)
    with caplog.at_level(logging.WARNING):
        ends.keep(operation("t.1.1.0"), result("t.1.1.0"))
    assert "was not written down" in caplog.text
    assert ends.find([operation("t.1.1.0")]) == [result("t.1.1.0")]
    ends.close()


def test_what_a_killed_process_wrote_down_is_found_and_stays_as_long_as_it_is_needed(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", _KEEP, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "kept\n"
    other = ends_of(tmp_path, "other")
    assert other.abandoned() == []
    process.kill()
    assert process.wait() == -signal.SIGKILL
    process.stdin.close()
    process.stdout.close()

    (path,) = other.abandoned()
    other.clear([path], [operation("t.1.1.0")])
    assert other.find([operation("t.1.1.0")]) == [result("t.1.1.0")]
    other.clear([path], [replace(operation("t.1.1.0"), runs=2)])
    assert files(tmp_path) == []
    other.clear([path], [])


def test_a_file_that_is_another_users_is_left_alone(tmp_path):
    folder = tmp_path / "log.db-ends"
    folder.mkdir()
    (folder / "theirs-1").symlink_to(tmp_path / "elsewhere")  # like one that may not be opened
    ends = ends_of(tmp_path)
    assert ends.abandoned() == []
    assert ends.find([operation("t.1.1.0")]) == []
    assert os.path.lexists(folder / "theirs-1")


@pytest.mark.parametrize("name", ['a"b.1.1.0', "ü.1.1.0", "a\\b.1.1.0"])
def test_ids_of_any_spelling_are_found(tmp_path, name: str):
    ends_of(tmp_path).keep(operation(name), result(name))
    assert ends_of(tmp_path, "other").find([operation(name)]) == [result(name)]
