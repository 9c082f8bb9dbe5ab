"""Tasks: work with a thread of its own, started, told, watched and stopped by its owner or a person (SPEC §12)."""

import asyncio
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from stoic.core import notes
from stoic.core.history import LEAVES_PARKED
from stoic.core.quarantine import body_hash
from stoic.core.receipt import evidence
from stoic.errors import EndedByRefusalError, NoSuchThreadError, UsageError
from stoic.ports import load_readable
from stoic.records import InboxEntry, Json, Receipt, Row, StoredDelivery, ThreadRecord
from stoic.runtime.engine import Engine
from stoic.runtime.task_agents import AgentSource
from stoic.runtime.threads import check_id, check_text
from stoic.tools.desk import Stopped, TaskSpec, TaskStatus

MOST_DEEP = 3
"""How many owners a task may have above it."""
MOST_OPEN = 256
"""How many tasks under one root may be unfinished at a time."""
_STOP_SECONDS = 10.0
_TO_RUN = frozenset({"message", "event"})
_BOUNDS = ("max_rounds", "max_cost_usd", "max_seconds")


class Tasks:
    """The tasks of one database; implements the desk that the task tools talk to."""

    def __init__(
        self, engine: Engine, agents: AgentSource, *, most_deep: int = MOST_DEEP, most_open: int = MOST_OPEN
    ) -> None:
        """Take the engine and who knows the agents.

        Args:
            engine: opened by the caller
            agents: tells whether a task's agent can be made, before it is started
            most_deep: how many owners a task may have above it
            most_open: how many tasks under one root may be unfinished at a time
        """
        self._engine = engine
        self._store = engine.store
        self._agents = agents
        self._most_deep = most_deep
        self._most_open = most_open

    async def start(
        self,
        brief: str,
        *,
        owner: str | None = None,
        task: str | None = None,
        spec: TaskSpec | None = None,
        agent: str | None = None,
        meta: dict[str, Json] | None = None,
    ) -> TaskStatus:
        """Start a task: it is stored, and run by whoever runs this database's work.

        Args:
            brief: what it is to do; all it knows
            owner: the thread that gets its result as an event; None: nobody does, the result is in its log
            task: its id; one that is known is not started again. Default a new one
            spec: how it differs from its owner
            agent: the name of its agent; default its owner's
            meta: further facts that the source of agents reads

        Raises:
            UsageError: the brief is empty, there is no such owner or agent, the owner ended by refusal, or there are too
                many tasks, or they are nested too deeply
            StoreError: the log cannot be read or written
        """
        if not brief.strip():
            raise UsageError("the brief is empty; say what the task is to do")
        check_text(brief, "the brief")
        task = check_id(task or self._engine.ids.new())
        record = await self._record(brief, owner, task, spec or TaskSpec(), agent, meta or {})
        found = self._agents(record)
        if owner is not None and spec is not None and spec.model is not None:
            found.parameters_for(self._engine.connection(spec.model))  # a model that cannot be asked is said at once
        # Its brief comes with it: a thread alone would be a task that nobody ever runs, and that never ends.
        entry = self._entry(record.id, f"brief:{record.id}", {"text": brief})
        stored = await self._store.create_thread(record, enter=entry)
        if stored.meta.get("brief") != record.meta["brief"] or stored.kind != "task":
            raise UsageError(f"there is a thread {task!r} already, which is not this task; use another id")
        self._engine.has_work(record.id)
        return await self.status(record.id)

    async def message(self, task: str, text: str, *, entry: str | None = None, owner: str | None = None) -> int | None:
        """Tell a task something; it answers in a turn of its own.

        Args:
            task: its id
            text: what it should know or do
            entry: makes telling it twice harmless; default a new one
            owner: who may tell it something; None: everybody

        Returns:
            The number of that turn; None: it has not begun.

        Raises:
            UsageError: the text is empty, there is no such task, or it ended by refusal
        """
        if not text.strip():
            raise UsageError("the message is empty; say what the task should know or do")
        check_text(text, "the message")
        record = await self._task(task, owner)
        entry_id = entry or self._engine.ids.new()
        known = await self._turn_of(task, entry_id)
        if known is not None:
            return known
        if record.is_stopped:
            raise EndedByRefusalError(f"task {task}: {notes.START_ANEW}")
        content: dict[str, Json] = {"text": text}
        if owner is not None:
            content["from_thread"] = owner
        await self._store.put(self._entry(task, entry_id, content))
        self._engine.has_work(task)
        return None

    async def status(self, task: str, *, owner: str | None = None) -> TaskStatus:
        """Tell where a task stands. Raises UsageError: there is none of that id, or it is not the owner's."""
        record = await self._task(task, owner)
        delivered = await self._store.deliveries(task=task)
        unread = any(entry.kind in _TO_RUN for entry in await self._store.inbox(task)) and not record.is_stopped
        return _status(record, delivered[0] if delivered else None, unread=unread)

    async def of(self, owner: str | None = None) -> Sequence[TaskStatus]:
        """Return the tasks of an owner, or all, the oldest first."""
        found = await self._store.tasks(owner=owner)
        return [await self.status(record.id) for record in reversed(found)]

    async def stop(self, task: str, *, owner: str | None = None) -> Stopped:
        """Stop a task's running turn and tell what it was at.

        After a refusal, or where one may be on its way, the evidence holds nothing the task read or wrote.

        Raises:
            UsageError: there is no such task, or it is not the owner's
        """
        before = await self.status(task, owner=owner)
        if before.state != "ended" and not self._engine.cancel(task):
            await self._store.put(self._entry(task, self._engine.ids.new(), {}, kind="cancel"))
            self._engine.has_work(task)
        if before.state != "ended":
            await self._ended(task)
        after = await self.status(task, owner=owner)
        rows = await self._newest_turn(task)
        refused = after.refusal is not None
        return Stopped(
            task=task,
            state=after.state,
            stopped=before.state != "ended" and after.state == "ended" and after.outcome == "cancelled",
            refused=refused,
            evidence=evidence(rows, refused=refused or after.state != "ended"),
            note=after.note,
        )

    async def wait(
        self, tasks: Sequence[str], *, until_all: bool = True, timeout_seconds: float | None = None
    ) -> list[TaskStatus]:
        """Wait until all of these tasks, or one of them, have ended; return where each stands then.

        Raises:
            UsageError: there is no such task
        """
        listener = self._store.changes()
        try:
            async with asyncio.timeout(timeout_seconds):
                while True:
                    found = [await self.status(task) for task in tasks]
                    ended = [each.state == "ended" for each in found]
                    if all(ended) or (not until_all and any(ended)):
                        return found
                    await anext(listener)
        except TimeoutError:
            return [await self.status(task) for task in tasks]

    async def open_under(self, root: str) -> list[ThreadRecord]:
        """Return the unfinished tasks under a thread, the oldest first."""
        found = reversed(await self._store.tasks(root=root))
        waiting = {work.thread.id for work in await self._store.work(0)}
        return [each for each in found if not each.is_stopped and (each.phase != "idle" or each.id in waiting)]

    async def _record(
        self, brief: str, owner: str | None, task: str, spec: TaskSpec, agent: str | None, meta: dict[str, Json]
    ) -> ThreadRecord:
        own: dict[str, Json] = {"brief": body_hash({"text": brief}), "depth": 1, "root": task} | meta
        if owner is not None:
            above = await self._owner(owner)
            own["owner"], own["root"] = owner, above.meta.get("root", owner)
            own["depth"] = above.meta.get("depth", 0) + 1
            own |= {name: above.meta[name] for name in ("agent", "options") if name in above.meta}
            if "spec" in above.meta:
                inherited = msgspec.convert(above.meta["spec"], TaskSpec)
                spec = _inheriting(spec, inherited)
            await self._check_room(task, own)
        if agent is not None:
            own["agent"] = agent
        own["spec"] = msgspec.to_builtins(spec)
        return ThreadRecord(id=task, kind="task", scope="worker", created_at=self._engine.clock.now_ms(), meta=own)

    async def _owner(self, owner: str) -> ThreadRecord:
        try:
            above = await self._store.thread(owner)
        except NoSuchThreadError:
            raise UsageError(f"there is no thread {owner!r} to own the task") from None
        if above.is_stopped:
            raise EndedByRefusalError(f"thread {owner}: {notes.START_ANEW}")
        return above

    async def _check_room(self, task: str, own: dict[str, Json]) -> None:
        if own["depth"] > self._most_deep:
            raise UsageError(f"a task may have {self._most_deep} owners above it at the most; do this work yourself")
        unfinished = [each.id for each in await self.open_under(own["root"])]
        if len(unfinished) >= self._most_open and task not in unfinished:
            raise UsageError(
                f"{len(unfinished)} tasks are unfinished, which is the most there may be; wait for some (task_wait) first"
            )

    async def _task(self, task: str, owner: str | None) -> ThreadRecord:
        try:
            record = await self._store.thread(task)
        except NoSuchThreadError:
            record = None
        is_task = record is not None and record.kind != "repair" and (record.kind == "task" or record.scope == "worker")
        if record is None or not is_task or (owner is not None and record.meta.get("owner") != owner):
            known = [each.id for each in await self._store.tasks(owner=owner, limit=20)]
            there = f"those there are: {', '.join(known)}" if known else "there are none"
            raise UsageError(f"there is no task {task!r}{'' if owner is None else ' of yours'}; {there}")
        return record

    async def _turn_of(self, task: str, entry: str) -> int | None:
        """Return the turn that an entry has opened; the whole log is read, since an entry's row may be anywhere in it."""
        rows = (await load_readable(self._store, task)).rows
        return next((row.turn for row in rows if row.meta.get("entry") == entry), None)

    async def _newest_turn(self, task: str) -> list[Row]:
        rows = (await load_readable(self._store, task)).rows
        newest = max((row.turn for row in rows), default=0)
        return [row for row in rows if row.turn == newest and row.kind not in LEAVES_PARKED]

    async def _ended(self, task: str) -> None:
        """Wait a bounded time for a task's turn to end."""
        listener = self._store.changes()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                while (await self.status(task)).state != "ended":
                    await anext(listener)
        except TimeoutError:
            return

    def _entry(self, task: str, entry: str, content: Json, *, kind: str = "message") -> InboxEntry:
        return InboxEntry(
            id=entry,
            thread=task,
            kind=kind,  # pyright: ignore[reportArgumentType] - `message` or `cancel`
            content=content,
            created_at=self._engine.clock.now_ms(),
        )


