"""What processes that tools start find in their environment: nothing that stoic uses as a credential, or that looks like one."""

import subprocess
import sys

import pytest
from tests.cli.processes import Bench
from tests.security.canaries import KEYS, MARK, plant

from stoic.credentials import Credentials, Secret
from stoic.testing import ScriptedProvider

SCRIPT = [
    ['tool:shell({"command":"env > shell.txt"})'],
    ['tool:shell_start({"command":"env > started.txt"})'],
    ['tool:shell_poll({"shell":"t.1.2.0","wait_seconds":60})'],
    ["text:done"],
]


def test_no_key_reaches_a_command_by_whatever_variable_it_came(bench: Bench):
    planted = plant(bench.folder, "http://127.0.0.1:9")
    with ScriptedProvider(SCRIPT) as provider:
        bench.environment |= planted | {"HARMLESS": "shown"}
        done = bench.stoic(*bench.working(provider, "go", "--thread", "t", "--yes"))
    assert done.returncode == 0, done.stderr
    for name in ("shell.txt", "started.txt"):
        found = dict(line.split("=", 1) for line in (bench.workspace / name).read_text().splitlines() if "=" in line)
        assert found["HARMLESS"] == "shown"
        assert found["STOIC_CONFIG"] == planted["STOIC_CONFIG"]
        assert [each for each in found.items() if MARK in each[1]] == []
        assert found.keys() & {*KEYS} == set()


@pytest.mark.parametrize(
    ("name", "value", "passed"),
    [
        ("OPENAI_API_KEY", "x", False),
        ("openai_apikey", "x", False),
        ("STRIPE_KEY", "x", False),
        ("SECRET", "x", False),
        ("GITHUB_PAT", "x", False),
        ("MYSQL_PWD", "x", False),
        ("REDIS_URL", "redis://:word@h", False),
        ("named", "x", False),
        ("COPY", "the-very-key", False),
        ("COPY", "before the-very-key after", False),
        ("COPY", "none", False),
        ("COPY", "none of it", True),
        ("PWD", "/home", True),
        ("KEYBOARD", "de", True),
        ("SSH_AUTH_SOCK", "/run/agent", True),
        ("PROXY", "http://h:3128", True),
        ("MAIL", "me@example.org", True),
    ],
)
def test_a_variable_is_judged_by_its_name_and_by_what_it_holds(name: str, value: str, passed: bool):
    known = Credentials(["NAMED"], [Secret("the-very-key"), Secret("none"), Secret("")])
    assert (known.stripped({name: value}) == {name: value}) is passed


def test_a_program_of_ones_own_gives_commands_none_of_the_keys_it_named(bench: Bench):
    """Keys that come neither from a variable nor from a file, but from the program itself."""
    program = """
import asyncio, os, sys
from stoic import Agent, Runtime
from stoic.settings import Access, Secret, Settings
from stoic.tools.shell import shell_tool
from stoic.tools.workspace import Workspace
from pathlib import Path

async def main():
    access = Access(base_url=sys.argv[1], key=Secret(os.environ["UNUSUAL"]))
    settings = Settings(database=os.environ["STOIC_DB"], access={"openai-chat": access})
    agent = Agent("openai-chat:m", tools=[shell_tool(Workspace(Path(".")))], permissions="allow")
    async with Runtime(settings=settings) as runtime:
        ending = await runtime.thread("t", agent).run("go")
        print(ending.text)

asyncio.run(main())
"""
    with ScriptedProvider(SCRIPT[:1] + SCRIPT[-1:]) as provider:
        ran = subprocess.run(
            [sys.executable, "-c", program, provider.base_url],
            env=bench.environment | {"UNUSUAL": f"{MARK}-of-the-program"},
            cwd=bench.folder,
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.stdout == "done\n", ran.stderr
    assert "HOME=" in (bench.folder / "shell.txt").read_text()
    assert MARK not in (bench.folder / "shell.txt").read_text()
