"""Loops that hide: volatile details, spelled differently, hopping, varied arguments, resets that are none."""

import pytest
from tests.core.loops.test_false_alarms import many
from tests.core.loops.traces import entry, run


@pytest.mark.parametrize(
    "result",
    [
        "1 failed in {n}.12s",
        "3 passed, 1 warning in {n}.5s",
        "FAILED (failures=1)\nRan 12 tests in 0.{n:03}s",
        "Finished dev target(s) in {n}s",
        "Time: {n} s, estimated 60 s",
        "real\t0m{n}.0s\nuser\t0m0.{n:02}s",
        "ok  \texample.com/pkg\t0.{n:03}s",
        "--- FAIL: TestA (0.{n:02}s)",
        "duration_ms: {n}",
        "took {n} ms",
        "still there after: elapsed {n}m {n}s",
        "daemon up, pid {n}",
        "process id: {n}",
        "error, trace-id={n:016x}",
        "failed (Request ID: req_{n})",
        "cf-ray: {n:x}-FRA",
        "checked at 2026-05-01T10:00:{n:02}Z: nothing",
        "started: 17700000{n:02}",
        "csrf_token={n:x}; nothing",
        "<repr object at 0x7f{n:06x}>",
        "/tmp/tmp{n:06}/out: missing",
        "\x1b[{n}mred",
        '<untrusted nonce="{n:08x}">x</untrusted nonce="{n:08x}">',
        {"ok": False, "requestId": "{n}"},
        {"ok": False, "meta": {"elapsed_seconds": "{n}", "traceId": "{n}"}},
        '{{"status": "idle", "durationMs": {n}, "timestamp": {n}}}',
        "result truncated, the rest was saved to /w/spill/{n}.txt",
        "Full output: /w/spill/call-{n}.log",
    ],
)
@pytest.mark.parametrize("error", [True, False])
def test_labelled_noise_hides_no_loop(result, error):
    def shown(value, n):
        if isinstance(value, dict):
            return {key: shown(member, n) for key, member in value.items()}
        return value.format(n=n) if isinstance(value, str) else value

    calls = many(31, lambda n: [entry("bash", {"command": "./check"}, shown(result, n), error=error)])
    assert run(*calls) == ("block", "global_breaker", 31)


@pytest.mark.parametrize(
    ("tool", "result"),
    [
        ("create_ticket", "Created ticket #{n}"),
        (
            "create_issue",
            '{{"number": {n}, "html_url": "https://h.example/r/issues/{n}", "createdAt": "2026-05-0{n}"}}',
        ),
        ("add_comment", "Comment {n} added"),
        ("send_email", "sent (message id: <{n}.a@h>)"),
        ("post_message", {"ok": True, "ts": "1770000{n}.1", "messageId": "m{n}"}),
        ("issue_create", "Created PROJ-{n}"),
        ("upload_file", "https://h.example/f/a{n}b"),
        ("insert_row", "row {n} inserted, id=7c9e6679-7425-40de-944b-e07fc1f9{n:04}"),
    ],
)
def test_a_duplicate_is_no_news_because_of_its_new_id(tool, result):
    def shown(n):
        if isinstance(result, dict):
            return {key: value.format(n=n) if isinstance(value, str) else value for key, value in result.items()}
        return result.format(n=n)

    assert run(*many(31, lambda n: [entry(tool, {"title": "x"}, shown(n + 1))])) == ("block", "global_breaker", 31)


@pytest.mark.parametrize(
    "spellings",
    [
        [{"a": 1, "b": [1, 2]}, {"b": [1.0, 2.0], "a": 1.0}, {"a": 1, "b": [1, 2], "c": None}],
        [{"path": "/w/a"}, {"path": "/w//a/"}, {"path": "/w/./a"}],
        [{"id": 1, "thought": "once more"}, {"id": 1, "explanation": "why"}, {"id": 1}],
    ],
)
def test_spelling_hides_no_loop(spellings):
    calls = many(31, lambda n: [entry("inspect", spellings[n % 3], "same")])
    assert run(*calls) == ("block", "global_breaker", 31)


@pytest.mark.parametrize(
    "spellings",
    [
        [{"command": "ls  -la   src"}, {"command": " ls -la src\n"}, {"cmd_unused": None, "command": "ls -la src"}],
        [{"command": "ls", "description": "list"}, {"command": "ls", "description": "look again"}, {"command": "ls"}],
        [{"command": ["bash", "-lc", "ls  a"]}, {"command": ["bash", "-lc", "ls a"]}, {"command": ["ls", "a"]}],
    ],
)
def test_spelling_of_a_command_hides_no_loop(spellings):
    calls = many(31, lambda n: [entry("shell", spellings[n % 3], "same")])
    assert run(*calls) == ("block", "global_breaker", 31)


def test_blanks_inside_quotes_make_another_command():
    calls = many(60, lambda n: [entry("bash", {"command": f"grep '{' ' * n}x' f"}, f"{n % 2}")])
    assert run(*calls)[0] != "block"


@pytest.mark.parametrize("period", [2, 3, 5, 8])
def test_hopping_among_known_calls_is_blocked_after_thirty_without_news(period):
    calls = many(period + 31, lambda n: [entry("read_file", {"path": f"f{n % period}"}, f"t{n % period}")])
    assert run(*calls) == ("block", "global_breaker", period + 31)


def test_notes_between_frozen_calls_are_no_work():
    calls = many(31, lambda n: [entry("read_file", {"path": "a"}, "same"), entry("note_add", {"text": f"n{n}"}, "ok")])
    assert run(*calls)[:2] == ("block", "global_breaker")


