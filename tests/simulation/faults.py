"""Deliberate faults at the ports, one for each invariant, so that the checkers are checked."""

from collections.abc import AsyncIterator, Mapping, Sequence

from msgspec.structs import replace
from tests.core.world import called
from tests.simulation.models import SimulatedModel

from stoic.core.commands import CallResult
from stoic.errors import StaleWriterError
from stoic.ports import Delta, Loaded, Request, Store
from stoic.records import (
    CallPart,
    InboxEntry,
    Json,
    Lease,
    Message,
    Operation,
    Owner,
    Report,
    Step,
    ToolMessage,
    ToolSchema,
    UserMessage,
)
from stoic.tools.ends import Ends
from stoic.wire import chat


class FaultyStore:
    """Passes everything on; its children do one thing wrong."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.open = inner.open
        self.close = inner.close
        self.create_thread = inner.create_thread
        self.threads = inner.threads
        self.put = inner.put
        self.release = inner.release
        self.operations = inner.operations
        self.inbox = inner.inbox
        self.calls = inner.calls
        self.health = inner.health
        self.delete_thread = inner.delete_thread
        self.claim_trial = inner.claim_trial
        self.put_health = inner.put_health
        self.holder = inner.holder
        self.refused_since = inner.refused_since
        self.unknown_of_kin = inner.unknown_of_kin
        self.work = inner.work
        self.next_wake_ms = inner.next_wake_ms
        self.parked = inner.parked
        self.tasks = inner.tasks
        self.deliveries = inner.deliveries
        self.refused_briefs = inner.refused_briefs
        self.remember = inner.remember
        self.recall = inner.recall
        self.memories = inner.memories
        self.forget = inner.forget
        self.put_schedule = inner.put_schedule
        self.schedules = inner.schedules
        self.delete_schedule = inner.delete_schedule
        self.fire_schedule = inner.fire_schedule
        self.put_notice = inner.put_notice
        self.notices = inner.notices
        self.notices_used = inner.notices_used
        self.settle_notice = inner.settle_notice

    async def register(self, owner: Owner) -> None:
        await self.inner.register(owner)

    async def acquire(self, thread: str, owner: str, now_ms: int, *, enter: InboxEntry | None = None) -> Lease:
        return await self.inner.acquire(thread, owner, now_ms, enter=enter)

    async def load(self, thread: str, *, after_seq: int = 0) -> Loaded:
        return await self.inner.load(thread, after_seq=after_seq)

    async def append(self, lease: Lease, step: Step) -> None:
        await self.inner.append(lease, step)

    def changes(self) -> AsyncIterator[None]:
        return self.inner.changes()


class SecondOutcome(FaultyStore):
    """Stores every outcome twice."""

    async def append(self, lease: Lease, step: Step) -> None:
        last = step.rows[-1] if step.rows else None
        if last is not None and last.kind == "outcome":
            again = replace(last, id=f"{last.id}-again", seq=last.seq + 1)
            step = replace(step, rows=[*step.rows, again])
        await self.inner.append(lease, step)


class LostOutcome(FaultyStore):
    """Stores an outcome as something else."""

    async def append(self, lease: Lease, step: Step) -> None:
        rows = [replace(row, kind="note") if row.kind == "outcome" and row.turn == 1 else row for row in step.rows]
        await self.inner.append(lease, replace(step, rows=rows))


class ForgetfulJournal(FaultyStore):
    """Never remembers that an operation runs."""

    async def append(self, lease: Lease, step: Step) -> None:
        kept = [replace(each, state="intended") if each.state == "running" else each for each in step.operations]
        await self.inner.append(lease, replace(step, operations=kept))


class ForgetfulEnds(Ends):
    """Finds no end that was written down."""

    def find(self, operations: list[Operation]) -> list[CallResult]:
        return []


class Unfenced(FaultyStore):
    """Lets a stale writer append, as if the epoch were not checked."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._newest: dict[str, Lease] = {}

    async def acquire(self, thread: str, owner: str, now_ms: int, *, enter: InboxEntry | None = None) -> Lease:
        self._newest[thread] = await self.inner.acquire(thread, owner, now_ms, enter=enter)
        return self._newest[thread]

    async def append(self, lease: Lease, step: Step) -> None:
        if lease.epoch == self._newest[lease.thread].epoch:
            await self.inner.append(lease, step)
            return
        last_seq = (await self.inner.load(lease.thread)).thread.last_seq
        rows = [replace(row, seq=last_seq + number) for number, row in enumerate(step.rows, 1)]
        forced = replace(step, rows=rows, accept_upto=0, inbox_taken=[], release=False)
        try:
            await self.inner.append(self._newest[lease.thread], forced)
        except StaleWriterError:
            borrowed = await self.inner.acquire(lease.thread, lease.owner, 0)
            await self.inner.append(borrowed, forced)
            await self.inner.release(borrowed)


class LenientModel(SimulatedModel):
    """A wire that mends half calls and calls a broken stream complete."""

    def answer(self) -> Report:
        report = super().answer()
        if report.status != 200 or report.finish == "content_filter":
            return report
        parts = [_mended(part) if isinstance(part, CallPart) else part for part in report.parts or []]
        calls = any(isinstance(part, CallPart) for part in parts)
        return replace(
            report, parts=parts, ended=True, end="clean", exception=None, finish="tool_calls" if calls else "stop"
        )


def _mended(part: CallPart) -> CallPart:
    arguments = part.arguments or "{}"
    return replace(part, whole=True, arguments=arguments if arguments.endswith(("}", "]", ":")) else arguments + '0"}')


class StutteringModel(SimulatedModel):
    """Shows each piece of text twice."""

    async def show(self, answer: Report, on_delta: Delta) -> None:
        def twice(kind: str, text: str) -> None:
            on_delta(kind, text)
            on_delta(kind, text)

        await super().show(answer, twice)


class RetryingModel(SimulatedModel):
    """A client library that retries by itself."""

    async def send(self, request: Request, on_delta: Delta) -> Report:
        report = await super().send(request, on_delta)
        return await super().send(request, on_delta) if report.status in {503, 529} else report


class TirelessModel(SimulatedModel):
    """Asks for a call in every reply."""

    def answer(self) -> Report:
        return called(("look", '{"n":"again"}'))


class DriftingRenderer:
    """Renders a message differently each time, as one with a clock in it would."""

    TAIL = chat.TAIL

    def __init__(self) -> None:
        self._count = 0

    def head(self, model: str, system: str, tools: Sequence[ToolSchema], parameters: Mapping[str, Json]) -> bytes:
        return chat.head(model, system, tools, parameters)

    def fragments(self, messages: Sequence[Message], *, newest: bool = False) -> list[bytes]:
        return chat.fragments([self.changed(message) for message in messages], newest=newest)

    def changed(self, message: Message) -> Message:
        self._count += 1
        if isinstance(message, UserMessage):
            return replace(message, text=f"{message.text} (rendering {self._count})")
        return message


class UnpairedRenderer(DriftingRenderer):
    """Loses the ids by which results belong to their calls."""

    def changed(self, message: Message) -> Message:
        return replace(message, call_id="000000000") if isinstance(message, ToolMessage) else message
