"""Background shells: real keepers, real commands, and what is known of them in this process and in every other."""

import asyncio
import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.tools.journal import operation
from tests.tools.test_shell import has_ended, lives

from stoic.core.commands import CallResult, PlannedCall
from stoic.core.loops.call import Call
from stoic.core.loops.identity import identify
from stoic.core.loops.outcomes import outcome
from stoic.records import CallPart, Operation
from stoic.runtime.execution import Execution
from stoic.store.sqlite import SqliteStore
from stoic.testing import FakeClock
from stoic.tools.context import ToolContext
from stoic.tools.shell_keeper import SEGMENT_BYTES, Output
from stoic.tools.shell_output import PAGE_BYTES, read_from, read_newest
from stoic.tools.shell_tools import background_shell_tools
from stoic.tools.shells import LIMIT_RUNNING, ShellError, Shells
from stoic.tools.spilling import Spill
from stoic.tools.workspace import Workspace

ID, OTHER = "t.1.1.0", "t.1.1.1"
_START = """
import os, sys
from pathlib import Path
from stoic.tools.shells import Shells
Shells(Path(sys.argv[1])).start(
    "t", "t.1.1.0", sys.argv[2], root=Path.cwd(), deadline_seconds=600, environment=os.environ
)
print("started", flush=True)
sys.stdin.read()
"""


class Desk:
    """A workspace, and the tools as a turn of thread `t` calls them."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self.folder = folder / "log.db-shells"
        self.shells = Shells(self.folder)
        self.context = ToolContext(
            thread="t", store=SqliteStore(folder / "log.db"), spill=Spill(), shells=self.shells
        )  # no tool of these looks at the log
        self.tools = {tool.name: tool for tool in background_shell_tools(Workspace(self.root))}

    @property
    def execution(self) -> Execution:
        return Execution(self.tools, FakeClock(auto=True), self.context)

    def planned(self, tool: str, identity: str, **arguments: Any) -> PlannedCall:
        assert self.tools[tool].facts.check(arguments) is None
        begun = replace(operation(identity), thread=self.context.thread, tool=tool, effect=self.tools[tool].effect)
        return PlannedCall(operation=begun, call=CallPart(name=tool, arguments=json.dumps(arguments)))

    async def result(self, tool: str, identity: str = "t.1.9.0", **arguments: Any) -> CallResult:
        execution = self.execution
        execution.start(self.planned(tool, identity, **arguments))
        (result,) = await execution.next()
        return result

    async def call(self, tool: str, identity: str = "t.1.9.0", **arguments: Any) -> str:
        return (await self.result(tool, identity, **arguments)).text

    async def start(self, command: str, identity: str = ID, **arguments: Any) -> str:
        return await self.call("shell_start", identity, command=command, **arguments)

    async def poll(self, offset: int = 0, shell: str = ID, **arguments: Any) -> tuple[str, str, int]:
        """Wait for news; return the state, the output, and the next offset."""
        arguments.setdefault("wait_seconds", 60)
        told = await self.call("shell_poll", shell=shell, offset=offset, **arguments)
        found = re.fullmatch(r"\[(.*); output bytes \d+ to \d+ of \d+; next_offset: (\d+)\]\n?(.*)", told, re.DOTALL)
        assert found, told
        return found[1], found[3], int(found[2])

    async def ended(self, shell: str = ID) -> tuple[str, str]:
        """Wait for the end; return the state and the newest output."""
        state, text, offset = await self.poll(shell=shell)
        while state == "running":
            state, more, offset = await self.poll(offset, shell)
            text += more
        return state, text

    def keeper(self, shell: str = ID) -> int:
        """Return the pid of a shell's keeper."""
        return json.loads(self.path("info.json", shell).read_text())["pid"]

    def path(self, name: str, shell: str = ID) -> Path:
        return self.folder / "t" / shell / name


@pytest.fixture
def desk(tmp_path):
    desk = Desk(tmp_path)
    yield desk
    for thread in ("t", "u"):
        desk.shells.close(thread)


