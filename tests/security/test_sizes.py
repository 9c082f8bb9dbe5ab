"""Everything that can be too large: one clear error, or a bound that is said; nothing is taken whole because it came."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest
from tests.cli.processes import LIMIT_SECONDS, Bench
from tests.security.hostile import Hostile, Victim, answer

from stoic.errors import UsageError
from stoic.records import Outcome
from stoic.runtime.agents import Agent
from stoic.runtime.threads import LONGEST_TEXT, check_id
from stoic.settings import Access, Settings
from stoic.testing import ScriptedProvider
from stoic.tools.builtin import workspace_tools
from stoic.tools.task_tools import task_tools
from stoic.tools.workspace import Workspace
from stoic.wiring import Runtime

TOO_LONG = "x" * (LONGEST_TEXT + 1)


def reply(text: str | None, calls: list[tuple[str, str]] | None = None) -> bytes:
    made = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(calls or [])
    ]
    message = {"role": "assistant", "content": text, "tool_calls": made}
    finish = "tool_calls" if made else "stop"
    return answer(json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": finish}]}))


def test_a_text_longer_than_any_model_reads_is_not_taken(tmp_path: Path):
    async def run() -> list[str]:
        settings = Settings(
            database=str(tmp_path / "log.db"), access={"openai-chat": Access(base_url="http://127.0.0.1:9/v1")}
        )
        agent = Agent("openai-chat:m", tools=task_tools())
        said: list[str] = []
        async with Runtime(settings=settings, agents=[agent], runs_tasks=False) as runtime:
            thread = runtime.thread("t", agent)
            await runtime.tasks.start("wait", task="job", agent=agent.name)
            for action in (
                lambda: thread.run(TOO_LONG),
                lambda: thread.post("mail", {"text": TOO_LONG}),
                lambda: thread.post("mail", {}, text=TOO_LONG),
                lambda: runtime.tasks.start(TOO_LONG, agent=agent.name),
                lambda: runtime.tasks.message("job", TOO_LONG),
            ):
                with pytest.raises(UsageError) as raised:
                    await action()
                said.append(str(raised.value))
            assert [each.id for each in await runtime.store.threads()] == ["job"]
        return said

    said = asyncio.run(run())
    assert all("and at most 8,000,000 are taken; put it into a file and say where it is" in each for each in said)
    assert max(map(len, said)) < 200


@pytest.mark.parametrize("command", [["run", "-"], ["tasks", "start", "-"], ["tasks", "message", "x", "-"]])
def test_input_that_never_ends_is_one_clear_error(command: list[str], bench: Bench):
    bench.database.touch()
    model = [] if command[1] == "message" else ["--model", "openai-chat:m", "--base-url", "http://127.0.0.1:9/v1"]
    with subprocess.Popen(
        bench.command(*command, *model),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=bench.environment,
        cwd=bench.folder,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            while True:
                process.stdin.write(b"y\n" * 50_000)
        except BrokenPipeError:
            process.stdin.raw.close()  # pyright: ignore[reportAttributeAccessIssue] - what is left cannot be written
        said = process.stderr.read().decode()
        assert process.wait(LIMIT_SECONDS) == 2
    assert said.count("\n") == 1
    assert "is longer than 8,000,000 bytes; put it into a file" in said


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "a\x1b[2J", "a\u202eb", "a\ud800", "\x00", "\u200b"])
def test_an_id_is_short_and_printable(name: str):
    with pytest.raises(UsageError, match="use 1 to 200 printable characters") as raised:
        check_id(name)
    assert str(raised.value).isprintable()


ARGUMENTS = {
    "long": json.dumps({"path": "x" * 3_000_000}),
    "many": json.dumps({f"key{number}": 1 for number in range(20_000)}),
    "deep": '{"path":' + "[" * 50_000 + "]" * 50_000 + "}",
    "digits": '{"path":' + "9" * 100_000 + "}",
}


@pytest.mark.parametrize("what", ARGUMENTS)
def test_arguments_of_any_size_do_not_run_and_do_not_end_the_turn(what: str, tmp_path: Path):
    def act(victim: Victim) -> None:
        is_first = len(server.requests) == 1
        victim.send(reply(None, [("read_file", ARGUMENTS[what])]) if is_first else reply("Done."))

    with Hostile(act) as server:
        ending, results = asyncio.run(turn(server.url(), tmp_path))
    assert (ending.outcome, ending.text) == ("completed", "Done.")
    assert all(len(each) < 2_000 for each in results)


def test_a_reply_with_a_thousand_calls_is_answered_call_by_call(tmp_path: Path):
    (tmp_path / "file").write_text("content")
    calls = [("read_file", json.dumps({"path": "file", "limit_lines": number + 1})) for number in range(1_000)]

    def act(victim: Victim) -> None:
        victim.send(reply(None, calls) if len(server.requests) == 1 else reply("Done."))

    with Hostile(act) as server:
        ending, results = asyncio.run(turn(server.url(), tmp_path))
    assert ending.outcome == "completed"
    assert results == ["content"] * 1_000


async def turn(url: str, folder: Path) -> tuple[Outcome, list[str]]:
    settings = Settings(database=str(folder / "log.db"), access={"openai-chat": Access(base_url=url)})
    agent = Agent("openai-chat:m", tools=workspace_tools(Workspace(folder)), permissions="allow")
    async with Runtime(settings=settings) as runtime:
        ending = await runtime.thread("t", agent).run("hi")
        rows = (await runtime.store.load("t")).rows
    assert isinstance(ending, Outcome)
    return ending, [row.content["text"] for row in rows if row.kind == "result"]


def test_hundreds_of_events_join_one_turn(tmp_path: Path):
    async def run() -> tuple[object, int]:
        async with ScriptedProvider([["text:Done."]]) as provider:
            settings = Settings(
                database=str(tmp_path / "log.db"), access={"openai-chat": Access(base_url=provider.base_url)}
            )
            async with Runtime(settings=settings) as runtime:
                thread = runtime.thread("t", Agent("openai-chat:m"))
                for number in range(300):
                    await thread.post("tick", number)
                ending = await thread.resume()
                assert isinstance(ending, Outcome)
                return ending.outcome, provider.requests[0].body.count(b"[event tick]")

    assert asyncio.run(run()) == ("completed", 300)
