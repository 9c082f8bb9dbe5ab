"""`stoic fresh`, `compact`, `switch` and `fork`, and what `stoic show` tells of generations and segments."""

import json
from typing import Any

import pytest
from tests.cli.test_run import WRITE, park

from stoic.core.notes import SUMMARY_INSTRUCTIONS, summary
from stoic.testing import ScriptedProvider

ASKS = SUMMARY_INSTRUCTIONS[:40]
REFUSAL: dict[str, Any] = {
    "status": 200,
    "body": {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": "content_filter"}],
    },
}


def summing_up(reply: Any, *replies: Any) -> dict[str, Any]:
    rules = [{"request_contains": ASKS, "reply": reply}]
    return {"rules": rules, "replies": list(replies), "default": ["text:ok"]}


def talk(bench, provider, *messages: str) -> None:
    for text in messages:
        assert bench.stoic(*bench.working(provider, text, "--thread", "t")).returncode == 0


def compact(bench, provider, *arguments: str):
    where = ["--model", "openai-chat:m", "--base-url", provider.base_url]
    return bench.stoic("compact", "t", *where, *arguments)


def said(request) -> list[str]:
    return [message["content"] for message in request.json["messages"] if message["role"] != "system"]


# ---- fresh -------------------------------------------------------------------------------------------------


def test_fresh_leaves_the_history_behind_and_show_tells_it(bench):
    with ScriptedProvider({"default": ["text:ok"]}) as provider:
        talk(bench, provider, "one")
        done = bench.stoic("fresh", "t")
        assert (done.returncode, done.stdout, done.stderr) == (0, "generation 2 begins without history\n", "")
        talk(bench, provider, "two")
        assert said(provider.requests[-1]) == ["two"]
    shown = bench.stoic("show", "t").stdout
    order = ["segment t.1#1 opened: openai-chat:m", "one", "outcome: completed", "generation 2 begins without history", "turn 2", "two"]  # fmt: skip
    assert sorted(order, key=shown.index) == order
    rows = json.loads(bench.stoic("show", "t", "--json").stdout)["rows"]
    assert [(row["generation"], row["segment"]) for row in rows if row["kind"] == "message"] == [
        (1, "t.1#1"),
        (2, "t.2#1"),
    ]


def test_fresh_waits_for_a_turn_that_waits_for_a_person(bench):
    with ScriptedProvider([[WRITE], ["text:ok"]]) as provider:
        park(bench, provider)
        done = bench.stoic("fresh", "t")
        assert (done.returncode, done.stdout.startswith("the fresh start waits for the open turn")) == (0, True)
        assert "waiting for the next turn: a fresh start, without history" in bench.stoic("show", "t").stdout


def test_fresh_opens_a_thread_again_that_a_refusal_has_stopped(bench):
    script = {"rules": [{"request_contains": "bad words", "reply": REFUSAL}], "default": ["text:ok"]}
    with ScriptedProvider(script) as provider:
        refused = bench.stoic(*bench.working(provider, "bad words", "--thread", "t"))
        assert refused.returncode == 5
        assert bench.stoic("fresh", "t").returncode == 0
        talk(bench, provider, "good words")
        assert said(provider.requests[-1]) == ["good words"]


# ---- compact -----------------------------------------------------------------------------------------------


def test_compact_sums_up_and_the_thread_goes_on_with_that(bench):
    reply = {"words": ["text:in short"], "usage": {"prompt_tokens": 1200, "completion_tokens": 30}}
    with ScriptedProvider(summing_up(reply)) as provider:
        talk(bench, provider, "one", "two")
        done = compact(bench, provider)
        assert (done.returncode, done.stdout) == (0, "generation 2 begins with a summary\n")
        assert done.stderr == "≡ the conversation is being summed up by openai-chat:m\n"
        talk(bench, provider, "three")
        assert said(provider.requests[-1]) == [summary("in short"), "two", "ok", "three"]
    shown = bench.stoic("show", "t").stdout
    assert "≡ generation 2 begins with a summary, as a person asked · 1,200 tokens in, 30 out:" in shown
    assert "in short" in shown


def test_compact_json_prints_its_events(bench):
    with ScriptedProvider(summing_up(["text:in short"])) as provider:
        talk(bench, provider, "one", "two")
        done = compact(bench, provider, "--json")
    assert [json.loads(line)["type"] for line in done.stdout.splitlines()] == ["compaction_started", "compacted"]
    assert (done.returncode, done.stderr) == (0, "")