def test_a_shell_goes_on_between_polls_each_of_which_brings_what_is_new(desk: Desk):
    os.mkfifo(desk.root / "more")

    async def story() -> None:
        told = await desk.start("pwd; cat more >&2; exit 3")
        assert told == f"[running; shell_poll and shell_stop take its invocation id: {ID}]"
        state, text, offset = await desk.poll()
        assert (state, text) == ("running", str(desk.root.resolve()))
        assert await desk.poll(offset, wait_seconds=0) == ("running", "", offset)
        waiting = asyncio.ensure_future(desk.poll(offset))
        await asyncio.to_thread((desk.root / "more").write_text, "grün\n")
        state, text, offset = await waiting
        assert text == "grün"
        while state == "running":
            state, text, offset = await desk.poll(offset)
            assert text == ""
        assert state == "exited with code 3"
        assert await desk.call("shell_stop", shell=ID) == "[it had ended before: exited with code 3]"

    asyncio.run(story())


def test_one_id_is_one_shell_however_often_it_is_started_and_its_status_is_told(desk: Desk):
    command = "echo ran >> runs; echo up; sleep 300"
    planned = desk.planned("shell_start", ID, command=command)

    async def story() -> None:

        async def status(operation: Operation, arguments: str) -> str:
            return (await desk.execution.status(operation, arguments)).answer

        assert await status(planned.operation, planned.call.arguments) == "not_done"
        desk.path("").mkdir(parents=True)  # as far as a process got that died then
        assert await status(planned.operation, planned.call.arguments) == "unknown"
        first, *others = await asyncio.gather(desk.start(command), desk.start(command), desk.start(command))
        assert [first, first] == others
        assert (await desk.poll())[1] == "up"
        assert await status(planned.operation, planned.call.arguments) == "done"
        assert await desk.call("shell_stop", shell=ID) == "[stopped, exit code -15]"
        again = await desk.start(command)
        assert again.startswith("[stopped, exit code -15; ")
        assert (desk.root / "runs").read_text() == "ran\n"
        assert await status(planned.operation, planned.call.arguments) == "done"

    asyncio.run(story())


def test_keepers_of_two_processes_run_the_command_of_one_shell_once(desk: Desk):
    async def story() -> None:
        # Two registries know nothing of each other, like those of two processes.
        others = [Shells(desk.folder) for _ in range(6)]

        def start(shells: Shells) -> None:
            shells.start("t", ID, "echo ran >> runs", root=desk.root, deadline_seconds=60, environment=os.environ)

        await asyncio.gather(*(asyncio.to_thread(start, each) for each in others))
        assert await desk.ended() == ("exited with code 0", "")
        assert (desk.root / "runs").read_text() == "ran\n"

    asyncio.run(story())


def test_a_long_output_keeps_its_beginning_and_its_end_and_says_what_is_gone(desk: Desk):
    async def story() -> None:
        await desk.start("echo begin; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last; echo end")
        assert has_ended(desk.keeper())
        total = len("begin\n") + 3_000_000 + len("\nlast\nend\n")
        _, text, offset = await desk.poll()
        assert text.startswith("begin\nxxx")
        assert offset == len(text) == PAGE_BYTES
        _, text, offset = await desk.poll(SEGMENT_BYTES - 10)
        assert (text, offset) == ("x" * 10, SEGMENT_BYTES)
        told = await desk.call("shell_poll", shell=ID, offset=offset)
        kept = total // SEGMENT_BYTES - 1  # of the files beside the first, the newest two
        assert told.startswith(
            f"[exited with code 0; output bytes {kept * SEGMENT_BYTES} to {kept * SEGMENT_BYTES + PAGE_BYTES} of {total}; "
            f"next_offset: {kept * SEGMENT_BYTES + PAGE_BYTES}]\n[{(kept - 1) * SEGMENT_BYTES} bytes before these are not "
            f"kept: only the first {SEGMENT_BYTES} and the newest ones are]\nxxx"
        )
        _, text, offset = await desk.poll(tail_lines=2)
        assert (text, offset) == ("last\nend", total)
        sizes = [path.stat().st_size for path in desk.path("").iterdir() if path.name.isdigit()]
        assert sum(sizes) <= 3 * SEGMENT_BYTES
        raised = await desk.call("shell_poll", shell=ID, offset=total + 1)
        assert raised.endswith(f"ValueError: offset must be from 0 to {total}, which is where the output ends now")

    asyncio.run(story())


