"""Texts that are SQL, patterns or search syntax: the log takes every one of them for what it is, a text."""

import asyncio
import json
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.cli.background import inside
from tests.cli.processes import Bench
from tests.security.hostile import Hostile, answer

from stoic.records import Memory, Outcome
from stoic.runtime.agents import Agent
from stoic.settings import Access, Settings
from stoic.tools.memories import memory_tools
from stoic.wiring import Runtime

IDS = [
    "'; DROP TABLE threads; --", "' OR '1'='1", '"', "%", "_", "t%", "t_", "tx", "t", "T", "a b", "ü", "x' UNION SELECT 1 --",
    "\\", "*", "?", "?1", ":id", "@id", "$id", "NULL", "0", "-1", "../t", "--json",
]  # fmt: skip
MEMORY = "o'clock; --"
QUERIES = [
    "kettle' OR 1=1 --", '"', "kettle OR", "NEAR(kettle tea)", "kettle*", "^kettle", "text:kettle", "{text}: kettle", "(kettle",
    "-kettle", "kettle AND NOT tea", "%", "_", "*", ";", "\\",
]  # fmt: skip
REPLY = answer('{"choices":[{"message":{"content":"Done."},"finish_reason":"stop"}]}')


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> Bench:
    """Return a bench whose log has a thread of each id, with an event, a memory and a schedule of such names."""
    bench = Bench(tmp_path_factory.mktemp("sql"))

    async def fill(url: str) -> None:
        settings = Settings(database=str(bench.database), access={"openai-chat": Access(base_url=url)})
        async with Runtime(settings=settings) as runtime:
            for name in IDS:
                thread = runtime.thread(name, Agent("openai-chat:m", tools=memory_tools(name)))
                assert isinstance(await thread.run(f"I am {name}"), Outcome)
                await thread.post(name, {name: name}, id=f"event {name}")
            memory = Memory(id=MEMORY, scope=IDS[1], thread=IDS[2], text="Kettle, no tea.", tags=[MEMORY], created_at=1)
            assert await runtime.store.remember(memory)

    with Hostile(REPLY) as server:
        asyncio.run(fill(server.url()))
    for name in IDS[:6]:
        added = inside(bench, "schedule", "add", "--", name, "every day at 09:00", name)
        assert added.returncode == 0, added.stderr
    return bench


def columns(database: Path, query: str) -> list[str]:
    with closing(apsw.Connection(str(database))) as connection:
        return [str(row[0]) for row in connection.execute(query)]


def lines(bench: Bench, *arguments: str) -> list[dict]:
    return [json.loads(line) for line in inside(bench, *arguments).stdout.splitlines()]


def test_each_thread_is_itself_and_no_other(full: Bench):
    assert sorted(columns(full.database, "SELECT id FROM threads")) == sorted(IDS)
    for name in IDS:
        (shown,) = lines(full, "show", "--json", "--", name)
        texts = [row["content"]["text"] for row in shown["rows"] if row["kind"] == "message"]
        assert (shown["thread"], texts) == (name, [f"I am {name}"])


def test_a_beginning_is_a_beginning_and_no_pattern(full: Bench):
    async def beginning() -> dict[str, list[str]]:
        runtime = Runtime(settings=Settings(database=str(full.database)))
        async with runtime:
            return {
                each: [found.id for found in await runtime.store.threads(prefix=each)] for each in ("t", "%", "_", "'")
            }

    found = asyncio.run(beginning())
    assert {each: sorted(names) for each, names in found.items()} == {
        "t": ["t", "t%", "t_", "tx"], "%": ["%"], "_": ["_"], "'": ["' OR '1'='1", "'; DROP TABLE threads; --"],
    }  # fmt: skip


def test_schedules_and_events_are_stored_as_they_were_named(full: Bench):
    assert [(each["thread"], each["prompt"]) for each in lines(full, "schedule", "list", "--json")] == [
        (name, name) for name in IDS[:6]
    ]
    kinds = columns(full.database, "SELECT json_extract(content, '$.kind') FROM inbox WHERE kind = 'event'")
    assert sorted(kinds) == sorted(IDS)


@pytest.mark.parametrize("query", QUERIES)
def test_no_search_is_syntax(query: str, full: Bench):
    """What is found has one of the words; a query without words brings the newest."""
    for scope in ([], ["--scope", IDS[1]]):
        found = lines(full, "memory", "search", "--json", *scope, "--", query)
        assert [(each["id"], each["tags"]) for each in found] == [(MEMORY, [MEMORY])]
    assert lines(full, "memory", "search", "--json", "--scope", "%", "--", query) == []
    assert lines(full, "memory", "search", "--json", "--", "nothing 2=2") == []


@pytest.mark.parametrize("name", IDS[:6])
def test_no_name_is_taken_for_another_where_there_is_none(name: str, full: Bench):
    wrong = [
        ["operations", "resolve", "--", f"{name}.9.9.9", "done"],
        ["approvals", "allow", "--", name],
        ["memory", "forget", "--", name],
        ["schedule", "remove", "--", name],
        ["tasks", "show", "--", name],
    ]
    assert [inside(full, *arguments).returncode for arguments in wrong] == [2] * len(wrong)


def test_one_thread_is_deleted_and_no_other(full: Bench):
    for gone in ("' OR '1'='1", "%", "_"):
        assert inside(full, "threads", "delete", "--yes", "--", gone).returncode == 0
    left = sorted(set(IDS) - {"' OR '1'='1", "%", "_"})
    assert sorted(columns(full.database, "SELECT id FROM threads")) == left
    assert sorted(columns(full.database, "SELECT DISTINCT thread FROM rows")) == left


def test_a_search_of_twenty_thousand_words_is_answered(full: Bench):
    async def search() -> int:
        runtime = Runtime(settings=Settings(database=str(full.database)))
        async with runtime:
            return len(await runtime.store.recall(None, " ".join(f"word{number}" for number in range(20_000)), 5))

    assert asyncio.run(search()) == 0
