"""What must be true of a database on which processes were killed again and again, now that all has come to rest."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import msgspec
from tests.cli.background import inside
from tests.crash.driver import THREADS
from tests.crash.model import TASKS, has_a_task, is_stopped
from tests.crash.places import fetch
from tests.crash.remains import read_log
from tests.crash.scene import OWNERS, SCHEDULES, Scene

_DELIVERED = {"completed": "delivered", "cancelled": "cancelled"}
_ROWS = "SELECT id, thread, seq, turn, round, kind, content, meta FROM rows ORDER BY thread, seq"
_JOBS = "SELECT thread, substr(content ->> '$.text', 5) FROM inbox WHERE content ->> '$.text' LIKE 'job %'"
"""The names of tasks, by thread."""


class Row(msgspec.Struct):
    """A row as the file has it, its JSON decoded."""

    id: str
    thread: str
    seq: int
    turn: int
    round: int
    kind: str
    content: Any
    meta: Any


class Found:
    """The content of the database and of the files beside it."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        connection = apsw.Connection(str(scene.bench.database), flags=apsw.SQLITE_OPEN_READONLY)
        assert fetch(connection, "PRAGMA integrity_check") == [("ok",)]
        self.rows = [
            Row(row, thread, seq, turn, number, kind, msgspec.json.decode(content), msgspec.json.decode(meta or "{}"))
            for row, thread, seq, turn, number, kind, content, meta in fetch(connection, _ROWS)
        ]
        self.open = fetch(connection, "SELECT id, phase FROM threads WHERE phase <> 'idle'")
        self.threads = [each for (each,) in fetch(connection, "SELECT id FROM threads ORDER BY id")]
        self.tasks = [each for (each,) in fetch(connection, "SELECT id FROM threads WHERE kind = 'task'")]
        self.deliveries = fetch(connection, "SELECT id, task, status, reached FROM deliveries")
        self.jobs: dict[str, str] = dict(fetch(connection, _JOBS))
        self.notices: dict[str, str] = dict(fetch(connection, "SELECT key, state FROM notices"))
        self.inbox = {
            entry: (thread, kind, taken)
            for entry, thread, kind, taken in fetch(connection, "SELECT id, thread, kind, taken FROM inbox")
        }
        self.operations = {
            each[0]: each[1:]
            for each in fetch(connection, "SELECT id, thread, tool, effect, state, runs FROM operations")
        }
        connection.close()
        self.outcomes = {f"{row.thread}.{row.turn}": row.content["outcome"] for row in self.of_kind("outcome")}
        self.results = {row.content["operation"]: row for row in self.rows if row.kind == "result"}
        self.trace = Counter(_lines(scene.trace))
        self.ledger = Counter(_lines(scene.ledger))

    def of_kind(self, *kinds: str) -> list[Row]:
        return [row for row in self.rows if row.kind in kinds]

    def counts(self) -> Counter[str]:
        """Count rows, turns, ends of tasks, writes, notices and what of them was posted."""
        counted = Counter(rows=len(self.rows), turns=len(self.outcomes), notices=len(self.notices))
        counted.update(notices_posted=len(self.scene.hooks.posted), reads=len(self.of_tools("look")))
        counted.update(f"writes_{self.operations[each][3]}" for each in self.of_tools("mark", "shell"))
        counted.update(f"tasks_{status}" for _, _, status, _ in self.deliveries)
        return counted

    def of_tools(self, *tools: str) -> list[str]:
        """Return the operations of tools that do something outside."""
        return [operation for operation, (_, tool, *_) in self.operations.items() if tool in tools]


def check(scene: Scene) -> Counter[str]:
    """Check everything, and return what there was to check, counted."""
    asyncio.run(read_log(scene.bench.database))
    found = Found(scene)
    _check_acknowledged(found)
    _check_nothing_is_stuck(found)
    _check_turns(found)
    _check_tasks(found)
    _check_entries(found)
    _check_calls(found)
    _check_effects(found)
    _check_notices(found)
    _check_commands(found)
    assert not list(Path(f"{scene.bench.database}-ends").glob("*")), "ends of calls are left that nobody needs"
    return found.counts()


