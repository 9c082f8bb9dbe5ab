"""`stoic show` and `--reveal`: bodies that no model may read are shown to who asks for them, and the log keeps who looked."""

import asyncio
import json
from typing import Any

import pytest
from tests.cli.test_looking import row

from stoic.cli.timeline import timeline
from stoic.cli.wording import describe
from stoic.core.notes import WITHHELD_RESULT
from stoic.core.quarantine.texts import without_images
from stoic.events import EventTaken, Quarantined, Refused
from stoic.records import Lease, Owner, Row, Step, ThreadRecord, ViewChange
from stoic.runtime.reveals import record_reveal
from stoic.store.sqlite import SqliteStore
from stoic.testing import CountingIds, FakeClock, ScriptedProvider
from stoic.wiring import Runtime

CANARY = "canary-7731"
OWN_WORDS = "my own words"
CALL = {"type": "call", "name": "read_file", "arguments": '{"path":"x"}'}
IMAGE = {"type": "image", "media_type": "image/png", "data_base64": "Y2FuYXJ5"}
ROWS = [
    row(1, role="user", kind="message", content={"text": OWN_WORDS}),
    row(2, role="assistant", kind="reply", content={"parts": [CALL]}),
    row(
        3, role="tool", kind="result", content={"call": 0, "operation": "t.1.1.0", "tool": "read_file", "text": CANARY}
    ),
    row(
        4, role="user", kind="event", content={"kind": "mail", "payload": {}, "text": "[event mail]", "images": [IMAGE]}
    ),
]
VIEWS = [
    ViewChange(seq=1, quarantine="excluded"),
    ViewChange(seq=3, quarantine="placeholder", view={"text": WITHHELD_RESULT}),
    ViewChange(seq=4, view=without_images(ROWS[3].content, "p", None)),
]


async def store_thread(database: Any, *, refused: bool, keep: bool = False) -> tuple[SqliteStore, Lease]:
    """Store a thread whose message, tool result and image are withheld; `keep`: its lease is not given back."""
    store = SqliteStore(database)
    await store.open()
    await store.register(Owner(id="o", host="h", boot_id="b", pid=1, started_at=1, heartbeat_at=2**60))
    await store.create_thread(ThreadRecord(id="t", created_at=1))
    lease = await store.acquire("t", "o", 1)
    await store.append(lease, Step(rows=ROWS))
    ending = {"outcome": "stopped", "refused": True} if refused else {"outcome": "failed"}
    outcome = row(5, role="system", kind="outcome", content=ending, visible=False)
    await store.append(lease, Step(rows=[outcome], views=VIEWS, release=not keep))
    return store, lease


def prepare(database: Any, *, refused: bool = True) -> None:
    async def write() -> None:
        store, _ = await store_thread(database, refused=refused)
        await store.close()

    asyncio.run(write())


def reveals(database: Any) -> list[Row]:
    async def read() -> list[Row]:
        store = SqliteStore(database)
        await store.open()
        rows = (await store.load("t")).rows
        await store.close()
        return [each for each in rows if each.kind == "reveal"]

    return asyncio.run(read())


def test_show_hides_what_no_model_may_read_and_keeps_no_record_of_looking(bench):
    prepare(bench.database)
    human, program = bench.stoic("show", "t"), bench.stoic("show", "t", "--json")
    for told in (human.stdout, program.stdout):
        assert not any(text in told for text in (CANARY, OWN_WORDS, IMAGE["data_base64"]))
    assert human.stdout.count("[hidden: quarantined]") == 2
    assert "  message, withdrawn (no model sees it any more): [hidden: quarantined]\n" in human.stdout
    assert "delivered, NOT readable" in human.stdout
    assert human.stdout.endswith(
        "  2 bodies are hidden; `stoic show t --reveal` shows them, and the log keeps that somebody looked\n"
    )
    shown = json.loads(program.stdout)
    assert shown["calls"][0]["readable"] is False
    assert shown["rows"][2]["view"] == {"text": WITHHELD_RESULT}
    assert not reveals(bench.database)


def test_a_persons_words_that_only_a_failure_took_out_of_the_view_stay_shown(bench):
    prepare(bench.database, refused=False)
    shown = bench.stoic("show", "t").stdout
    assert f"  message, withdrawn (no model sees it any more):\n      {OWN_WORDS}\n" in shown
    assert shown.count("[hidden: quarantined]") == 1


def test_an_export_holds_nothing_that_no_model_may_read(bench):
    prepare(bench.database)
    for form in ("md", "json", "jsonl"):
        exported = bench.stoic("threads", "export", "t", "--format", form).stdout
        assert not any(text in exported for text in (CANARY, OWN_WORDS, IMAGE["data_base64"]))
    assert "### An event mail\n\n[event mail]\n" in bench.stoic("threads", "export", "t", "--format", "md").stdout


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_reveal_shows_the_bodies_and_is_recorded(form: list[str], bench):
    prepare(bench.database)
    shown = bench.stoic("show", "t", "--reveal", *form)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert all(text in shown.stdout for text in (CANARY, OWN_WORDS))
    assert (IMAGE["data_base64"] in shown.stdout) is bool(form)
    (kept,) = reveals(bench.database)
    assert (kept.content, kept.visible, kept.seq) == ({"rows": [1, 3, 4]}, False, 6)
    again = bench.stoic("show", "t").stdout
    assert "  a person looked at what is withheld from models (rows 1, 3, 4)\n" in again
    assert CANARY not in again


