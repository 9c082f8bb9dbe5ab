"""Where the threads of a stopped process stand: told by the log, by what their tools have left, and by the provider."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import msgspec
from tests.crash.model import Model

PLACES = (
    "before a turn",
    "before a send",
    "request sent",
    "during a stream",
    "between intent and start",
    "in a tool",
    "after a tool's end",
    "after a turn's end",
    "at a delivery",
    "idle",
)
"""Of a thread whose lease the process holds; `idle` is a process that holds none. A delivery is stored and its owner, or the task
that it is of, is held; its owner has not been told."""

_HELD = """
SELECT threads.id, phase, last_seq FROM threads JOIN owners ON owners.id = threads.owner WHERE owners.pid = ?
"""
_RUNNING = 'SELECT tool, turn, round, "index" FROM operations WHERE thread = ? AND state = ?'
_REPLY = "SELECT content FROM rows WHERE thread = ? AND turn = ? AND round = ? AND kind = 'reply'"
_SENDS = "SELECT count(*) FROM rows WHERE thread = ? AND kind IN ('reply', 'attempt')"
_LAST = "SELECT kind FROM rows WHERE thread = ? ORDER BY seq DESC LIMIT 1"
_UNTOLD = "SELECT id, thread FROM inbox WHERE taken = 0 AND id LIKE 'delivery:%'"
_BRIEF = "SELECT content ->> '$.text' FROM inbox WHERE thread = ? ORDER BY position LIMIT 1"
_BEGINS = re.compile(r"echo (\S+) begin")


class Places:
    """Looks at one database, whose processes share a provider and a file in which tools leave lines."""

    def __init__(self, database: Path, trace: Path, model: Model) -> None:
        self._database = database
        self._trace = trace
        self._model = model
        self._lost: Counter[str] = Counter()
        """Requests of which the log will never tell: their process was killed."""

    def of(self, pid: int) -> Counter[str]:
        """Return how many threads of a stopped process stand where."""
        connection = apsw.Connection(str(self._database), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(10_000)
        try:
            connection.execute("BEGIN")  # one snapshot
            held = fetch(connection, _HELD, pid)
            found = Counter(self._of_thread(connection, *each) for each in held)
            names = {thread for thread, _, _ in held}
            untold = fetch(connection, _UNTOLD)
        finally:
            connection.close()
        delivered = sum(owner in names or _task_of(entry) in names for entry, owner in untold)
        return found + Counter({"at a delivery": delivered}) if held else Counter({"idle": 1})

    def holder(self, key: str) -> int | None:
        """Return the process that holds the thread of a key; None: nobody does."""
        connection = apsw.Connection(str(self._database), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(10_000)
        try:
            return connection.execute(
                "SELECT pid FROM threads JOIN owners ON owners.id = threads.owner WHERE threads.id = ?1"
                " OR threads.id = (SELECT thread FROM inbox WHERE content ->> '$.text' = 'job ' || ?1)",
                (key,),
            ).get
        finally:
            connection.close()

    def _of_thread(self, connection: apsw.Connection, thread: str, phase: str, last_seq: int) -> str:
        running = fetch(connection, _RUNNING, thread, "running")
        if running:
            # Of several calls at once the one that has come the farthest.
            return max((self._of_call(connection, thread, *each) for each in running), key=PLACES.index)
        if phase == "open":
            return self._of_send(connection, thread)
        last = fetch(connection, _LAST, thread)
        return "after a turn's end" if last_seq and last[0][0] in {"outcome", "parked"} else "before a turn"

    def _of_call(self, connection: apsw.Connection, thread: str, tool: str, turn: int, number: int, index: int) -> str:
        ((content,),) = fetch(connection, _REPLY, thread, turn, number)
        arguments = msgspec.json.decode(msgspec.json.decode(content)["parts"][index]["arguments"])
        key = _key_of_call(thread, tool, arguments)
        if key is None:
            return "in a tool"  # one of the runtime's own, which leaves nothing outside
        trace = self._trace.read_text().splitlines() if self._trace.exists() else []
        if f"{key} end" in trace:
            return "after a tool's end"
        return "in a tool" if f"{key} begin" in trace else "between intent and start"

    def _of_send(self, connection: apsw.Connection, thread: str) -> str:
        brief = next((text or "" for (text,) in fetch(connection, _BRIEF, thread)), "")
        key = brief.removeprefix("job ") if brief.startswith("job ") else thread
        ((stored,),) = fetch(connection, _SENDS, thread)
        under_way = self._model.arrived[key] - stored - self._lost[key]
        if under_way <= 0:
            return "before a send"
        self._lost[key] += under_way
        if key in self._model.unheard:
            self._model.unheard.remove(key)
            return "request sent"
        return "request sent" if self._model.latest[key].status is None else "during a stream"


def fetch(connection: apsw.Connection, query: str, *values: str | int) -> list[Any]:
    """Return what a query finds."""
    return connection.execute(query, values).fetchall()


def _task_of(entry: str) -> str:
    """Return the task of an entry like `delivery:TASK.TURN:ROW`."""
    return entry.split(":")[1].rpartition(".")[0]


def _key_of_call(thread: str, tool: str, arguments: dict[str, Any]) -> str | None:
    """Return with what the lines of a call begin; None: it leaves none."""
    if tool in {"mark", "look"}:
        return f"{thread} {tool} {arguments['n']}"
    found = _BEGINS.search(arguments.get("command", "")) if tool == "shell" else None
    return found and found[1]
