"""`stoic notices` as a real process, and what a turn tells at its end."""

import asyncio
import json
import time

import pytest
from msgspec.structs import replace
from tests.channels.hooks import Hooks

from stoic.core import notice
from stoic.records import Notice, StoredNotice
from stoic.store.sqlite import SqliteStore
from stoic.testing import ScriptedProvider

SAID = ["text:fine"]
GATE = notice.gate_violation("t", 1)
LOOP = notice.stuck_loop("t", 2, "repeat")


def put(bench, *told: Notice, age_ms: int = 0) -> None:
    """Store notices as turns of other processes would."""

    async def run():
        store = SqliteStore(bench.database)
        await store.open()
        for each in told:
            created_at = time.time_ns() // 1_000_000 - age_ms
            assert await store.put_notice(replace(each, id=f"id-{each.key}", created_at=created_at))
        await store.close()

    asyncio.run(run())


def stored(bench) -> dict[str, StoredNotice]:
    async def run():
        store = SqliteStore(bench.database)
        await store.open()
        found = await store.notices()
        await store.close()
        return {each.notice.key: each for each in found}

    return asyncio.run(run())


@pytest.fixture
def configure(bench):
    """Return a function that writes a configuration with these webhooks and returns the variables that go with it."""

    def write(*hooks, more=""):
        channel = '[[notices.channels]]\ntype = "webhook"\nurl = "{}"\nsecret_variable = "HOOK_SECRET"\n'
        path = bench.folder / "config.toml"
        path.write_text(f"[notices]\n{more}\n" + "".join(channel.format(each.url) for each in hooks))
        return {"STOIC_CONFIG": str(path), "HOOK_SECRET": "s"}

    return write


def listed(bench, *arguments, **environment):
    done = bench.stoic("notices", "--json", *arguments, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


# ---- at the end of a turn -----------------------------------------------------------------------


def test_a_turn_tells_its_threads_notices_once_with_what_can_be_done(bench):
    put(bench, GATE, replace(LOOP, thread="u", key="other"))
    with ScriptedProvider([SAID, SAID]) as provider:
        first = bench.stoic(*bench.working(provider, "hello", "--thread", "t"))
        second = bench.stoic(*bench.working(provider, "hello", "--thread", "t"))
    lines = first.stderr.splitlines()
    at = lines.index(f"! critical notice: {GATE.text}")
    assert lines[at + 1 : at + 3] == ["  stoic show t", "  stoic fresh t"]
    assert (first.stdout, first.returncode) == ("fine\n", 0)
    assert "notice" not in second.stderr
    assert {key: each.state for key, each in stored(bench).items()} == {GATE.key: "sent", "other": "due"}


def test_a_program_gets_an_event_before_the_last_one(bench):
    put(bench, LOOP)
    with ScriptedProvider([SAID]) as provider:
        done = bench.stoic(*bench.working(provider, "hello", "--thread", "t", "--json"))
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["type"] for each in events[-2:]] == ["notice", "outcome"]
    assert events[-2] == {
        "type": "notice",
        "key": "stuck_loop:t:2",
        "thread": "t",
        "kind": "stuck_loop",
        "priority": "normal",
        "text": LOOP.text,
        "actions": LOOP.actions,
    }


def test_a_terminal_shows_notices_too_and_text_that_streamed_stays(bench):
    put(bench, LOOP)
    with (
        ScriptedProvider([SAID]) as provider,
        bench.terminal(*bench.working(provider, "hello", "--thread", "t")) as terminal,
    ):
        assert terminal.end() == 0
        shown = " ".join(terminal.display.text().split())
    assert "fine ! normal notice: The agent repeats itself without news (rule repeat)" in shown
    assert "stoic resume t --allow 10" in shown


def test_a_sitting_tells_notices_after_each_turn(bench):
    put(bench, LOOP)
    with (
        ScriptedProvider([SAID]) as provider,
        bench.terminal(*bench.talking(provider, "--thread", "t"), columns=160) as terminal,
    ):
        terminal.wait_for_prompt(1)
        terminal.type("hello\r")
        terminal.wait_for_prompt(2)
        assert "stoic resume t --allow 10" in terminal.display.text()
        terminal.type("/quit\r")
        assert terminal.end() == 0


def test_a_turn_takes_everything_that_is_due_to_the_webhooks(bench, configure):
    put(bench, GATE, replace(LOOP, thread="u", key="other"))
    with Hooks(204) as hooks, ScriptedProvider([SAID]) as provider:
        done = bench.stoic(*bench.working(provider, "hello", "--thread", "t"), **configure(hooks))
    assert (done.stdout, done.returncode) == ("fine\n", 0)
    assert hooks.keys() == [GATE.key, "other"]
    assert {each.state for each in stored(bench).values()} == {"sent"}


def test_a_turn_ends_as_it_does_though_a_webhook_fails(bench, configure):
    put(bench, GATE)
    with Hooks(500) as hooks, ScriptedProvider([SAID]) as provider:
        done = bench.stoic(*bench.working(provider, "hello", "--thread", "t"), **configure(hooks))
    assert (done.stdout, done.returncode) == ("fine\n", 0)
    assert "! critical notice" in done.stderr
    assert (stored(bench)[GATE.key].state, stored(bench)[GATE.key].delivered) == ("due", ["terminal"])


def test_a_channel_that_cannot_be_is_said_before_anything_is_sent(bench, configure):
    with Hooks(204) as hooks, ScriptedProvider([SAID]) as provider:
        environment = configure(hooks) | {"HOOK_SECRET": ""}
        done = bench.stoic(*bench.working(provider, "hello"), **environment)
    assert (done.returncode, done.stdout, provider.requests) == (2, "", [])
    assert done.stderr.endswith(
        "stoic: notices.channels[0]: the environment variable HOOK_SECRET is not set; set it or name another\n"
    )