def _check_acknowledged(found: Found) -> None:
    """Every row, end and entry that somebody was told of is there."""
    scene = found.scene
    assert scene.committed <= {row.id for row in found.rows}, "a row that was acknowledged as committed is missing"
    ends = {(row.thread, row.turn) for row in found.of_kind("outcome")}
    assert scene.ended <= ends, f"a supervisor said of {scene.ended - ends} that they had ended"
    assert set(scene.entered) <= found.inbox.keys()
    assert set(scene.noted) <= found.notices.keys()


def _check_nothing_is_stuck(found: Found) -> None:
    assert found.open == [], "a thread is stuck"
    assert {taken for *_, taken in found.inbox.values()} == {1}, "somebody is not heard"
    states = Counter(state for _, _, _, state, _ in found.operations.values())
    assert set(states) <= {"returned", "raised", "unknown"}, states


def _check_turns(found: Found) -> None:
    """Every turn has one beginning and one end, which is that it is completed, unless it was stopped."""
    opened = Counter((row.thread, row.turn) for row in found.rows)
    ended = Counter((row.thread, row.turn) for row in found.of_kind("outcome"))
    assert ended == Counter(opened.keys()), "a turn has not exactly one outcome"
    for row in found.of_kind("outcome"):
        may_be = {"completed", "cancelled"} if is_stopped(found.jobs.get(row.thread, "")) else {"completed"}
        assert row.content["outcome"] in may_be, f"{row.thread}: {row.content}"
    said = Counter((row.thread, row.content["text"]) for row in found.of_kind("message"))
    assert set(said.values()) == {1}, "a message was taken twice"
    for thread in found.threads:
        seqs = [row.seq for row in found.rows if row.thread == thread]
        assert seqs == list(range(1, len(seqs) + 1))
    assert found.scene.finished == {f"t{number}": "completed" for number in range(THREADS)}


def _check_tasks(found: Found) -> None:
    """Every end of a task is delivered once, its owner hears of it once, and is woken once."""
    jobs = [found.jobs[task] for task in found.tasks]
    assert len(set(jobs)) == len(jobs), "a task was started twice"
    assert len(jobs) == OWNERS * (TASKS + 1)
    ends = [(f"{row.thread}.{row.turn}", row.thread) for row in found.of_kind("outcome") if row.thread in found.jobs]
    assert {task for _, task in ends} == set(found.tasks)
    assert sorted((end, task) for end, task, _, _ in found.deliveries) == sorted(ends)
    for end, task, status, reached in found.deliveries:
        assert (status, reached) == (_DELIVERED[found.outcomes[end]], 1), f"{end} of {task}"
    heard = Counter(row.meta["entry"].split(":")[1] for row in found.of_kind("event") if "task_thread" in row.content)
    assert heard == Counter(end for end, _ in ends), "each owner hears of each end exactly once"
    waits = Counter(thread for thread, tool, *_ in found.operations.values() if tool == "task_wait")
    woken = Counter(row.thread for row in found.of_kind("result") if row.content["tool"] == "task_wait")
    owners = [each for each in found.threads if each.startswith("owner-") and "." not in each]
    owners += [task for task, name in found.jobs.items() if has_a_task(name)]
    assert woken == waits == Counter(owners)


def _check_entries(found: Found) -> None:
    """Every message and event became one row of its thread; schedules have entered each of their prompts at least once."""
    taken = Counter((row.thread, row.meta["entry"]) for row in found.rows if "entry" in row.meta)
    assert taken == Counter((thread, entry) for entry, (thread, kind, _) in found.inbox.items() if kind != "cancel")
    fired = Counter(entry.split(":")[1] for entry in found.inbox if entry.startswith("schedule:"))
    assert fired.keys() == {f"s{number}" for number in range(SCHEDULES)}