def test_at_its_deadline_a_shell_is_ended_with_all_it_started(desk: Desk):
    os.mkfifo(desk.root / "ready")

    async def story() -> None:
        await desk.start("sleep 300 & echo $$ $! > ready; wait", deadline_seconds=1)
        pids = (await asyncio.to_thread((desk.root / "ready").read_text)).split()
        assert await desk.ended() == ("ended at its deadline, exit code -15", "")
        assert all(has_ended(int(pid)) for pid in pids)

    asyncio.run(story())


def test_what_ignores_the_request_to_end_is_killed_and_what_ends_in_time_may_finish(desk: Desk):
    os.mkfifo(desk.root / "ready")
    stubborn = "trap '' TERM; echo $$ > ready; while :; do sleep 300; done"
    tidy = "(trap 'echo tidied; exit' TERM; echo > ready; while :; do sleep 0.01; done) & wait"

    async def story() -> None:
        await desk.start(stubborn, ID)
        pid = int(await asyncio.to_thread((desk.root / "ready").read_text))
        await desk.start(tidy, OTHER)
        await asyncio.to_thread((desk.root / "ready").read_text)
        facts = await asyncio.to_thread(desk.shells.close, "t")
        assert [(fact.id, fact.state) for fact in facts] == [("t.1.1.0", "stopped"), ("t.1.1.1", "stopped")]
        assert facts[0].exit_code == -signal.SIGKILL
        assert has_ended(pid)
        state, text = await desk.ended(OTHER)
        assert (state, text.splitlines()[-1]) == ("stopped, exit code -15", "tidied")
        assert desk.shells.close("t") == []

    asyncio.run(story())


