"""Work that looks like a loop and is none; a false block is the worst error."""

import pytest
from tests.core.loops.traces import entry, run


def many(count, make):
    return [one for number in range(count) for one in make(number)]


def test_reading_pages_with_different_content_is_no_loop():
    assert run(*many(60, lambda n: [entry("list_users", {"page": n, "limit": 50}, f"users {n}")]))[0] == "none"


def test_deleting_pages_with_one_answer_is_no_loop():
    assert run(*many(60, lambda n: [entry("delete_rows", {"page": n}, "deleted 100 rows")]))[0] == "none"


def test_deleting_with_equal_arguments_while_the_count_falls_is_not_blocked():
    calls = many(60, lambda n: [entry("delete_rows", {"batch": 100}, f"deleted {100 - n} rows")])
    assert run(*calls)[0] != "block"


def test_processing_the_next_item_with_a_new_id_each_time_is_not_blocked():
    assert run(*many(60, lambda n: [entry("process_next", {}, {"ok": True, "id": n})]))[0] != "block"


@pytest.mark.parametrize("tool", ["get_calendar", "read_metrics", "list_bookings"])
def test_equal_answers_for_different_days_are_not_blocked(tool):
    days = many(60, lambda n: [entry(tool, {"start": f"2026-05-{n:02}", "end": f"2026-06-{n:02}"}, "[]")])
    moments = many(60, lambda n: [entry(tool, {"from": 1_770_000_000 + 86_400 * n}, "[]")])
    assert run(*days)[0] != "block"
    assert run(*moments)[0] != "block"


def test_different_searches_without_a_hit_are_at_most_a_hint():
    assert run(*many(80, lambda n: [entry("search", {"query": f"name {n}"}, "no results")]))[0] == "warn"


def test_silent_batch_of_different_commands_is_no_loop():
    assert run(*many(40, lambda n: [entry("bash", {"command": f"./convert in{n}.png out{n}.webp"}, "")]))[0] == "none"
    assert run(*many(40, lambda n: [entry("bash", {"command": f"mv a{n} b/"}, "")]))[0] == "none"


@pytest.mark.parametrize(
    "work",
    [
        lambda n: entry("edit_file", {"path": "a.py", "old": f"a{n}", "new": f"b{n}"}, "replaced 1 occurrence"),
        lambda n: entry("bash", {"command": f"sed -i s/{n}/x/ a.py"}, ""),
        lambda n: entry("bash", {"command": f"python - <<'E'\nfix({n})\nE"}, f"fixed {n}"),
        lambda n: entry("apply_patch", {"patch": f"@@ {n}"}, "Done!"),
        lambda n: entry("mcp__ide__replace_text", {"n": n}, "ok"),
        lambda n: entry("frobnicate", {"n": n}, "ok"),
    ],
)
@pytest.mark.parametrize(
    "check",
    [
        entry("bash", {"command": "pytest -q"}, "1 failed in 0.10s", error=True),
        entry("bash", {"command": "git status"}, "modified: 1 file"),
        entry("git_status", {}, "modified: 1 file"),
        entry("deploy", {"target": "staging"}, "deployed"),
        entry("run_tests", {}, "3 failed", error=True),
        entry("read_file", {"path": "a.py"}, "same"),
    ],
)
def test_the_same_check_after_each_real_change_is_never_blocked(work, check):
    assert run(*many(50, lambda n: [work(n), check]))[0] != "block"


def test_changing_checks_after_real_changes_are_not_even_a_hint():
    cycle = many(
        40,
        lambda n: [
            entry("edit_file", {"path": "a.py", "old": f"a{n}", "new": "b"}, "ok"),
            entry("bash", {"command": "pytest -q"}, f"{50 - n} failed", error=True),
        ],
    )
    assert run(*cycle)[0] == "none"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("process", {"action": "poll", "id": 1}),
        ("job_status", {}),
        ("BashOutput", {"bash_id": "1"}),
        ("TaskOutput", {"task_id": "1"}),
        ("get_job", {"id": 1}),
        ("check_deployment", {"id": 1}),
        ("mcp__ci__getPipeline", {"id": 1}),
        ("list_tasks", {}),
        ("read_logs", {"pod": "a"}),
        ("write_stdin", {"session_id": 1, "chars": ""}),
        ("shell_poll", {"id": "s"}),
        ("terminal", {"action": "read_output"}),
        ("wait_for_job", {"id": 1}),
    ],
)
def test_polls_known_by_name_or_action_may_change_for_ever(tool, arguments):
    assert run(*many(100, lambda n: [entry(tool, arguments, f"{n}% done")]))[0] == "none"
    assert run(*many(100, lambda n: [entry(tool, arguments, ["queued", "running"][n % 2])]))[0] == "none"


