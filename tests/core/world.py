"""A world for one turn without any I/O: a disk that survives, and a driver that performs commands as a shell would."""

import hashlib
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec
from msgspec.structs import replace

from stoic.core.budget import spent_by
from stoic.core.commands import (
    AskStatus,
    CallResult,
    Cancelled,
    Claimed,
    ClaimTrial,
    Command,
    Commit,
    Committed,
    Compare,
    Compared,
    Ended,
    Event,
    KinSeen,
    Locate,
    Located,
    LookAtKin,
    LookAtShells,
    LookAtSpending,
    Next,
    Recall,
    Recalled,
    Remembered,
    Replied,
    Route,
    Send,
    ShellsSeen,
    Sleep,
    SpendingSeen,
    Start,
    Started,
    Status,
    Summarise,
    Summarised,
    ToolFacts,
    Woke,
)
from stoic.core.history import EFFECTS, OPEN_STATES, History, changed_row
from stoic.core.plain import plain
from stoic.core.plan import Candidate, Permission, Plan
from stoic.core.refusal import REMEMBERED_MS
from stoic.core.replay import gate, messages
from stoic.core.turn import turn
from stoic.records import (
    CallPart,
    Delivery,
    Draft,
    ExceptionFact,
    Health,
    InboxEntry,
    Json,
    Message,
    Notice,
    Operation,
    Outcome,
    Parked,
    Part,
    RefusedBytes,
    Report,
    Row,
    ShellFact,
    Spent,
    TextPart,
    Usage,
)

DENY_EFFECTS: dict[str, Permission] = {"write": "deny", "send": "deny", "exec": "deny"}
ROUTE = Route(provider="openai-chat", api="chat", model="m")
Reply = Callable[[Send], Report]


def said(text: str, *, finish: str = "stop", usage: Usage | None = None) -> Report:
    parts: list[Part] = [TextPart(text=text)] if text else []
    return report(parts, finish, usage)


def called(*calls: tuple[str, str], text: str = "") -> Report:
    parts: list[Part] = [TextPart(text=text)] if text else []
    return report(parts + [CallPart(name=name, arguments=arguments) for name, arguments in calls], "tool_calls")


def report(parts: list[Part], finish: str | None, usage: Usage | None = None, *, ended: bool = True) -> Report:
    return Report(
        provider="openai-chat",
        api="chat",
        model="m",
        status=200,
        stream=True,
        end="clean",
        parts=parts,
        finish=finish,
        ended=ended,
        usage=usage or Usage(input_tokens=10, output_tokens=2),
    )


def cut(*parts: Part) -> Report:
    exception = ExceptionFact(type="httpx2.ReadError", message="connection reset", after_first_byte=True)
    whole = report(list(parts), None, ended=False)
    return replace(whole, end="cut", exception=exception)


def http(status: int, code: str, message: str = "", headers: dict[str, str] | None = None) -> Report:
    body = {"error": {"message": message, "type": code, "code": code, "param": None}}
    return Report(
        provider="openai-chat", api="chat", model="m", status=status, headers=headers or {}, body=body, parts=None
    )


def tool(name: str, effect: Any = "write", **facts: Any) -> ToolFacts:
    return ToolFacts(name=name, effect=effect, check=lambda _: None, **facts)


def plan(*tools: ToolFacts, **fields: Any) -> Plan:
    fields.setdefault("candidates", [Candidate(route=ROUTE, key="A")])
    return Plan(fingerprint="f", tools={each.name: each for each in tools}, **fields)


TROUBLE = "raised TypeError"
"""What is wrong with a status function that does not know."""