def test_a_shell_outlives_the_process_that_started_it_and_is_found_again(desk: Desk):
    os.mkfifo(desk.root / "more")
    starting = subprocess.Popen(
        [sys.executable, "-c", _START, str(desk.folder), "echo before; cat more"],
        cwd=desk.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert starting.stdout is not None
    assert starting.stdout.readline() == "started\n"
    starting.kill()
    starting.communicate()

    async def story() -> None:
        assert [(fact.id, fact.state) for fact in Shells(desk.folder).of("t")] == [(ID, "running")]
        state, text, offset = await desk.poll()
        assert (state, text) == ("running", "before")
        await asyncio.to_thread((desk.root / "more").write_text, "after\n")
        assert (await desk.poll(offset))[1] == "after"
        assert await desk.ended() == ("exited with code 0", "before\nafter")

    asyncio.run(story())


@pytest.mark.parametrize(("field", "value"), [("started_at", "1"), ("boot_id", "earlier"), ("pid", 1)])
def test_another_process_of_the_same_pid_or_number_is_never_taken_for_the_shell(desk: Desk, field: str, value: Any):
    async def story() -> None:
        await desk.start("sleep 300")
        path = desk.path("info.json")
        info = json.loads(path.read_text())
        path.write_text(json.dumps(info | {field: value}))
        assert (await desk.poll())[0].startswith("lost: neither its process nor a record of its end")
        assert (await desk.call("shell_stop", shell=ID)).startswith("[it had ended before: lost")
        assert desk.shells.stop("t", ID).state == "lost"
        assert desk.shells.close("t") == []
        assert lives(info["pid"])
        path.write_text(json.dumps(info))
        assert desk.shells.stop("t", ID).state == "stopped"

    asyncio.run(story())


def test_a_keeper_that_is_killed_or_stuck_takes_its_shell_along(desk: Desk):
    os.mkfifo(desk.root / "ready")
    command = "sleep 300 & echo $$ $! > ready; wait"

    async def begun(identity: str) -> tuple[int, list[int]]:
        await desk.start(command, identity)
        pids = (await asyncio.to_thread((desk.root / "ready").read_text)).split()
        return desk.keeper(identity), [int(pid) for pid in pids]

    async def story() -> None:
        keeper, pids = await begun(ID)
        os.kill(keeper, signal.SIGKILL)
        assert all(has_ended(pid) for pid in [keeper, *pids])
        assert desk.shells.fact("t", ID).state == "lost"
        keeper, pids = await begun(OTHER)
        os.kill(keeper, signal.SIGSTOP)
        assert Shells(desk.folder, end_seconds=0).stop("t", OTHER).state == "stopped"
        assert all(has_ended(pid) for pid in [keeper, *pids])

    asyncio.run(story())


def test_withheld_output_is_deleted_and_read_by_nobody_also_what_comes_later(desk: Desk):
    os.mkfifo(desk.root / "more")

    async def story() -> None:
        await desk.start("echo canary; cat more; exit 4")
        await desk.start("echo harmless", OTHER)
        await desk.ended(OTHER)
        assert "canary" in await desk.call("shell_poll", "t.1.2.0", shell=ID, wait_seconds=60)
        desk.shells.revoke("t", ["t.1.2.0", "t.7.7.7"])
        withheld = "its output is withheld and cannot be read]"
        assert await desk.call("shell_poll", shell=ID) == f"[running; {withheld}"
        await asyncio.to_thread((desk.root / "more").write_text, "canary again\n")
        assert await desk.call("shell_poll", shell=ID, wait_seconds=60) == f"[exited with code 4; {withheld}"
        assert await desk.call("shell_poll", shell=ID, tail_lines=5) == f"[exited with code 4; {withheld}"
        kept = b"".join(path.read_bytes() for path in desk.path("").iterdir() if path.name != "info.json")
        assert b"canary" not in kept
        assert (await desk.poll(shell=OTHER))[1] == "harmless"
        desk.shells.revoke("t", [OTHER])  # by the id of the shell itself
        assert withheld in await desk.call("shell_poll", shell=OTHER)

    asyncio.run(story())


def test_a_forgotten_thread_leaves_no_file_and_no_process(desk: Desk):
    async def story() -> None:
        await desk.start("sleep 300")
        desk.context = replace(desk.context, thread="u")
        await desk.start("sleep 300", "u.1.1.0")
        keeper = desk.keeper()
        desk.shells.forget("t")
        assert has_ended(keeper)
        assert [path.name for path in desk.folder.iterdir()] == ["u"]
        assert desk.shells.of("t") == []
        assert [fact.state for fact in desk.shells.of("u")] == ["running"]
        desk.shells.forget("never seen")

    asyncio.run(story())


def test_a_thread_sees_its_own_shells_only_and_has_so_many_at_most(desk: Desk):
    desk.context = replace(desk.context, shells=Shells(desk.folder, limit_running=2))

    async def story() -> None:
        for identity in ("t.1.1.0", OTHER):
            await desk.start("sleep 300", identity)
        assert await desk.start("touch started", "t.1.1.2") == (
            "[runtime] shell_start raised ShellError: 2 shells of this thread are running, which is the limit; "
            "end one with shell_stop first: t.1.1.0, t.1.1.1"
        )
        assert not (desk.root / "started").exists()
        await desk.call("shell_stop", shell=ID)
        assert (await desk.start("sleep 300", "t.1.1.2")).startswith("[running; ")
        desk.context = replace(desk.context, thread="u")
        await desk.start("sleep 300", "u.1.1.0")
        for tool in ("shell_poll", "shell_stop"):
            for shell in ("t.1.1.1", "../t/t.1.1.1", "", "."):
                assert await desk.call(tool, shell=shell) == (
                    f"[runtime] {tool} raised ShellError: there is no shell {shell!r}. Shells of this thread: u.1.1.0"
                )
        assert [fact.id for fact in desk.shells.of("t")] == ["t.1.1.0", "t.1.1.1", "t.1.1.2"]

    asyncio.run(story())
    assert LIMIT_RUNNING == 16


def test_files_are_for_their_owner_alone_and_keys_are_not_passed_on(desk: Desk, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "hidden")
    monkeypatch.setenv("HARMLESS", "shown")

    async def story() -> None:
        await desk.start("env; umask; cat; touch made")
        _, text = await desk.ended()
        assert "hidden" not in text
        assert "HARMLESS=shown" in text
        mask = os.umask(0)
        os.umask(mask)
        assert int(text.rpartition("\n")[2], 8) == mask
        paths = [desk.folder, *desk.folder.rglob("*")]
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in paths}
        assert {modes.pop(name) for name in ("log.db-shells", "t", ID)} == {0o700}
        assert set(modes) == {"info.json", "0", "readers", "exit.json"}
        assert set(modes.values()) == {0o600}

    asyncio.run(story())