def test_toggling_the_same_two_edits_is_no_work():
    def cycle(n):
        change = {"path": "a", "old": "xy"[n % 2], "new": "yx"[n % 2]}
        return [entry("edit_file", change, "ok"), entry("bash", {"command": "pytest"}, "1 failed", error=True)]

    assert run(*many(40, cycle))[:2] == ("block", "global_breaker")


def test_rejected_edits_excuse_no_rerun():
    def cycle(n):
        rejected = entry("edit_file", {"path": "a", "old": f"{n}", "new": "x"}, "not found", error=True)
        return [rejected, entry("bash", {"command": "pytest"}, "1 failed", error=True)]

    assert run(*many(40, cycle)) == ("block", "global_breaker", 62)


def test_other_looking_commands_excuse_no_rerun():
    def cycle(n):
        looking = entry("bash", {"command": f"cat src/m{n}.rs | head -50 2>&1"}, f"mod {n}")
        return [entry("bash", {"command": "cargo test"}, "2 failed"), looking]

    assert run(*many(40, cycle)) == ("block", "global_breaker", 61)


@pytest.mark.parametrize("limit", ["limit", "offset", "start_line", "max_results", "page_token", "view_range"])
def test_varied_paging_with_one_answer_is_blocked(limit):
    def value(n):
        return {"page_token": f"t{n}", "view_range": [n, n + 10]}.get(limit, n)

    calls = many(31, lambda n: [entry("read_file", {"path": "a", limit: value(n)}, "")])
    assert run(*calls) == ("block", "global_breaker", 31)


def test_varied_patience_of_a_frozen_poll_is_blocked():
    calls = many(21, lambda n: [entry("process", {"action": "poll", "id": 1, "timeout": n}, "(no output)")])
    assert run(*calls) == ("block", "poll_no_progress", 21)


def test_waiting_between_frozen_polls_excuses_none():
    calls = many(21, lambda n: [entry("job_status", {}, "running"), entry("wait", {"seconds": 5}, "ok")])
    assert run(*calls) == ("block", "poll_no_progress", 41)


@pytest.mark.parametrize("event", ["nudge", "new_run"])
def test_our_own_events_reset_nothing(event):
    calls = many(31, lambda n: [entry("read_file", {"path": "a"}, "same"), {"event": event}])
    assert run(*calls) == ("block", "global_breaker", 61)


def test_compaction_excuses_one_rerun_only():
    calls = [{"event": "compaction"}, *[entry("read_file", {"path": "a"}, "same")] * 10] * 5
    assert run(*calls)[:2] == ("block", "global_breaker")


@pytest.mark.parametrize(
    ("tool", "vary", "error"),
    [
        ("exec", lambda n: {"command": f"ssh -p {n} -o A=b me@host ls"}, "Permission denied (publickey)."),
        ("exec", lambda n: {"command": f"sudo curl -H 'A: {n}' https://h.example/p{n}"}, "403 Forbidden"),
        ("exec", lambda n: {"command": f"FOO={n} scp -i key{n} host:/a ."}, "Permission denied"),
        ("web_fetch", lambda n: {"url": f"https://h.example/{n}"}, "HTTP 401 Unauthorized"),
        ("post_message", lambda n: {"channel": "c", "text": f"t{n}"}, "not_allowed: access denied"),
        ("generate_image", lambda n: {"prompt": f"p{n}"}, "monthly quota exceeded"),
        ("get_document", lambda n: {"id": n}, "invalid API key"),
        ("sql_query", lambda n: {"sql": f"select {n}"}, {"error": "permission denied"}),
    ],
)
def test_one_denial_for_varied_arguments_is_blocked_at_its_target(tool, vary, error):
    calls = many(21, lambda n: [entry(tool, vary(n), error, error=True)])
    assert run(*calls) == ("block", "same_error_varied_args", 21)


def test_denial_is_warned_of_at_ten():
    calls = many(12, lambda n: [entry("post_message", {"channel": "c", "text": f"t{n}"}, "access denied", error=True)])
    assert run(*calls) == ("warn", "same_error_varied_args", 10)


@pytest.mark.parametrize(
    "form", ["Attempt {n}: run it", "{n}. Run it!", "({n}) run it", "RUN   it.", "Try #{n} - run it"]
)
def test_numbering_and_spelling_hide_no_text_loop(form):
    texts = [{"event": "assistant", "text": form.format(n=n)} for n in range(1, 11)]
    assert run(*texts) == ("block", "text_repeat", 10)
    assert run(*texts[:9]) == ("warn", "text_repeat", 3)


def test_alternating_texts_are_a_text_loop():
    texts = [{"event": "assistant", "text": "ab"[n % 2]} for n in range(20)]
    assert run(*texts) == ("block", "text_repeat", 19)


def test_texts_between_stale_calls_are_a_text_loop():
    calls = many(12, lambda n: [{"event": "assistant", "text": "Again."}, entry("read_file", {"path": "a"}, "same")])
    assert run(*calls)[1] == "text_repeat"


def test_unknown_tools_under_many_names_are_blocked():
    calls = many(11, lambda n: [entry(f"tool_{n}", {"n": n}, "?", error=True, unknown_tool=True)])
    assert run(*calls) == ("block", "unknown_tool", 11)


def test_a_loop_key_sees_through_reworded_arguments():
    def plan(n):
        return [entry("set_goals", {"plan": [{"step": f"s{n}", "status": "open"}, {"step": f"t{n}"}]}, "stored")]

    tools = {"set_goals": {"loop_key": ["plan.*.status", "plan.1.missing"]}}
    assert run(*many(31, plan), tools=tools) == ("block", "global_breaker", 31)
    assert run(*many(31, plan))[0] == "none"
    assert run(*many(31, plan), tools={"set_goals": {"loop_key": ["nothing.there"]}})[0] == "none"
