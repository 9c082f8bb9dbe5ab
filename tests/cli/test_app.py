"""The command line as a whole: help, version, wrong usage, and what a command loads."""

import inspect
import re
import subprocess
import sys

import pytest

from stoic.cli import app, exits
from stoic.cli.endings import exit_code
from stoic.cli.preparing import WorkOptions
from stoic.core.failures import DEFAULT_AXIS, FailureClass
from stoic.records import Outcome, Parked

COMMANDS = [
    "run",
    "resume",
    "chat",
    "show",
    "threads",
    "health",
    "notices",
    "doctor",
    "config",
    "demo",
    "explain",
    "scan",
    "scripted",
]


def test_help_names_every_command_and_where_to_start(bench):
    done = bench.stoic("--help")
    assert done.returncode == 0
    assert [name for name in COMMANDS if f"\n  {name} " not in done.stdout] == []
    assert "stoic demo" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(command, bench):
    done = bench.stoic(command, "--help")
    assert done.returncode == 0
    assert f"Usage: stoic {command}" in done.stdout


def test_run_and_chat_take_the_same_options_of_the_work(bench):
    offered = {
        command: set(re.findall(r"^  (--[a-z-]+)", bench.stoic(command, "--help").stdout, re.MULTILINE))
        for command in ("run", "chat")
    }
    assert offered["run"] - offered["chat"] == {"--image", "--json"}
    assert offered["chat"] - offered["run"] == set()
    assert set(inspect.signature(app.chat).parameters) == set(WorkOptions.__struct_fields__)


def test_no_command_shows_the_help_and_counts_as_wrong_usage(bench):
    done = bench.stoic()
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith("Usage: stoic")


def test_version_is_one_line(bench):
    done = bench.stoic("--version")
    assert (done.returncode, done.stdout) == (0, "stoic 0.1.0\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nope"], "No such command 'nope'; see `stoic --help`"),
        (["show"], "Missing argument"),
        (["run", "hi", "--max-rounds", "many"], "Invalid value for '--max-rounds'"),
        (["scripted", "none.json"], "cannot read the script none.json"),
        (["explain", "none.json"], "none.json"),
        (["scan", "none.json"], "none.json"),
    ],
)
def test_wrong_command_line_is_one_line_and_exits_2(arguments, said, bench):
    done = bench.stoic(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_loads_nothing_of_the_runtime(arguments, bench):
    script = f"import sys; sys.argv = ['stoic', *{arguments!r}]\nfrom stoic.cli import main\ntry: main()\nfinally: print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=bench.environment, check=True
    )
    heavy = {"asyncio", "pydantic", "apsw", "msgspec", "httpx2", "stoic.wiring", "stoic.testing"}
    assert heavy & set(done.stdout.splitlines()[-1].split()) == set()


@pytest.mark.parametrize(("platform", "hint"), [("win32", " On Windows, run it in WSL."), ("freebsd14", "")])
def test_other_platform_is_one_line_at_the_start_and_exits_2(platform, hint, bench):
    script = (
        f"import sys; sys.platform = {platform!r}; sys.argv = ['stoic', 'threads']\nfrom stoic.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=bench.environment, check=False
    )
    said = f"stoic: this platform ({platform}) is not supported; stoic runs on Linux and macOS.{hint}\n"
    assert (done.returncode, done.stdout, done.stderr) == (exits.USAGE, "", said)


def test_bug_shows_its_traceback_and_exits_70(bench):
    script = (
        "from stoic.cli import app, main\n"
        "@app.app.command()\n"
        "def broken() -> int:\n"
        "    raise RuntimeError('a bug')\n"
        "import sys; sys.argv = ['stoic', 'broken']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=bench.environment, check=False
    )
    assert done.returncode == exits.BUG
    assert "RuntimeError: a bug" in done.stderr
    assert done.stderr.endswith("stoic: this is a bug of stoic; please report it with the lines above\n")


OUTSIDE = (
    "network timeout overloaded server_error rate_limit truncated_stream quota auth permission model_not_found unknown"
)
REQUEST = (
    "context_length invalid_request bad_schema image_too_large history_corrupt signature_invalid malformed_tool_call "
    "output_limit empty_response"
)


@pytest.mark.parametrize("failure", OUTSIDE.split())
def test_failure_of_provider_or_network_exits_3(failure):
    assert exit_code(Outcome(outcome="failed", failure_class=failure)) == 3


@pytest.mark.parametrize("failure", REQUEST.split())
def test_failure_of_the_request_exits_4(failure):
    assert exit_code(Outcome(outcome="failed", failure_class=failure)) == 4


def test_evidence_that_overrides_what_helps_overrides_the_exit_code():
    assert exit_code(Outcome(outcome="failed", failure_class="context_length", recovers_with="config")) == 3


def test_no_ending_exits_1_and_only_completion_exits_0():
    endings = [Outcome(outcome="failed", failure_class=failure) for failure in FailureClass]
    endings += [Outcome(outcome="stopped", reason=reason) for reason in ("stuck_loop", "budget", "human")]
    endings += [Outcome(outcome="stopped", reason="refused", refused=True), Outcome(outcome="cancelled")]
    codes = {exit_code(ending) for ending in endings} | {exit_code(Parked(waits_for="time"))}
    assert codes == {3, 4, 5, 6, 7, 8, 70}
    assert exit_code(Outcome(outcome="completed")) == 0
    assert set(DEFAULT_AXIS) == set(FailureClass)


def test_every_exit_code_stands_in_the_documented_table():
    codes = [value for name, value in vars(exits).items() if name.isupper()]
    assert [code for code in codes if f"\n| {code} | " not in (exits.__doc__ or "")] == []
    assert len(codes) == len(set(codes))