class World:
    """What outlives a crash: rows, journal, inbox, and what the tools really did outside."""

    def __init__(self, the_plan: Plan, reply: Reply) -> None:
        self.plan = the_plan
        self.reply = reply
        self.rows: list[Row] = []
        self.operations: dict[str, Operation] = {}
        self.health: dict[str, Health] = {}
        self.shells: list[ShellFact] = []
        self.kin: list[Operation] = []
        """Unknown operations of the owner and of the thread's tasks."""
        self.spent = self.kin_spent = self.spent_today = Spent()
        """By this thread; by its owner and the tasks of that one; by everybody, this thread included."""
        self.deliveries: dict[str, Delivery] = {}
        self.loops: Json = None
        """What was saved of the loop detector."""
        self.summary: str | None = "what happened before"
        """What the agent's own summariser makes of it."""
        self.summing: Callable[[Summarise], Report] | None = None
        """What a model brings instead, when it is the one who sums up."""
        self.summarised: list[Summarise] = []
        self.others_health: list[Health] = []
        """What other workers have stored of the routes since this turn began."""
        self.located: list[str] = []
        """The data of the images where a provider points at."""
        self.takes_max_tokens = True
        """Whether the model takes another length of its reply than the agent's."""
        self.claims = True
        """Whether a trial that is asked for is granted."""
        self.notices: dict[str, Notice] = {}
        self.refused: dict[tuple[str, str, str], RefusedBytes] = {}
        """What is remembered across threads; it may be shared with another world's."""
        self.inbox: list[InboxEntry] = []
        self.tells_inbox = False
        """Whether each commit tells what waits in the inbox, as after news from outside."""
        self.now_ms = 1_000_000
        self.sends: list[tuple[Send, list[Message]]] = []
        self.executed: list[str] = []
        """Operation ids, once for each real execution with an effect or without."""
        self.effects: list[str] = []
        """Operation ids whose effect really happened."""
        self.slept_ms: list[int] = []
        self.statuses: dict[str, str] = {}
        self.asked: list[AskStatus] = []
        self.results: dict[str, CallResult] = {}
        self.one_at_a_time = False
        """Whether calls that run side by side end one after the other."""
        self.keeps_ends = False
        """Whether the end of a call is written down at once."""
        self.ends: dict[str, CallResult] = {}
        """Ends that are written down and whose results are not stored, by operation."""
        self.result: Callable[[str], CallResult] = lambda operation: CallResult(
            operation=operation, text=f"result of {operation}", state="returned"
        )
        self._positions = count(1)

    def put(self, kind: Any, content: object = None) -> InboxEntry:
        position = next(self._positions)
        entry = InboxEntry(
            id=f"e{position}", thread="t", kind=kind, content=content or {}, created_at=self.now_ms, position=position
        )
        self.inbox.append(entry)
        return entry

    def message(self, text: str = "go") -> None:
        self.put("message", {"text": text})

    def history(self) -> History:
        history = History("t")
        for row in self.rows:
            history.fold(row)
        for operation in self.operations.values():
            if operation.state in OPEN_STATES:
                history.fold_operation(operation)
        return history

    def view(self) -> list[Message]:
        return messages(self.rows)

    def shown(self, send: Send) -> list[Message]:
        """Return what a send shows the model."""
        return plain(self.view()) if send.plain else self.view()

    def to_sum_up(self, command: Summarise) -> list[Message]:
        """Return what a summary is made of."""
        return messages([row for row in self.rows[: command.upto_seq] if row.seq not in command.kept])

    def remembered(self, command: Send | Summarise, request_hash: str) -> RefusedBytes | None:
        """Return the refusal of these bytes that forbids to send them again."""
        known = self.refused.get((request_hash, command.route.provider, command.route.model))
        is_fresh = known is not None and self.now_ms < known.refused_at_ms + REMEMBERED_MS
        return known if is_fresh and not command.may_repeat else None

    def commit(self, step: Commit) -> list[Row]:
        rows = [self._stamp(draft, len(self.rows) + 1 + index) for index, draft in enumerate(step.rows)]
        changes = {change.seq: change for change in step.views}
        assert not any(row.accepted for row in self.rows if row.seq in changes), "an accepted row was changed"
        self.rows = [changed_row(row, changes[row.seq]) if row.seq in changes else row for row in self.rows]
        self.rows = [
            replace(row, accepted=True) if row.visible and row.seq <= step.accept_upto else row for row in self.rows
        ]
        self.rows += rows
        for operation in step.operations:
            self.operations[operation.id] = operation
            if operation.state not in {"intended", "running"}:
                self.ends.pop(operation.id, None)
        for health in step.health:
            self.health[health.route] = health.onto(self.health.get(health.route))
        if step.guard is not None:
            self.loops = msgspec.json.decode(msgspec.json.encode(step.guard))
        for notice in step.notices:
            self.notices.setdefault(notice.key, notice)
        for delivery in step.deliveries:
            assert delivery.id not in self.deliveries, "an end was delivered twice"
            self.deliveries[delivery.id] = delivery
        for refused in step.refused:
            self.refused[refused.hash, refused.provider, refused.model] = refused
        taken = set(step.inbox_taken)
        assert taken <= {entry.id for entry in self.inbox}, "an entry was taken twice"
        self.inbox = [entry for entry in self.inbox if entry.id not in taken]
        return rows

    def _stamp(self, draft: Draft, seq: int) -> Row:
        fields = {name: getattr(draft, name) for name in Draft.__struct_fields__}
        row = Row(id=f"r{seq}", thread="t", seq=seq, created_at=self.now_ms, **fields)
        assert msgspec.json.decode(msgspec.json.encode(row), type=Row) == row, "a row must survive its storage"
        return row

    def outcomes(self) -> list[Outcome]:
        return [msgspec.convert(row.content, Outcome) for row in self.rows if row.kind == "outcome"]


