"""Which calls are the same call."""

from posixpath import normpath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.loops.traces import call

from stoic.core.loops.identity import _tidy, essential, identify


def same(one, other, tool="read_file", **more):
    first, second = (identify(call(tool, arguments, **more)) for arguments in (one, other))
    return first.key == second.key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"path": "a", "limit": 5}, {"path": "a", "limit": 9.0}),
        ({"path": "a", "cursor": "x"}, {"path": "a"}),
        ({"path": "a", "maxResults": 5}, {"path": "a", "maxResults": 6}),
        ({"path": "a", "start": 1}, {"path": "a", "start": 5}),
        ({"query": "a", "from": 0}, {"query": "a", "from": 999_999_999}),
        ({"path": "a/"}, {"path": "./a"}),
        ({"q": "x", "reasoning": "r"}, {"q": "x"}),
    ],
)
def test_reads_are_the_same_without_paging_limits_and_reasons(one, other):
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"path": "a"}, {"path": "b"}),
        ({"path": "a/../b"}, {"path": "b"}),
        ({"path": ""}, {"path": "."}),
        ({"url": "https://h/a//b"}, {"url": "https://h/a/b"}),
        ({"file_url": "https://h/a//b"}, {"file_url": "https://h/a/b"}),
        ({"page": "home"}, {"page": "about"}),
        ({"room": "a", "start": 1}, {"room": "a", "start": 5}),
        ({"path": "a", "start": "x"}, {"path": "a", "start": "y"}),
        ({"query": "a", "from": 1_000_000_000}, {"query": "a", "from": 0}),
        ({"description": "a"}, {"description": "b"}),
        ({"timeout": 1}, {"timeout": 2}),
        ({"limit": [1, "x"]}, {"limit": [2, "x"]}),
        ("not json 1", "not json 2"),
        ([1], [2]),
    ],
)
def test_reads_that_ask_for_different_things_are_different(one, other):
    assert not same(one, other)


def test_paging_of_a_write_is_content():
    assert not same({"page": 1}, {"page": 2}, tool="delete_rows")


def test_a_description_beside_a_command_is_cosmetic_and_that_of_a_ticket_is_not():
    assert same({"command": "ls", "description": "a"}, {"command": "ls", "description": "b"}, tool="bash")
    assert not same({"title": "t", "description": "a"}, {"title": "t", "description": "b"}, tool="create_ticket")


def test_unknown_tools_are_the_same_whatever_their_arguments_and_capitals():
    assert identify(call("Foo", {"a": 1}, known=False)).key == identify(call("foo", {"a": 2}, known=False)).key


def test_paths_of_a_loop_key_reach_into_lists_and_objects():
    plan = {"plan": [{"s": "a", "t": 1}, {"s": "b", "t": 2}], "x": {"k": 1}}
    other = {"plan": [{"s": "a", "t": 3}, {"s": "b", "t": 4}], "x": {"k": 1}}
    for key, equal in [("plan.*.s", True), ("plan.0.t", False), ("x.*", True), ("x.k.deeper", False), ("plan", False)]:
        assert same(plan, other, loop_key=[key]) is equal


def test_text_arguments_have_no_target_but_the_tool():
    identity = identify(call("fetch", "https://h.example"))
    assert identity.target == identity.whole


def test_key_order_changes_neither_call_nor_target():
    for one in (
        {"from_url": "https://a.example", "to_url": "https://b.example"},
        {"command": [{"a": 1, "b": 2}, 1.0]},
        {"x": {"k": 1, "l": 2}},
    ):
        other = dict(reversed(one.items()))
        if isinstance(other.get("x"), dict):
            other["x"] = {"l": 2, "k": 1}
        if "command" in other:
            other["command"] = [{"b": 2, "a": 1}, 1]
        first, second = (identify(call("bash", arguments, loop_key=["x.*"])) for arguments in (one, other))
        assert (first.key, first.exact, first.target) == (second.key, second.exact, second.target)


def test_a_server_argument_is_the_target():
    one, other = (identify(call("query", {"server": server, "q": server})) for server in ("A.example", "a.example"))
    assert one.target == other.target != one.whole


@given(st.text("a./", min_size=1, max_size=9).filter(lambda path: ".." not in path))
def test_a_path_is_tidied_whether_or_not_that_shows_at_a_glance(path):
    assert _tidy("path", path) == normpath(path)


def test_long_argument_names_are_read_like_short_ones():
    long = "source_of_everything_that_this_tool_shall_read_now_and_for_ever_path"
    assert same({long: "a/"}, {long: "a"})
    assert not same({long: "a"}, {long: "b"})


def test_arguments_that_are_all_cosmetic_tell_calls_apart():
    assert not same({"thought": "a"}, {"thought": "b"}, tool="ask")
    assert same({"thought": "a", "x": 1}, {"thought": "b", "x": 1}, tool="ask")


def test_one_thing_among_many_has_no_account_of_its_own_and_a_place_has():
    thing, place, neither = (identify(call("get", one)) for one in ({"id": 1}, {"repo": "a"}, {"x": 1}))
    assert (thing.contained, place.contained, neither.contained) == (False, True, True)
    assert thing.target != thing.whole != place.target
    assert neither.target == neither.whole


def test_the_journal_tells_operations_apart_by_all_but_cosmetics_and_patience():
    assert essential(call("read_file", {"path": "./a", "thought": "x", "limit": 5})) == {"path": "a", "limit": 5}
    assert essential(call("bash", {"command": "ls  -l", "timeout": 5})) == {"command": "ls -l"}
