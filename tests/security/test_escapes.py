"""Text of anybody on a terminal: it is shown, and it commands nothing, by whatever command and in whatever form."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.background import inside
from tests.cli.processes import Bench
from tests.security.hostile import Hostile, Victim, answer

from stoic.records import Parked
from stoic.runtime.agents import Agent
from stoic.settings import Access, Settings
from stoic.tools.builtin import workspace_tools
from stoic.tools.memories import memory_tools
from stoic.tools.workspace import Workspace
from stoic.wiring import Runtime

EVIL = (
    "before\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\\x1b[2J\x1b[1;1H\x9b31m"
    "\x9d0;title\x9c\x90q\x9c\x1bc\x7f\r\x08\x85\u202egnp.exe\u202c\u2066isolated\u2069\u2028after"
)
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
CALLS: list[tuple[str, object]] = [
    ("read_file", {"path": "evil.txt"}),
    (EVIL, {EVIL: EVIL}),
    ("remember", {"text": EVIL, "tags": ["\x1b[2Jtag\u202e"]}),
    ("read_file", {"path": EVIL}),
    ("recall", {"query": EVIL}),
]


def reply(text: str, calls: list[tuple[str, object]] | None = None) -> bytes:
    """Return a reply with everything evil that one can have."""
    made = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for number, (name, arguments) in enumerate(calls or [])
    ]
    message = {"role": "assistant", "content": text, "tool_calls": made}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if made else "stop"}
    body = json.dumps({"model": EVIL, "id": EVIL, "choices": [choice]})
    return answer(body, x_request_id="\x9b31mid")


FAILURE = answer(json.dumps({"error": {"message": EVIL, "code": EVIL, "type": EVIL}}), "400 \x9b31mNo")


def provider(victim: Victim) -> None:
    """Answer by what a conversation is about, and by how far it is."""
    told = victim.request.decode("utf-8", "replace")
    has_result = '"role":"tool"' in told
    if "[[park]]" in told:
        victim.send(reply(EVIL, [("write_file", {"path": EVIL, "content": EVIL})]))
    elif "[[fail]]" in told:
        victim.send(FAILURE if has_result else reply(EVIL, CALLS))
    else:
        victim.send(reply(EVIL) if has_result else reply(EVIL, CALLS))


def agent(workspace: Path, **permissions: str) -> Agent:
    tools = [*workspace_tools(Workspace(workspace)), *memory_tools(EVIL)]
    return Agent("openai-chat:m", tools=tools, permissions=permissions)  # pyright: ignore[reportArgumentType]


async def fill(bench: Bench, url: str) -> None:
    """Make one of everything that a log can hold."""
    settings = Settings(database=str(bench.database), access={"openai-chat": Access(base_url=url)})
    made = agent(bench.workspace, read="allow", write="ask")
    async with Runtime(settings=settings, agents=[made]) as runtime:
        for name in ("done", "fail"):
            ending = await runtime.thread(name, made).run(f"[[{name}]] {EVIL}")
            assert not isinstance(ending, Parked)
        assert isinstance(await runtime.thread("park", made).run("[[park]]"), Parked)
        await runtime.thread("done", made).post(EVIL, {EVIL: EVIL}, source_channel=EVIL)
        await runtime.tasks.start(f"[[done]] {EVIL}", task="job", agent=made.name)
        await runtime.tasks.wait(["job"], until_all=True)


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> Bench:
    """Return a bench whose log holds evil texts in every place that somebody else can write to."""
    bench = Bench(tmp_path_factory.mktemp("escapes"))
    (bench.workspace / "evil.txt").write_text(EVIL)
    (bench.workspace / "AGENTS.md").write_text(EVIL)
    recorded = {
        "provider": EVIL,
        "status": 400,
        "headers": {EVIL: EVIL},
        "body": {"error": {"message": EVIL, "code": EVIL}},
    }
    (bench.folder / "recorded.json").write_text(json.dumps(recorded))
    with Hostile(provider) as server:
        asyncio.run(fill(bench, server.url()))
    assert inside(bench, "schedule", "add", "done", "every day at 09:00", EVIL).returncode == 0
    return bench


LOOKS = [
    "show done", "show fail", "show park", "show job", "threads", "threads export done", "threads export fail --format md",
    "threads export done --format jsonl", "tasks list", "tasks show job", "tasks wait job", "approvals list",
    "notices --all",
    "operations list", "memory list", "memory search before", "schedule list", "health", "doctor", "config",
    "scan --thread done", "explain {folder}/recorded.json",
]  # fmt: skip
TELLS_JSON = {line for line in LOOKS if not line.startswith("threads export")}


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("line", LOOKS)
def test_what_is_shown_commands_nothing(line: str, as_json: bool, full: Bench):
    arguments = line.format(folder=full.folder).split() + ["--json"] * (as_json and line in TELLS_JSON)
    done = inside(full, *arguments)
    assert "Traceback" not in done.stderr
    assert FORBIDDEN.findall(done.stdout + done.stderr) == []


SILENT = {"notices --all", "operations list", "health", "doctor", "config", "scan --thread done", "threads"}
"""What tells nothing that anybody else wrote."""


def test_there_was_something_to_show(full: Bench):
    shown = {line: inside(full, *line.format(folder=full.folder).split()).stdout for line in LOOKS}
    assert {line for line, text in shown.items() if "before" not in text} == SILENT
    assert all(text.strip() for text in shown.values())


def test_json_tells_the_very_same_text(full: Bench):
    told = json.loads(inside(full, "show", "done", "--json").stdout)
    (message,) = [row for row in told["rows"] if row["kind"] == "message"]
    assert message["content"]["text"] == f"[[done]] {EVIL}"


WRONG = [
    ["show", EVIL], ["run", "hi", "--thread", EVIL], ["run", "hi", "--model", f"openai-chat:{EVIL}", "--thread", "x\x1b[2J"],
    ["run", "hi", "--model", EVIL], ["explain", EVIL], ["scan", EVIL], [EVIL], ["show", "done", f"--{EVIL}"],
    ["tasks", "show", EVIL], ["memory", "forget", EVIL], ["schedule", "add", "done", EVIL, "x"], ["event", EVIL, "openai"],
    ["event", "credential", EVIL], ["operations", "resolve", EVIL, "done"], ["operations", "resolve", "x", EVIL],
    ["approvals", "allow", EVIL], ["health", "retry", EVIL], ["run", "hi", "--workspace", EVIL], ["run", "hi", "--image", EVIL],
    ["threads", "delete", EVIL, "--yes"], ["switch", "done", EVIL], ["fork", "done", EVIL], ["scripted", EVIL],
]  # fmt: skip


@pytest.mark.parametrize("arguments", WRONG, ids=lambda arguments: "-".join(arguments).encode().hex()[:24])
def test_what_is_wrong_is_said_in_one_line_that_commands_nothing(arguments: list[str], full: Bench):
    done = inside(full, *arguments)
    assert done.returncode == 2
    assert FORBIDDEN.findall(done.stdout + done.stderr) == []
    assert "Traceback" not in done.stderr


def test_a_turn_beside_a_pipe_commands_nothing(bench: Bench):
    (bench.workspace / "evil.txt").write_text(EVIL)
    with Hostile(provider) as server:
        where = ["--workspace", str(bench.workspace), "--model", "openai-chat:m", "--base-url", server.url(), "--yes"]
        ran = [
            bench.stoic("run", "[[done]]", *where),
            bench.stoic("run", "[[fail]]", *where),
            bench.stoic("run", "[[done]]", "--json", *where),
        ]
    assert [done.returncode for done in ran] == [0, 4, 0]
    for done in ran:
        assert "before" in done.stdout + done.stderr
        assert FORBIDDEN.findall(done.stdout + done.stderr) == []


@pytest.mark.parametrize("command", ["show", "run", "chat"])
def test_a_terminal_gets_no_sequence_that_stoic_did_not_write(command: str, full: Bench, tmp_path: Path):
    with Hostile(provider) as server:
        where = ["--workspace", str(full.workspace), "--model", "openai-chat:m", "--base-url", server.url(), "--yes"]
        arguments = {"show": ["show", "done"], "run": ["run", "[[done]]", *where], "chat": ["chat", *where]}[command]
        with full.terminal(*arguments, rows=200) as terminal:
            if command == "chat":
                terminal.wait_for_prompt(1)
                terminal.type("[[done]]\r")
                terminal.wait_for_prompt(2)
                terminal.type("\x04")
            assert terminal.end() == 0
    assert terminal.display.unknown == []
    assert "before" in terminal.display.text()
    for sequence in ("\x1b]", "\x1bP", "\x1bc", "\x9b", "\x9d", "\u202e", "\u2066", "\x07", "\x1b[2J", "\x1b[1;1H"):
        assert sequence not in terminal.raw


def test_a_warning_and_the_traceback_of_a_bug_command_nothing(bench: Bench):
    program = """
import logging, sys
from stoic.cli import main
from stoic.cli.app import app

@app.command()
def fail(text: str) -> None:
    logging.getLogger("stoic.runtime").warning("warned of %s", text)
    raise RuntimeError(text)

main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "fail", EVIL],
        env=bench.environment,
        cwd=bench.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 70
    assert "warned of before" in done.stderr
    assert "RuntimeError: before" in done.stderr
    assert FORBIDDEN.findall(done.stderr) == []