def _inheriting(spec: TaskSpec, above: TaskSpec) -> TaskSpec:
    """Return a nested task's wishes within what the task that owns it has itself.

    Raises:
        UsageError: it wants a tool that its owner has not, or a folder outside its owner's
    """
    if above.tools is not None:
        foreign = next((name for name in spec.tools or [] if name not in above.tools), None)
        if foreign is not None:
            raise UsageError(f"there is no tool {foreign!r} to give; those of its owner are {', '.join(above.tools)}")
    bounds = {name: _lower(getattr(spec, name), getattr(above, name)) for name in _BOUNDS}
    return TaskSpec(
        model=spec.model or above.model,
        tools=spec.tools if spec.tools is not None else above.tools,
        workspace=_below(spec.workspace, above.workspace),
        **bounds,
    )


def _lower(wish: float | None, bound: float | None) -> Any:
    return bound if wish is None else wish if bound is None else min(wish, bound)


def _below(wish: str | None, outer: str | None) -> str | None:
    if wish is None or outer is None:
        return wish or outer
    if PurePath(wish).is_absolute() or ".." in PurePath(wish).parts:
        raise UsageError(f"workspace {wish!r}: name a folder within the owner's, relative to it")
    return str(PurePath(outer) / wish)


def _status(record: ThreadRecord, newest: StoredDelivery | None, *, unread: bool) -> TaskStatus:
    received = None if newest is None else msgspec.convert(newest.delivery.receipt, Receipt)
    if record.phase == "parked":
        state = "parked"
    elif record.phase == "open" and not record.is_stopped:
        state = "running" if record.owner is not None else "waiting"
    else:
        state = "waiting" if unread or (received is None and not record.is_stopped) else "ended"
    parked: dict[str, Json] = record.parked or {}
    refusal = received if record.is_stopped else None
    return TaskStatus(
        task=record.id,
        state=state,
        owner=record.meta.get("owner"),
        depth=record.meta.get("depth", 1),
        turns=received.turn if received else 0,
        waits_for=parked.get("waits_for"),
        until_ms=parked.get("until_ms"),
        outcome=received.outcome if received else None,
        reason=received.reason if received else None,
        failure_class=received.failure_class if received else None,
        delivery=received.status if received else None,
        text=received.text if received else "",
        refusal=refusal,
        note=notes.START_ANEW if record.is_stopped else received.note if received else "",
    )