def test_a_refused_summary_says_so_offers_a_fresh_start_and_changes_nothing(bench):
    with ScriptedProvider(summing_up(REFUSAL)) as provider:
        talk(bench, provider, "one", "two")
        done = compact(bench, provider)
        assert done.returncode == 5
        assert done.stdout.startswith("not summed up: openai-chat:m refused to sum up the conversation")
        assert "The history is unchanged. A fresh start leaves it behind (`stoic fresh t`)" in done.stdout
        assert "! normal notice: openai-chat:m refused to sum up" in done.stderr
        assert "stoic fresh t" in done.stderr
        talk(bench, provider, "three")
        assert said(provider.requests[-1]) == ["one", "ok", "two", "ok", "three"]
    assert "≡ not summed up (refused)" in bench.stoic("show", "t").stdout


@pytest.mark.parametrize(
    ("reply", "code", "words"),
    [
        (["text:half", "finish:length"], 4, "broke off before its end"),
        ({"status": 500, "body": {"error": {"message": "busy"}}}, 3, "failed (server_error)"),
    ],
)
def test_a_summary_that_fails_has_an_exit_code_of_its_own(reply, code, words, bench):
    with ScriptedProvider(summing_up(reply)) as provider:
        talk(bench, provider, "one", "two")
        done = compact(bench, provider)
    assert (done.returncode, words in done.stdout) == (code, True)


def test_where_there_is_nothing_to_sum_up_nothing_is_sent(bench):
    with ScriptedProvider({"default": ["text:ok"]}) as provider:
        talk(bench, provider, "one")
        done = compact(bench, provider)
        assert len(provider.requests) == 1
    assert (done.returncode, done.stdout.startswith("not summed up: There is nothing yet to sum up")) == (0, True)


def test_ctrl_c_cancels_a_summary(bench):
    with ScriptedProvider(summing_up(["hang"])) as provider:
        talk(bench, provider, "one", "two")
        where = ["--model", "openai-chat:m", "--base-url", provider.base_url]
        with bench.terminal("compact", "t", *where) as terminal:
            terminal.wait_for("is being summed up")
            terminal.interrupt()
            assert terminal.end() == 130
    assert "Summing up was cancelled" in terminal.display.text()


# ---- switch --------------------------------------------------------------------------------------------------