def test_what_cannot_be_run_says_so_and_names_no_path(desk: Desk):
    async def story() -> None:
        await desk.start("echo \0")
        assert await desk.ended() == ("exited with code 127", "the command cannot be run: embedded null byte")
        desk.root.rmdir()
        assert await desk.start("true", OTHER) == (
            "[runtime] shell_start raised ShellError: the shell cannot be started "
            "(the workspace cannot be entered: No such file or directory)"
        )
        desk.root.mkdir()
        assert (await desk.start("true", OTHER)).startswith("[")
        assert await desk.ended(OTHER) == ("exited with code 0", "")
        for seconds in (0, 86_401):
            told = await desk.start("true", "t.1.1.2", deadline_seconds=seconds)
            assert "deadline_seconds must be from 1 to 86400" in told
        assert "wait_seconds must be from 0 to 60" in await desk.call("shell_poll", shell=ID, wait_seconds=61)
        assert "tail_lines must be at least 1" in await desk.call("shell_poll", shell=ID, tail_lines=0)
        (desk.folder.parent / "file").write_text("in the way")
        desk.context = replace(desk.context, shells=Shells(desk.folder.parent / "file"))
        assert await desk.start("true", "t.1.1.3") == (
            "[runtime] shell_start raised ShellError: the shell cannot be started (Not a directory)"
        )

    asyncio.run(story())


def test_without_a_folder_there_are_no_shells_and_the_tools_say_so(desk: Desk):
    desk.context = replace(desk.context, shells=None)
    none = Shells()

    async def story() -> None:
        assert await desk.start("true") == (
            "[runtime] shell_start raised ShellError: background shells are not kept here: the log is not in a file; "
            "use the tool shell instead"
        )
        assert "not kept here" in await desk.call("shell_poll", shell=ID)
        assert "not kept here" in await desk.call("shell_stop", shell=ID)

    asyncio.run(story())
    assert (none.of("t"), none.close("t"), none.was_started("t", ID)) == ([], [], None)
    none.forget("t")
    none.revoke("t", [ID])


def test_a_cancelled_turn_waits_for_no_poll_and_leaves_no_half_started_shell(desk: Desk):
    async def story() -> None:
        execution = desk.execution
        execution.start(desk.planned("shell_start", ID, command="sleep 300"))
        await asyncio.to_thread(lambda: None)  # it has begun
        await execution.cancel()
        assert desk.shells.was_started("t", ID) is True
        execution.start(desk.planned("shell_poll", "t.1.9.0", shell=ID, wait_seconds=60))
        await asyncio.to_thread(lambda: None)
        await execution.cancel()
        assert execution.take_ended() == []
        assert not execution._tasks

    asyncio.run(story())


def test_to_the_loop_detector_equal_starts_have_equal_outcomes(desk: Desk):
    identity = identify(Call(tool="shell_start", arguments={"command": "true"}, effect="exec"))

    async def story() -> None:
        one, other = [await desk.start("sleep 300", name) for name in ("t.1.1.0", "t.1.2.0")]
        assert one != other
        assert outcome(one, identity, failed=False).masked == outcome(other, identity, failed=False).masked

    asyncio.run(story())