class Life:
    """One process: a living generator and the calls it runs; a crash is simply to stop using it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.generator = turn(
            world.history(), world.plan, list(world.inbox), world.now_ms, dict(world.health), world.loops
        )
        self.running: list[str] = []
        self.ending: Outcome | Parked | None = None
        self.finished = False
        self.cancelling: str | None = None
        self.command: Command | None = None
        self._resume(None)

    def _resume(self, event: Event | None) -> None:
        try:
            self.command = self.generator.send(event)  # pyright: ignore[reportArgumentType] - None starts it
        except StopIteration as stopped:
            self.command, self.finished, self.ending = None, True, stopped.value

    def perform(self) -> Event:
        """Do what the command asks for, without telling the generator."""
        world, command = self.world, self.command
        world.now_ms += 1
        match command:
            case Commit():
                rows = world.commit(command)
                world.spent += spent_by(command.rows)
                world.spent_today += spent_by(command.rows)
                return Committed(rows=rows, now_ms=world.now_ms, arrived=world.inbox if world.tells_inbox else [])
            case Send():
                if self.cancelling is not None:
                    return self._cancelled()
                gate(world.view())
                view = world.shown(command)
                assert command.upto_seq == len(world.rows)
                request_hash = hash_of(view)
                known = world.remembered(command, request_hash)
                if known is not None:
                    return Remembered(refused=known, now_ms=world.now_ms)
                world.sends.append((command, view))
                return Replied(
                    report=world.reply(command),
                    now_ms=world.now_ms,
                    health=world.others_health,
                    request_hash=request_hash,
                )
            case Compare():
                before, after = command.before, command.after
                lowered = before.max_tokens != after.max_tokens and world.takes_max_tokens
                differs = lowered or world.shown(before) != world.shown(after)
                return Compared(differs=differs, now_ms=world.now_ms)
            case Locate():
                return Located(images=world.located, now_ms=world.now_ms)
            case Start():
                for planned in command.calls:
                    self.running.append(planned.operation.id)
                    self._execute(planned.operation)
                return Started(now_ms=world.now_ms)
            case Next():
                if self.cancelling is not None:
                    return self._cancelled()
                ready = 1 if world.one_at_a_time else len(self.running)
                done, self.running = self.running[:ready], self.running[ready:]
                results = [self._result(operation) for operation in done]
                if world.keeps_ends:
                    world.ends |= {result.operation: result for result in results}
                return Ended(results=results, now_ms=world.now_ms)
            case Recall():
                ends = [world.ends[lost.id] for lost in command.operations if lost.id in world.ends]
                return Recalled(results=ends, now_ms=world.now_ms)
            case Sleep():
                if self.cancelling is not None:
                    return self._cancelled()
                world.slept_ms.append(command.until_ms - world.now_ms)
                world.now_ms = max(world.now_ms, command.until_ms)
                return Woke(now_ms=world.now_ms, health=world.others_health)
            case Summarise():
                if self.cancelling is not None:
                    return self._cancelled()
                return self._sum_up(command)
            case ClaimTrial():
                if world.claims:
                    world.health[command.health.route] = command.health
                return Claimed(granted=world.claims, now_ms=world.now_ms)
            case LookAtShells():
                return ShellsSeen(shells=world.shells, now_ms=world.now_ms)
            case LookAtKin():
                return KinSeen(operations=list(world.kin), now_ms=world.now_ms)
            case LookAtSpending():
                return SpendingSeen(thread=world.spent + world.kin_spent, day=world.spent_today, now_ms=world.now_ms)
            case AskStatus():
                return self._ask(command)
            case None:
                raise AssertionError("the turn has ended")

    def _ask(self, command: AskStatus) -> Event:
        if self.cancelling is not None and not command.briefly:
            return self._cancelled()
        self.world.asked.append(command)
        answer = self.world.statuses.get(command.operation.id, "unknown")
        return Status(answer=answer, trouble=TROUBLE if answer == "unknown" else None, now_ms=self.world.now_ms)

    def _sum_up(self, command: Summarise) -> Event:
        world = self.world
        if world.summing is None:
            world.summarised.append(command)
            return Summarised(text=world.summary, now_ms=world.now_ms)
        request_hash = f"of a summary: {hash_of(world.to_sum_up(command))}"
        known = world.remembered(command, request_hash)
        if known is not None:
            return Remembered(refused=known, now_ms=world.now_ms)
        world.summarised.append(command)
        return Summarised(report=world.summing(command), request_hash=request_hash, now_ms=world.now_ms)

    def _cancelled(self) -> Cancelled:
        entries = [self.cancelling] if self.cancelling else []
        return Cancelled(now_ms=self.world.now_ms, entries=entries)

    def _execute(self, operation: Operation) -> None:
        stored = self.world.operations[operation.id]
        assert stored == operation, "a call started before that was stored"
        assert stored.state == "running", "a call started before that was stored"
        assert operation.id not in self.world.ends, "a call runs again though its end is written down"
        if operation.effect in EFFECTS:
            self.world.effects.append(operation.id)
        self.world.executed.append(operation.id)

    def _result(self, operation: str) -> CallResult:
        return self.world.results.get(operation) or self.world.result(operation)

    def step(self) -> Command | None:
        """Perform the command, tell the generator, and return the next one."""
        self._resume(self.perform())
        return self.command

    def finish(self, limit: int = 500) -> Outcome | Parked | None:
        for _ in range(limit):
            if self.finished:
                return self.ending
            self.step()
        raise AssertionError("the turn did not end")


def hash_of(view: list[Message]) -> str:
    return hashlib.blake2b(msgspec.json.encode(view), digest_size=16).hexdigest()


def run(world: World) -> Outcome | Parked | None:
    return Life(world).finish()


def ended(world: World) -> Outcome:
    """Run a turn that is expected to end."""
    ending = run(world)
    assert isinstance(ending, Outcome)
    return ending


def parked(world: World) -> Parked:
    """Run a turn that is expected to wait."""
    ending = run(world)
    assert isinstance(ending, Parked)
    return ending


def scripted(*reports: Report) -> Reply:
    """Replies by position in the turn, so that a resumed generator meets the same provider: one a send, in order of
    rounds and attempts; the last one repeats."""
    by_position: dict[tuple[int, int], Report] = {}
    rest = list(reports)

    def reply(send: Send) -> Report:
        key = (send.round, send.attempt)
        if key not in by_position:
            by_position[key] = rest.pop(0) if len(rest) > 1 else rest[0]
        return by_position[key]

    return reply