def test_switch_is_shown_while_it_waits_and_when_it_opened_a_segment(bench):
    with ScriptedProvider({"default": ["text:ok"]}) as provider:
        url = {"OPENAI_BASE_URL": provider.base_url, "OPENAI_API_KEY": "k"}
        talk(bench, provider, "one")
        done = bench.stoic("switch", "t", "openai-chat:n", "--mode", "plan", **url)
        assert (done.returncode, done.stdout) == (0, "openai-chat:n, mode plan from the next turn of t on\n")
        assert "waiting for the next turn: openai-chat:n, mode plan" in bench.stoic("show", "t").stdout
        bench.stoic(
            "run", "two", "--thread", "t", "--workspace", str(bench.workspace), "--model", "openai-chat:m", **url
        )
        request = provider.requests[-1].json
    assert request["model"] == "n"
    names = [tool["function"]["name"] for tool in request["tools"]]
    assert "read_file" in names
    assert not {"write_file", "edit_file", "shell"} & set(names)
    assert "plan mode" in request["messages"][0]["content"]
    shown = bench.stoic("show", "t").stdout
    changed = (
        "segment t.1#2 opened: model openai-chat:m → openai-chat:n, mode default → plan, tools changed, prompt changed"
    )
    assert changed in shown
    assert "a person switched to openai-chat:n, mode plan" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["switch", "t"], "nothing to switch to; name a model or a mode"),
        (["switch", "t", "--mode", "act"], "there is no mode 'act'; this agent has default, plan"),
        (["switch", "t", "nobody:m"], "there is no provider 'nobody'"),
        (["switch", "tt", "--mode", "plan"], "there is no thread 'tt'; did you mean t?"),
        (["fresh", "tt"], "there is no thread 'tt'; did you mean t?"),
        (["fork", "tt", "u"], "there is no thread 'tt'; did you mean t?"),
        (["fork", "t", "t"], "thread t exists already; fork into a new id"),
        (["fork", "t", ""], "use 1 to 200 printable characters"),
        (
            ["compact", "tt", "--model", "openai-chat:m", "--base-url", "http://127.0.0.1:1/v1"],
            "there is no thread 'tt'",
        ),
    ],
)
def test_wrong_use_is_one_line_and_exits_2(arguments, words, bench):
    with ScriptedProvider({"default": ["text:ok"]}) as provider:
        talk(bench, provider, "one")
    done = bench.stoic(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert words in done.stderr


@pytest.mark.parametrize(
    "command", [["fresh", "t"], ["switch", "t", "--mode", "plan"], ["fork", "t", "u"], ["compact", "t"]]
)
def test_without_a_log_there_is_no_thread_and_none_is_created(command, bench):
    done = bench.stoic(*command)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not bench.database.exists()


# ---- fork ----------------------------------------------------------------------------------------------------


def test_a_fork_goes_on_by_itself(bench):
    with ScriptedProvider({"default": ["text:ok"]}) as provider:
        talk(bench, provider, "one")
        done = bench.stoic("fork", "t", "u")
        assert (done.returncode, done.stdout) == (0, "u begins with the log of t; `stoic run --thread u PROMPT`\n")
        bench.stoic(*bench.working(provider, "two", "--thread", "u"))
        assert said(provider.requests[-1]) == ["one", "ok", "two"]
        talk(bench, provider, "three")
        assert said(provider.requests[-1]) == ["one", "ok", "three"]


# ---- in a chat -----------------------------------------------------------------------------------------------


def test_a_chat_compacts_starts_fresh_and_switches_its_mode(bench):
    with (
        ScriptedProvider(summing_up(["text:in short"])) as provider,
        bench.terminal(*bench.talking(provider, "--thread", "t")) as terminal,
    ):
        lines = [
            "/fresh",
            "/compact",
            "one",
            "two",
            "/compact",
            "three",
            "/fresh",
            "/switch --mode plan",
            "/status",
            "four",
        ]
        for number, line in enumerate([*lines, "/quit"], 1):
            terminal.wait_for_prompt(number)
            terminal.type(f"{line}\r")
        assert terminal.end() == 0
        requests = [request for request in provider.requests if not request.holds(ASKS)]
        assert said(requests[2]) == [summary("in short"), "two", "ok", "three"]
        assert said(requests[3]) == ["four"]
        assert "plan mode" in requests[3].json["messages"][0]["content"]
    shown = terminal.display.text()
    order = [
        "nothing was said in this thread yet, so there is nothing to leave behind",
        "so there is nothing to sum up",
        "generation 2 begins with a summary, as a person asked",
        "generation 3 begins without history",
        "mode plan from now on, in this thread only",
        "model openai-chat:m, mode plan",
    ]
    flat = " ".join(shown.split())
    assert sorted(order, key=flat.index) == order


def test_ctrl_c_stops_a_summary_and_the_chat_goes_on(bench):
    with (
        ScriptedProvider(summing_up(["hang"])) as provider,
        bench.terminal(*bench.talking(provider, "--thread", "t")) as terminal,
    ):
        for number, line in enumerate(["one", "two", "/compact"], 1):
            terminal.wait_for_prompt(number)
            terminal.type(f"{line}\r")
        terminal.wait_for("is being summed up")
        terminal.interrupt()
        terminal.wait_for_prompt(4)
        terminal.type("three\r")
        terminal.wait_for_prompt(5)
        terminal.type("/quit\r")
        assert terminal.end() == 0
        assert said(provider.requests[-1]) == ["one", "ok", "two", "ok", "three"]
    assert "Summing up was cancelled" in terminal.display.text()


# ---- export --------------------------------------------------------------------------------------------------


def test_an_exported_document_tells_where_generations_begin(bench):
    with ScriptedProvider(summing_up(["text:in short"])) as provider:
        talk(bench, provider, "one")
        compact(bench, provider)
        talk(bench, provider, "two")
        compact(bench, provider)
        bench.stoic("fresh", "t")
    document = bench.stoic("threads", "export", "t", "--format", "md").stdout
    order = ["*Not summed up: nothing.*", "### Summary that begins generation 2", "in short", "*Generation 3 begins without history.*"]  # fmt: skip
    assert sorted(order, key=document.index) == order