# ---- the list -----------------------------------------------------------------------------------


def test_without_a_log_there_is_nothing_to_show_and_none_is_made(bench):
    done = bench.stoic("notices")
    assert (done.returncode, done.stdout) == (0, "")
    assert "there is no log" in done.stderr
    assert not bench.database.exists()


def test_no_notice_yet(bench):
    put(bench)
    done = bench.stoic("notices")
    assert (done.returncode, done.stdout, done.stderr) == (0, "no notices yet\n", "")


def test_notices_are_listed_the_newest_first_with_age_thread_text_and_commands(bench):
    put(bench, LOOP, age_ms=2 * 60 * 60 * 1000)
    put(bench, GATE, age_ms=3 * 60 * 1000)
    done = bench.stoic("notices")
    assert done.stdout.splitlines() == [
        "critical · 3 min ago · thread t · no channel: shown here only",
        f"  {GATE.text}",
        "  stoic show t",
        "  stoic fresh t",
        "normal · 2 h ago · thread t · no channel: shown here only",
        f"  {LOOP.text}",
        "  stoic resume t --allow 10",
        "  stoic show t",
        "  stoic switch t MODEL",
    ]
    assert [(each["key"], each["state"], each["delivered"], each["error"]) for each in listed(bench)] == [
        (GATE.key, "due", [], None),
        (LOOP.key, "due", [], None),
    ]


def test_the_newest_twenty_and_what_is_not_sent_are_shown_and_all_on_demand(bench, configure):
    put(bench, GATE)
    with Hooks(500) as hooks:
        assert bench.stoic("notices", "send", **configure(hooks)).returncode == 3
    many = [replace(LOOP, key=f"k{number}") for number in range(25)]
    put(bench, *many)
    with Hooks(204) as hooks:
        assert bench.stoic("notices", "send", **configure(hooks, more="budget_per_day = 23")).returncode == 0
    shown = [each["key"] for each in listed(bench)]
    assert len(shown) == 21
    assert (shown[0][:7], shown[-1]) == ("digest:", GATE.key)
    assert len(listed(bench, "--all")) == 27
    everything = bench.stoic("notices", "--all", **configure(hooks)).stdout
    assert everything.count("in a digest") == 2
    assert everything.count("sent by webhook 127.0.0.1") == 24
    assert everything.count("to be sent, tried again in") == 1


# ---- send and test ------------------------------------------------------------------------------


def test_send_delivers_what_is_due_and_the_surplus_as_a_digest(bench, configure):
    put(bench, LOOP, replace(LOOP, key="second"))
    with Hooks(204) as hooks:
        environment = configure(hooks, more="budget_per_day = 1")
        first = bench.stoic("notices", "send", **environment)
        put(bench, replace(LOOP, key="third"))
        second = bench.stoic("notices", "send", **environment)
    assert (first.returncode, first.stdout, first.stderr) == (0, "2 notices sent\n", "")
    assert second.stdout == (
        "0 notices sent\n1 notice left for tomorrow: today's budget is used and its digest is out\n"
    )
    assert [key.partition(":")[0] for key in hooks.keys()]  # noqa: SIM118 - no dict == ["stuck_loop", "digest"]


def test_send_says_what_was_not_sent_and_why(bench, configure):
    put(bench, GATE)
    with Hooks(404) as hooks:
        done = bench.stoic("notices", "send", **configure(hooks))
    assert (done.returncode, done.stdout) == (3, "0 notices sent\n")
    assert done.stderr.startswith("stoic: gate_violation:t:1 was not sent: webhook 127.0.0.1 ")
    assert done.stderr.endswith(": HTTP 404\n")
    assert "to be sent, tried again in" in bench.stoic("notices", **configure(hooks)).stdout


def test_what_was_given_up_stands_out_in_the_list(bench, configure):
    put(bench, GATE)
    gone = replace(stored(bench)[GATE.key], state="failed", attempts=4, error="webhook x: HTTP 500", settled_at=1)

    async def give_up():
        store = SqliteStore(bench.database)
        await store.open()
        assert await store.settle_notice(stored_notice, gone)
        await store.close()

    stored_notice = stored(bench)[GATE.key]
    asyncio.run(give_up())
    assert "NOT SENT after 4 attempts: webhook x: HTTP 500" in bench.stoic("notices").stdout
    with Hooks(204) as hooks:
        assert bench.stoic("notices", "send", **configure(hooks)).stdout == "1 notice sent\n"


def test_a_test_goes_to_every_channel_and_says_how_it_went(bench, configure):
    with Hooks(204) as sound, Hooks(401) as wrong:
        done = bench.stoic("notices", "test", **configure(sound, wrong))
        assert bench.stoic("notices", "test", **configure(sound)).returncode == 0
    assert done.returncode == 3
    assert done.stdout.startswith("webhook 127.0.0.1 ")
    assert done.stdout.endswith(": delivered\n")
    assert done.stderr.endswith(": HTTP 401\n")
    assert sound.posted[0].value["text"] == "This is a test: the notices of stoic arrive here."
    assert not bench.database.exists()


@pytest.mark.parametrize("command", ["send", "test"])
def test_without_a_channel_there_is_nowhere_to_send_to(bench, command):
    put(bench, GATE)
    done = bench.stoic("notices", command)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "no channel is configured; add [[notices.channels]] to the configuration file" in done.stderr


def test_the_configuration_shows_the_channels_without_their_urls(bench, configure):
    with Hooks(204) as hooks:
        done = bench.stoic("config", **configure(hooks))
    lines = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()[1:] if line}
    assert (lines["notices_per_day"], lines["notice_channels"]) == ("20", "webhook")
    assert hooks.host not in done.stdout
