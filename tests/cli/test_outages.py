"""A nightly prompt whose provider is down, under real `stoic up` processes: seen as waiting, kept by a kill, sent again."""

import json

from tests.cli.background import MODEL, Up, begin_nightly, inside, reach

from stoic.testing import ScriptedProvider

DOWN = {
    "status": 503,
    "headers": {"retry-after": "90"},
    "body": {"error": {"message": "busy", "type": "server_error"}},
}
WAITS = r"waits for openai-chat to answer again; the next try is at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"


def test_a_prompt_of_an_outage_waits_in_sight_outlives_a_kill_and_is_sent_again(bench):
    with ScriptedProvider([["text:ready"], DOWN, ["text:the report"]]) as provider:
        reach(bench, provider)
        begin_nightly(bench, "nightly")
        with Up(bench) as up:
            up.wait_for(rf"^nightly · turn 2 is parked: it {WAITS}$")
            up.process.kill()
        assert "2 turns · parked (time, until 20" in inside(bench, "threads").stdout
        assert "last turn parked (time, until 20" in inside(bench, "schedule", "list").stdout
        assert " parked: it waits for openai-chat to answer again" in inside(bench, "show", "nightly").stdout
        (schedule,) = map(json.loads, inside(bench, "schedule", "list", "--json").stdout.splitlines())
        assert schedule["last_fired_at"] < schedule["until_ms"] < schedule["next_due_at"]
        with Up(bench) as up:
            up.wait_for("stoic up: process")
            assert len(provider.requests) == 2
            assert inside(bench, "health", "retry", MODEL).returncode == 0
            up.wait_for(r"^nightly · turn 2 completed · 1 round$")
            assert up.drain() == 0
        assert len(provider.requests) == 3
        assert provider.requests[1].body == provider.requests[2].body
        assert not [line for line in up.lines if "notice" in line]


def test_a_person_who_writes_meanwhile_is_not_kept_waiting(bench):
    with ScriptedProvider([["text:ready"], DOWN, ["text:both"]]) as provider:
        reach(bench, provider)
        begin_nightly(bench, "nightly")
        with Up(bench) as up:
            up.wait_for(r"^nightly · turn 2 is parked")
            assert up.drain() == 0
        run = ["run", "--thread", "nightly", "--workspace", str(bench.workspace), "--model", MODEL]
        at_once = inside(bench, *run, "Are you there?")
        assert (at_once.returncode, len(provider.requests)) == (3, 2), at_once.stderr
        assert "is closed after server_error until" in at_once.stderr
        assert "3 turns · failed (server_error)" in inside(bench, "threads").stdout
        assert inside(bench, "health", "retry", MODEL).returncode == 0
        done = inside(bench, *run, "And now?")
        assert (done.returncode, done.stdout) == (0, "both\n")
        assert all(provider.requests[-1].holds(said) for said in ("Write it.", "Are you there?", "And now?"))
