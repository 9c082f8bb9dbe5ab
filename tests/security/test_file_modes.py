"""Who may read what stoic writes: its owner alone, whatever the umask and whatever stood there before."""

import os
import stat
import threading
from pathlib import Path

import pytest
from tests.cli.processes import Bench
from tests.tools.room import Room

from stoic.cli.composing import HISTORY_FILE, Composer
from stoic.errors import ConfigurationError
from stoic.testing import ScriptedProvider
from stoic.tools.beneath import replace_file
from stoic.tools.private import private_folder

SCRIPT = [
    ['tool:shell({"command":"seq 20000"})'],
    ['tool:shell_start({"command":"echo hidden"})'],
    ['tool:shell_poll({"shell":"t.1.2.0","wait_seconds":60})'],
    ["text:done"],
]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_nobody_else_can_read_anything_though_all_of_it_was_open_before(bench: Bench):
    before = os.umask(0)
    try:
        for folder in ("spill", "spill/t", "log.db-ends", "log.db-shells", "log.db-shells/t"):
            (bench.folder / folder).mkdir(mode=0o777)
        bench.database.touch(mode=0o666)
        with ScriptedProvider(SCRIPT) as provider:
            done = bench.stoic(*bench.working(provider, "go", "--thread", "t", "--yes"))
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    kept = [path for path in sorted(bench.folder.rglob("*")) if bench.workspace not in [path, *path.parents]]
    assert {path.name for path in kept} > {"log.db", "t.1.1.0.txt", "info.json", "exit.json", "readers", "0"}
    assert [str(path) for path in kept if mode(path) != (0o700 if path.is_dir() else 0o600)] == []


def test_a_folder_that_is_a_link_or_a_file_is_not_used(tmp_path: Path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(NotADirectoryError):
            private_folder(tmp_path / name)
    private_folder(tmp_path / "there")
    assert mode(tmp_path / "there") == 0o700


def test_the_history_of_a_chat_is_not_written_through_a_link(tmp_path: Path):
    (tmp_path / "other").write_text("as it was")
    (tmp_path / "other").chmod(0o644)
    (tmp_path / HISTORY_FILE).symlink_to("other")
    with pytest.raises(ConfigurationError, match="what you write cannot be kept there"):
        Composer(tmp_path / HISTORY_FILE, [])
    assert (tmp_path / "other").read_text() == "as it was"
    assert mode(tmp_path / "other") == 0o644


def test_a_private_file_is_private_while_it_is_written_anew(tmp_path: Path):
    room = Room(tmp_path)
    room.put("secret", "old").chmod(0o600)
    seen: set[int] = set()
    stopping = threading.Event()

    def watch() -> None:
        while not stopping.is_set():
            for entry in os.scandir(room.root):
                try:
                    seen.add(stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode))
                except FileNotFoundError:
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    before = os.umask(0)
    try:
        for _ in range(5):
            replace_file(room.workspace, "secret", b"x" * 4_000_000)
    finally:
        os.umask(before)
        stopping.set()
        watcher.join()
    assert seen == {0o600}


def test_a_replaced_program_runs_as_nobody_else(tmp_path: Path):
    room = Room(tmp_path)
    program = room.put("program", "old")
    program.chmod(0o4755)
    replace_file(room.workspace, "program", b"new")
    assert mode(program) == 0o755