# ---- the files of an output, without a process --------------------------------------------------


def stored(folder: Path, *chunks: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    file = os.open(folder, os.O_RDONLY)
    output = Output(file)
    for chunk in chunks:
        output.add(chunk)
    output.close()
    os.close(file)
    return folder


def test_characters_are_never_cut_at_the_end_of_a_page_or_of_a_file(tmp_path):
    text = "aü€😀" * (SEGMENT_BYTES // 8)
    data = text.encode()
    folder = stored(tmp_path / "kept", *(data[start : start + 65_535] for start in range(0, len(data), 65_535)))
    read, offset = "", 0
    while offset < len(data):
        page = read_from(folder, offset, is_complete=False)
        assert page.dropped_bytes == 0
        read, offset = read + page.text, page.next_offset
    assert read == text
    for offset in range(1, 12):
        page = read_from(folder, offset, is_complete=False)
        assert page.text == data[offset:].decode(errors="ignore")[: len(page.text)]
    # With a gap in it: a half character on either side of it is gone.
    folder = stored(tmp_path / "dropped", *[data] * 3)
    before = read_from(folder, SEGMENT_BYTES - 20, is_complete=True)
    after = read_from(folder, before.next_offset, is_complete=True)
    assert before.next_offset == SEGMENT_BYTES
    assert after.dropped_bytes > 0
    assert "\ufffd" not in before.text + after.text


def test_a_half_character_waits_for_its_rest_unless_the_output_has_ended(tmp_path):
    folder = stored(tmp_path / "half", b"ab\xe2\x82")
    page = read_from(folder, 0, is_complete=False)
    assert (page.text, page.next_offset) == ("ab", 2)
    page = read_from(folder, 0, is_complete=True)
    assert (page.text, page.next_offset) == ("ab\ufffd", 4)
    assert read_from(stored(tmp_path / "latin", b"gr\xfcn"), 0, is_complete=False).text == "gr\ufffdn"


@pytest.mark.parametrize(
    ("data", "lines", "text"),
    [
        (b"", 3, ""),
        (b"one", 1, "one"),
        (b"one\ntwo\nthree\n", 1, "three\n"),
        (b"one\ntwo\nthree\n", 2, "two\nthree\n"),
        (b"one\ntwo\nthree", 2, "two\nthree"),
        (b"one\ntwo\n", 99, "one\ntwo\n"),
        (b"\n\n", 1, "\n"),
        (b"x" * PAGE_BYTES + b"\nlast\n", 99, "last\n"),
        (b"ab" + b"x" * PAGE_BYTES, 5, "x" * PAGE_BYTES),
        ("€".encode() * PAGE_BYTES, 1, "€" * (PAGE_BYTES // 3)),
    ],
)
def test_the_newest_lines_are_whole_as_far_as_a_page_holds_them(tmp_path, data: bytes, lines: int, text: str):
    page = read_newest(stored(tmp_path / "kept", data), lines, is_complete=False)
    assert page.text == text
    assert page.next_offset == page.total_bytes == len(data)


def test_what_a_disk_did_not_take_is_told_where_the_output_goes_on(tmp_path):
    folder = tmp_path / "kept"
    (folder / "1").mkdir(parents=True)  # stands for the disk that is full
    file = os.open(folder, os.O_RDONLY)
    output = Output(file)
    output.add(b"x" * (SEGMENT_BYTES + 7))
    output.add(b"lost")
    (folder / "1").rmdir()
    output.add(b"found\n")
    output.close()
    os.close(file)
    assert read_from(folder, SEGMENT_BYTES, is_complete=True).text == "\n[11 bytes could not be stored]\nfound\n"


def test_a_shell_that_is_no_more_is_told_in_one_clear_error(tmp_path):
    with pytest.raises(ShellError, match=r"^there is no shell 'x'\. Shells of this thread: none$"):
        Shells(tmp_path / "log.db-shells").page("t", "x", 0)