def test_a_look_while_a_turn_runs_waits_in_the_inbox_and_the_next_turn_takes_it(bench):
    async def look() -> None:
        store, lease = await store_thread(bench.database, refused=False, keep=True)
        async with Runtime(str(bench.database), store=store) as runtime:
            await record_reveal(runtime.outside, runtime.owner.id, "t", [3])
            assert [each.kind for each in await store.inbox("t")] == ["reveal"]
            await store.release(lease)

    asyncio.run(look())
    waiting = "  waiting for the next turn: a person looked at what is withheld from models (rows 3)\n"
    assert waiting in bench.stoic("show", "t").stdout
    with ScriptedProvider([["text:ok"]]) as provider:
        done = bench.stoic(*bench.working(provider, "go on", "--thread", "t"))
        assert done.returncode == 0, done.stderr
        assert not provider.requests[0].holds(CANARY)
    assert [each.content for each in reveals(bench.database)] == [{"rows": [3]}]
    assert waiting not in bench.stoic("show", "t").stdout


def test_a_look_behind_a_tombstone_is_recorded(tmp_path):
    async def look() -> list[str]:
        store, lease = await store_thread(tmp_path / "log.db", refused=True, keep=True)
        stone = row(6, role="system", kind="refusal_stop", content={}, visible=False)
        await store.append(lease, Step(rows=[stone], release=True))
        async with Runtime(store=store, clock=FakeClock(), ids=CountingIds()) as runtime:
            await record_reveal(runtime.outside, runtime.owner.id, "t", [3])
            return [each.kind for each in (await store.load("t")).rows]

    assert asyncio.run(look())[-2:] == ["refusal_stop", "reveal"]


def test_nothing_is_recorded_where_nothing_is_hidden(bench):
    with ScriptedProvider([["text:ok"]]) as provider:
        bench.stoic(*bench.working(provider, "go", "--thread", "t"))
    assert bench.stoic("show", "t", "--reveal").stdout == bench.stoic("show", "t").stdout
    assert not reveals(bench.database)


def test_the_timeline_tells_events_refusals_and_what_was_withheld():
    by = {"provider": "p", "model": "m", "category": "cyber"}
    rule = "refusal 1 of 4: what no person sends waits 15 min; a person's message is always sent"
    cards = {"refusals": 1, "rule": rule}
    two = {"from": {"provider": "p", "model": "m"}, "to": {"provider": "q", "model": "n"}}
    rows = [
        row(1, role="user", kind="wake", content={}, visible=False),
        row(2, role="user", kind="event", content={"kind": "mail", "source_channel": "inbox-1", "text": CANARY}, quarantine="excluded"),
        row(3, role="system", kind="quarantine", content={**by, "step": 1, "rows": [2]}),
        row(4, role="user", kind="event", content={"kind": "mail", "text": "mail 7"}, meta={"replaces": 2}),
        row(5, role="system", kind="quarantine", content={**by, "category": None, "step": 0, "rows": [2, 3]}),
        row(6, role="system", kind="refusal", content={**by, **cards, "skipped": False}),
        row(7, role="system", kind="fallback", content={**two, **cards, "class": "refusal", "skipped": True}),
        row(8, role="system", kind="refusal", content={**by, **cards, "skipped": True}),
        row(9, role="system", kind="refusal_stop", content={**by, "round": 3}),
    ]  # fmt: skip
    lines = [line.text for line in timeline(rows, [])]
    assert lines[2:] == [
        "  woken without anything new",
        "  event mail from inbox-1, withdrawn (no model sees it any more): [hidden: quarantined]",
        "    ⊘ withheld from the model (step 1 of 3): row 2 · p:m refused (category cyber)",
        "  event mail, in place of row 2:",
        "      mail 7",
        "    ⊘ withheld from the model (before it was sent again): rows 2, 3 · p:m refused",
        f"    ⊘ p:m refused (category cyber): {rule}",
        f"    ⇄ q:n answers the rest of this turn: p:m is closed after refusal: {rule}",
        f"    ⊘ p:m refused (category cyber), not asked again: {rule}",
        "    ⊘ p:m refused (category cyber) in round 3: this task does not run again",
    ]
    assert "      canary-7731" in [line.text for line in timeline(rows, [], reveal=True)]


def test_a_live_view_names_events_refusals_and_what_was_withheld_like_the_log():
    rule = "refusal 1 of 4: what no person sends waits 15 min; a person's message is always sent"
    by: dict[str, Any] = {"round": 1, "provider": "p", "model": "m"}
    told = [
        EventTaken(kind="mail", row="r1"),
        Quarantined(**by, step=1, rows=[2], category="cyber"),
        Refused(**by, refusals=1, skipped=False, rule=rule),
    ]
    assert [line.text for line in map(describe, told) if line is not None] == [
        "an event of kind mail joins the turn",
        "⊘ withheld from the model (step 1 of 3): row 2 · p:m refused (category cyber)",
        f"⊘ p:m refused: {rule}",
    ]
