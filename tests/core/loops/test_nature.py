"""What a call is by nature, told from its declaration, an action argument, its name or its command."""

import tracemalloc
from typing import get_args

import pytest
from tests.core.loops.traces import call

from stoic.core.loops.call import Effect
from stoic.core.loops.nature import command_of, nature


@pytest.mark.parametrize(
    ("tool", "arguments", "effect"),
    [
        ("read_file", {}, "read"),
        ("readFile", {}, "read"),
        ("mcp__github__list_issues", {}, "read"),
        ("functions.search", {}, "read"),
        ("memory_get", {}, "read"),
        ("comment_list", {}, "read"),
        ("get_post", {}, "read"),
        ("search_and_replace", {}, None),
        ("str_replace_editor", {"command": "view"}, "read"),
        ("str_replace_editor", {"command": "create"}, "write"),
        ("http", {"method": "GET"}, "read"),
        ("http", {"method": "POST"}, "send"),
        ("update_status", {}, "write"),
        ("issue_create", {}, "write"),
        ("deploy", {}, "write"),
        ("message", {"action": "send"}, "send"),
        ("process", {"action": "poll"}, "poll"),
        ("terminal", {"action": "poll", "command": "x"}, "poll"),
        ("bash", {"command": "status"}, "exec"),
        ("bash", "not parsed", "exec"),
        ("bash", {"command": "sleep 5"}, "wait"),
        ("bash", {"cmd": ["bash", "-lc", "sleep 5"]}, "wait"),
        ("write_stdin", {"chars": ""}, "poll"),
        ("write_stdin", {"chars": "y"}, "write"),
        ("write_stdin", [], "write"),
        ("task_wait", {}, "wait"),
        ("browser", {"action": "scroll_down"}, None),
        ("next_number", {}, None),
        ("", {}, None),
    ],
)
def test_effect_is_told_from_name_action_or_command(tool, arguments, effect):
    assert nature(call(tool, arguments)).effect == effect


def test_a_declared_effect_is_believed():
    assert nature(call("read_file", {}, effect="write")).effect == "write"
    assert nature(call("bash", {"command": "sleep 5"}, effect="exec")).effect == "exec"
    assert nature(call("write_stdin", {"chars": ""}, effect="write")).effect == "write"
    assert nature(call("anything", {}, effect="send")).creates


@pytest.mark.parametrize("effect", get_args(Effect))
@pytest.mark.parametrize("tool", ["_", "", "__", "?"])
def test_declared_effect_counts_of_a_tool_whose_name_has_no_word(tool, effect):
    assert nature(call(tool, effect=effect)).effect == effect


def test_of_a_long_name_the_end_is_read_and_no_more_is_remembered():
    tracemalloc.start()
    try:
        for number in range(20):
            assert nature(call(f"get{number}" + "_status" * 20_000 + "__read_file")).effect == "read"
            assert nature(call(f"read{number}" + "_status" * 20_000)).effect == "poll"
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1_000_000


@pytest.mark.parametrize("tool", ["get_current_time", "now", "currentDatetime", "date", "clock"])
def test_a_clock_is_recognised(tool):
    assert nature(call(tool)).clock


@pytest.mark.parametrize("tool", ["get_date_of_birth", "time_series", "set_time", "read_file"])
def test_what_only_mentions_time_is_no_clock(tool):
    assert not nature(call(tool)).clock


def test_no_command_is_found_where_none_stands():
    assert command_of({"command": 3, "cmd": []}) is None
    assert command_of("ls") is None
    assert command_of({"script": "ls"}) == "ls"
