"""The stores agree on whatever is done to them, in any order."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from stoic.errors import StoreError
from stoic.ports import HeldLeaseError, Store
from stoic.records import InboxEntry, Lease, Operation, Owner, Row, Step, ThreadRecord, ViewChange
from stoic.store.memory import MemoryStore
from stoic.store.sqlite import SqliteStore

THREADS = ("a", "b")
OWNERS = ("o1", "o2")
ENTRIES = ("e1", "e2", "e3", "e4")
KINDS = ("message", "event", "result", "reply", "outcome", "attempt", "refusal_stop")
STATES = ("intended", "running", "returned", "unknown")

threads = st.sampled_from(THREADS)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
rows = st.fixed_dictionaries(
    {
        "kind": st.sampled_from((*KINDS[:6] * 3, KINDS[6])),  # a tombstone ends most of the fun: rarely
        "content": json_values,
        "view": st.none() | json_values,
        "visible": st.booleans(),
        "accepted": st.sampled_from([False, False, True]),
        "generation": st.sampled_from([1, 1, 1, 2]),
        "turn": st.integers(1, 2),
        "meta": st.dictionaries(st.text(max_size=3), json_values, max_size=1),
    }
)
changes = st.builds(
    ViewChange,
    seq=st.integers(0, 4),
    quarantine=st.sampled_from(["placeholder", "excluded", None]),
    view=st.none() | st.text(max_size=4),
)


class Stores(RuleBasedStateMachine):
    """Does everything to both stores and compares what they answer and what they hold."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.lives: dict[str, bool | None] = {}
        self.pair: list[Store] = [
            MemoryStore(is_alive=lambda owner: self.lives.get(owner.id)),
            SqliteStore(Path(self.folder.name) / "log.db", is_alive=lambda owner: self.lives.get(owner.id)),
        ]
        self.runner = asyncio.Runner()
        self.last_seq = dict.fromkeys(THREADS, 0)
        self.leases: dict[str, Lease] = {}

    def both(self, call) -> Any:
        """Call on both stores; return the common answer, or the error that both raised."""
        answers = []
        for store in self.pair:
            try:
                answers.append(self.runner.run(call(store)))
            except (StoreError, HeldLeaseError) as error:
                answers.append((type(error), str(error)))
        assert answers[0] == answers[1]
        return answers[0]

    @initialize()
    def begin(self):
        for store in self.pair:
            self.runner.run(store.open())
        for name in OWNERS:
            owner = Owner(id=name, host="h", boot_id="b", pid=1, started_at=1)
            self.both(lambda store, owner=owner: store.register(owner))
        for name in THREADS:
            self.both(lambda store, name=name: store.create_thread(ThreadRecord(id=name, meta={"n": name})))
            self.acquire(name, "o1", 0, None)

    @rule(owner=st.sampled_from(OWNERS), alive=st.sampled_from([None, True, False]))
    def live(self, owner, alive):
        self.lives[owner] = alive

    @rule(owner=st.sampled_from(OWNERS), heartbeat_at=st.integers(0, 40_000))
    def beat(self, owner, heartbeat_at):
        beating = Owner(id=owner, host="h", boot_id="b", pid=1, started_at=1, heartbeat_at=heartbeat_at)
        self.both(lambda store: store.register(beating))

    @rule(
        thread=threads,
        owner=st.sampled_from(OWNERS),
        now_ms=st.integers(0, 60_000),
        entry=st.none() | st.sampled_from(ENTRIES),
    )
    def acquire(self, thread, owner, now_ms, entry):
        enter = entry and InboxEntry(id=entry, thread=thread, kind="message", content="in", created_at=1)
        lease = self.both(lambda store: store.acquire(thread, owner, now_ms, enter=enter))
        if isinstance(lease, Lease):
            self.leases[thread] = lease

    @rule(thread=threads)
    def release(self, thread):
        self.both(lambda store: store.release(self.leases[thread]))

    @rule(thread=threads, entry=st.sampled_from(ENTRIES), content=st.sampled_from(["in", "out"]), cancel=st.booleans())
    def put(self, thread, entry, content, cancel):
        kind = "cancel" if cancel else "message"
        made = InboxEntry(id=entry, thread=thread, kind=kind, content=content, created_at=1)
        self.both(lambda store: store.put(made))

    @rule(
        thread=threads,
        drafts=st.lists(rows, max_size=3),
        off=st.sampled_from([0, 0, 0, 0, 0, 0, 1]),
        views=st.lists(changes, max_size=1),
        accept=st.sampled_from([0, 0, 0, 1, 2, 3]),
        taken=st.lists(st.sampled_from(ENTRIES), max_size=1),
        operations=st.lists(
            st.tuples(st.sampled_from(["x", "y", "z"]), st.sampled_from(STATES), st.sampled_from([0, 0, 0, 1])),
            max_size=1,
        ),
        release=st.sampled_from([False, False, False, False, True]),
    )
    def append(self, thread, drafts, off, views, accept, taken, operations, release):
        first = self.last_seq[thread] + 1 + off
        made = [
            Row(
                id=f"{thread}{seq}",
                thread=thread,
                seq=seq,
                segment="s",
                round=1,
                role="tool",
                created_at=seq,
                **draft,
            )
            for seq, draft in enumerate(drafts, first)
        ]
        entries = [
            Operation(
                id=name,
                thread=THREADS[(THREADS.index(thread) + foreign) % 2],
                turn=1,
                round=1,
                index=0,
                tool="t",
                effect="read",
                arguments_key="k",
                state=state,
            )
            for name, state, foreign in operations
        ]
        step = Step(
            rows=made,
            views=views,
            accept_upto=max(first - 1 + len(made) - accept, 0) if accept else 0,
            inbox_taken=taken,
            operations=entries,
            release=release,
        )
        answer = self.both(lambda store: store.append(self.leases[thread], step))
        if answer is None:
            self.last_seq[thread] += len(made)

    @rule(thread=threads, now_ms=st.integers(0, 60_000))
    def delete(self, thread, now_ms):
        if self.both(lambda store: store.delete_thread(thread, now_ms)) is None:
            self.both(lambda store: store.create_thread(ThreadRecord(id=thread)))
            self.last_seq[thread] = 0

    @invariant()
    def they_hold_the_same(self):
        if not self.leases:
            return
        for thread in THREADS:
            self.both(lambda store, thread=thread: store.load(thread))
            self.both(lambda store, thread=thread: store.holder(thread, 0))
        self.both(lambda store: store.operations())
        self.both(lambda store: store.threads())
        for owner in OWNERS:
            self.both(lambda store, owner=owner: store.calls(owner))

    def teardown(self):
        for store in self.pair:
            self.runner.run(store.close())
        self.runner.close()
        self.folder.cleanup()


TestStores = Stores.TestCase
TestStores.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