def _check_calls(found: Found) -> None:
    """Every call has one result, which says what the journal says."""
    calls = [
        f"{row.thread}.{row.turn}.{row.round}.{index}"
        for row in found.of_kind("reply")
        for index, _ in enumerate(part for part in row.content["parts"] if part["type"] == "call")
    ]
    assert sorted(calls) == sorted(row.content["operation"] for row in found.of_kind("result"))
    assert set(calls) == set(found.operations)
    for operation, (_, tool, effect, state, runs) in found.operations.items():
        text = found.results[operation].content["text"]
        if state == "unknown":
            assert effect in {"write", "exec", "send"}, f"{operation} of {tool} is unknown"
            assert "Effect unknown" in text, f"{operation}: {text}"
        # What task_start does is done once however often it is asked for: the task is named by the operation.
        assert runs == 1 or tool in {"look", "task_start", "task_wait", "task_stop"}, (
            f"{operation} of {tool} ran {runs} times"
        )


def _check_effects(found: Found) -> None:
    """What was done outside was done once, and once for every call that says so; reads ran again only where one was cut off."""
    begun = Counter(line for line in found.trace.elements() if line.endswith(" begin"))
    assert [line for line, times in found.trace.items() if times > 1 and " look " not in line] == [], "repeated"
    assert [line for line, times in found.ledger.items() if times > 1] == [], "a write was repeated without proof"
    arguments = {
        f"{row.thread}.{row.turn}.{row.round}.{index}": part["arguments"]
        for row in found.of_kind("reply")
        for index, part in enumerate(part for part in row.content["parts"] if part["type"] == "call")
    }
    wrote = 0
    for operation, (thread, tool, _, state, runs) in found.operations.items():
        given = msgspec.json.decode(arguments[operation])
        if tool in {"mark", "look"}:
            line = f"{thread} {tool} {given['n']}"
            assert found.trace[f"{line} end"] <= begun[f"{line} begin"] <= runs, f"{line}: {runs} runs"
            assert state != "returned" or found.trace[f"{line} end"] >= 1, f"{line} returned and left nothing"
        elif tool == "shell":
            name = given["command"].split()[1]
            assert state != "returned" or found.ledger[name] == 1, f"{name} returned and wrote nothing"
            wrote += found.ledger[name]
    assert wrote == found.ledger.total(), "a line was written of which the journal knows nothing"


def _check_notices(found: Found) -> None:
    """Of each effect that is unknown there is one notice; every notice has arrived."""
    unknown = {
        f"unknown_operation:{operation}:{runs}"
        for operation, (_, _, _, state, runs) in found.operations.items()
        if state == "unknown"
    }
    assert found.notices.keys() == unknown | set(found.scene.noted)
    assert set(found.notices.values()) <= {"sent"}, found.notices
    assert set(found.scene.hooks.keys()) == found.notices.keys()


def _check_commands(found: Found) -> None:
    """What the command shows is what the file holds."""
    bench, real = found.scene.bench, found.scene.dice.pick(found.threads)
    shown = {
        line["operation"]: (line["thread"], line["tool"], line["effect"], line["state"], line["runs"])
        for line in _json_lines(bench.stoic("operations", "list", "--json").stdout)
    }
    assert shown == found.operations
    tasks = _json_lines(bench.stoic("tasks", "list", "--json").stdout)
    last = {row.thread: row for row in found.of_kind("outcome")}
    assert {(line["task"], line["state"], line["outcome"], line["delivery"]) for line in tasks} == {
        (task, "ended", last[task].content["outcome"], _DELIVERED[last[task].content["outcome"]])
        for task in found.tasks
    }
    assert len(tasks) == len(found.tasks)
    for thread in found.threads:
        command = ("show", thread, "--json")
        (told,) = _json_lines((bench.stoic(*command) if thread == real else inside(bench, *command)).stdout)
        rows = [row for row in found.rows if row.thread == thread]
        assert [(row["seq"], row["turn"], row["kind"], row["content"]) for row in told["rows"]] == [
            (row.seq, row.turn, row.kind, row.content) for row in rows
        ]
        assert told["state"]["state"] == last[thread].content["outcome"]
        assert {call["operation"] for call in told["calls"]} == {
            operation for operation, (of, *_) in found.operations.items() if of == thread
        }


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _json_lines(text: str) -> list[Any]:
    return [msgspec.json.decode(line) for line in text.splitlines()]
