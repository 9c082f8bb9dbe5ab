"""The shell tool: exit code, caps, and that nothing it started outlives it."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.runtime.harness import Bench, outcome, play

from stoic.events import ToolStarted
from stoic.tools.shell import LIMIT_BYTES, DeadlineError, environment, run_command, shell_tool
from stoic.tools.workspace import Workspace

_DYING_SECONDS = 5
_RUN = "import asyncio, sys; from stoic.tools.shell import run_command; asyncio.run(run_command(sys.argv[1], '.', 60))"


def run(command: str, folder: Path, timeout_seconds: float = 20) -> str:
    return asyncio.run(run_command(command, str(folder), timeout_seconds))


def has_ended(pid: int) -> bool:
    """Tell whether a process is dead, or dies now: a kill takes a moment to take effect."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], _DYING_SECONDS)[0])
    finally:
        os.close(handle)


def lives(pid: int) -> bool:
    """Tell whether a process lives at this moment."""
    handle = os.pidfd_open(pid)
    try:
        return not select.select([handle], [], [], 0)[0]
    finally:
        os.close(handle)


def test_output_and_exit_code_are_told(tmp_path):
    assert run("echo out; echo err >&2; exit 3", tmp_path) == "[exit code 3]\nout\nerr"


def test_a_command_without_output_has_its_exit_code(tmp_path):
    assert run("true", tmp_path) == "[exit code 0]"


def test_a_command_runs_in_the_workspace_and_without_input(tmp_path):
    assert run("pwd; cat", tmp_path) == f"[exit code 0]\n{tmp_path.resolve()}"


def test_a_command_that_was_killed_says_so(tmp_path):
    assert run("kill -9 $$", tmp_path) == "[exit code -9]"


def test_output_that_is_no_utf8_is_replaced(tmp_path):
    assert run(r"printf 'gr\374n'", tmp_path) == "[exit code 0]\ngr\ufffdn"


def test_long_output_keeps_its_beginning_and_its_end(tmp_path):
    output = run("echo begin; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end", tmp_path)
    assert output.startswith("[exit code 0]\nbegin\n")
    assert output.endswith("end")
    assert "bytes left out" in output
    assert len(output) < LIMIT_BYTES + 200


def test_at_the_deadline_the_whole_group_is_killed_and_what_it_said_is_told(tmp_path):
    command = "echo started; sleep 300 & echo $! > pid; sleep 300"
    with pytest.raises(DeadlineError, match=r"did not end within 0\.5 s and was killed\. Output until then:\nstarted"):
        run(command, tmp_path, timeout_seconds=0.5)
    assert has_ended(int((tmp_path / "pid").read_text()))


def test_children_left_in_the_background_are_ended(tmp_path):
    assert run("sleep 300 & echo $! > pid; echo done", tmp_path) == "[exit code 0]\ndone"
    assert has_ended(int((tmp_path / "pid").read_text()))


def test_a_child_that_ignores_hangups_is_ended_too(tmp_path):
    run("nohup sleep 300 > /dev/null 2>&1 & echo $! > pid", tmp_path)
    assert has_ended(int((tmp_path / "pid").read_text()))


def test_a_cancelled_turn_kills_the_whole_group(tmp_path):
    room = tmp_path / "room"
    room.mkdir()
    os.mkfifo(room / "ready")

    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime, shell_tool(Workspace(room)))
            running = asyncio.ensure_future(thread.run("go", bench.emit))
            await bench.until(ToolStarted)
            # The fifo has a reader only here, so its writer has begun when this returns.
            pids = (await asyncio.to_thread((room / "ready").read_text)).split()
            assert all(lives(int(pid)) for pid in pids)
            await thread.cancel()
            assert outcome(await running).outcome == "cancelled"
            assert all(has_ended(int(pid)) for pid in pids)
            (operation,) = await runtime.store.operations("t")
            assert operation.state == "unknown"

    command = "sleep 300 & echo $$ $! > ready; wait"
    play(tmp_path, [[f'tool:shell({{"command":"{command}"}})', "stop"]], story)


def test_a_process_that_is_killed_takes_its_commands_and_all_they_started_along(tmp_path):
    os.mkfifo(tmp_path / "ready")
    command = "sleep 300 & (sleep 300 & echo $$ $! > ready; wait)"
    process = subprocess.Popen([sys.executable, "-c", _RUN, command], cwd=tmp_path)
    pids = [int(pid) for pid in (tmp_path / "ready").read_text().split()]
    assert len(pids) == 2
    assert all(lives(pid) for pid in pids)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert all(has_ended(pid) for pid in pids)


def test_a_command_has_no_children_and_no_files_that_it_did_not_open(tmp_path):
    program = "import os; print(set(os.listdir('/dev/fd')) <= set('0123')); os.wait()"
    output = run(f'exec {sys.executable} -c "{program}"', tmp_path)
    assert output.startswith("[exit code 1]\nTrue\n")  # the listing itself is open as 3
    assert "ChildProcessError" in output


def test_a_command_of_any_text_is_run_as_it_is(tmp_path):
    assert run('printf \'%s|\' "$0" "$#" \'a b\' "\\$x"; # \'comment', tmp_path) == "[exit code 0]\n/bin/sh|0|a b|$x|"
    assert run("if true; then\n  echo 'two\nlines'\nfi", tmp_path) == "[exit code 0]\ntwo\nlines"


def test_a_command_that_is_no_shell_text_says_so(tmp_path):
    output = run("echo 'open", tmp_path)
    assert output.startswith("[exit code 2]\n")


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "my_api_key", "CLIENT_SECRET"]
)
def test_variables_that_look_like_keys_are_not_passed_on(tmp_path, monkeypatch, name: str):
    monkeypatch.setenv(name, "hidden")
    monkeypatch.setenv("HARMLESS", "shown")
    assert name not in environment()
    output = run("env", tmp_path)
    assert "hidden" not in output
    assert "HARMLESS=shown" in output


@pytest.mark.parametrize("seconds", [0, -1, 3601])
def test_a_deadline_that_cannot_be_is_told_to_the_model(tmp_path, seconds: int):
    tool = shell_tool(Workspace(tmp_path))
    with pytest.raises(ValueError, match="timeout_seconds must be from 1 to 3600"):
        asyncio.run(tool("true", None, seconds))


def test_a_shell_counts_as_exec(tmp_path):
    assert shell_tool(Workspace(tmp_path)).effect == "exec"