@pytest.mark.parametrize(
    "result",
    [
        "[{n}%] compiling",
        "{n}/100",
        "epoch {n} loss 0.5",
        "step {n} elapsed: 3s",
        "eta 00:{n}:10",
        "{n} passed in 3.2s",
        '{{"state": "running", "progress": {n}}}',
        '{{"state": "running", "updated_at": {n}}}',
        '{{"rows": [{{"id": {n}}}]}}',
        "HEAD is now at {n:040x}",
        "remaining: {n}s",
    ],
)
def test_numbers_percentages_ids_of_reads_and_commits_are_progress(result):
    assert run(*many(100, lambda n: [entry("job_status", {"id": 1}, result.format(n=n))]))[0] == "none"


def test_a_wait_neither_warns_nor_blocks():
    assert run(*many(100, lambda n: [entry("wait", {"seconds": 60}, "waited")]))[0] == "none"
    assert run(*many(100, lambda _: [entry("bash", {"command": "sleep 60"}, "")]))[0] == "none"


def test_a_tool_s_own_frozen_limit_is_respected_even_by_the_thread_s_count():
    calls = many(59, lambda n: [entry("build_status", {"id": 9}, "running")])
    tools = {"build_status": {"poll": True, "frozen_limit": 60}}
    assert run(*calls, tools=tools)[:2] == ("warn", "poll_no_progress")
    two = many(59, lambda n: [entry("build_status", {"id": 8}, "running"), entry("build_status", {"id": 9}, "running")])
    assert run(*two, tools=tools)[0] == "warn"


def test_a_human_message_makes_a_second_pass_over_everything_new():
    files = many(40, lambda n: [entry("write_file", {"path": f"f{n}", "content": "c"}, "ok")])
    assert run(*files, {"event": "user"}, *files)[0] == "none"
    assert run(*files, {"event": "new_task"}, *files)[0] == "none"


def test_every_known_file_may_be_read_once_more_after_compaction():
    files = many(80, lambda n: [entry("read_file", {"path": f"f{n}"}, f"text {n}")])
    assert run(*files, {"event": "compaction"}, *files, {"event": "compaction"}, *files)[0] == "none"


def test_an_external_event_excuses_looking_again():
    calls = many(60, lambda n: [entry("read_file", {"path": "inbox"}, "same"), {"event": "external"}])
    assert run(*calls)[0] != "block"


def test_denials_of_different_targets_are_not_blocked():
    hosts = many(60, lambda n: [entry("web_fetch", {"url": f"https://h{n}.example/"}, "403 Forbidden", error=True)])
    paths = many(60, lambda n: [entry("read_file", {"path": f"/root/f{n}"}, "Permission denied", error=True)])
    things = many(60, lambda n: [entry("get_document", {"id": n}, "403 Forbidden", error=True)])
    commands = many(60, lambda n: [entry("bash", {"command": f"cat /root/f{n}"}, "Permission denied", error=True)])
    for calls in (hosts, paths, things, commands):
        assert run(*calls)[0] == "warn"


def test_a_success_at_the_target_clears_its_denials():
    def page(n):
        url = {"url": f"https://h.example/{n}"}
        return [entry("fetch", url, "403 Forbidden", error=True) if n % 9 else entry("fetch", url, f"page {n}")]

    assert run(*many(90, page))[0] == "none"


def test_texts_before_calls_that_bring_news_are_no_text_loop():
    said = {"event": "assistant", "text": "Running the next step."}
    assert run(*many(40, lambda n: [said, entry("bash", {"command": f"./step {n}"}, f"out {n}")]))[0] == "none"


def test_texts_that_count_progress_are_no_text_loop():
    assert run(*[{"event": "assistant", "text": f"Processed {n} of 40 files."} for n in range(40)])[0] == "none"
    assert run(*[{"event": "assistant", "text": " \n"} for _ in range(40)])[0] == "none"


def test_unknown_calls_between_good_ones_are_not_blocked():
    calls = many(
        20,
        lambda n: [
            *[entry("foo", {"n": n}, "no such tool", error=True, unknown_tool=True)] * 3,
            entry("read_file", {"path": f"f{n}"}, f"t{n}"),
        ],
    )
    assert run(*calls)[0] == "none"


def test_answers_that_come_back_differently_are_warned_of_but_never_blocked():
    assert run(*many(200, lambda n: [entry("bash", {"command": "./rand"}, f"v{n}")]))[:2] == ("warn", "repeat")
