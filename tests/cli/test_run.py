"""`stoic run` beside pipes: what it prints, what it does, and how it ends."""

import asyncio
import json
import os
import shlex
import signal
import subprocess

import pytest
from tests.cli.processes import LIMIT_SECONDS

from stoic.records import InboxEntry
from stoic.store.sqlite import SqliteStore
from stoic.testing import ScriptedProvider

WRITE = 'tool:write_file({"path":"a.txt","content":"new"})'


def lines_of(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_stdout_holds_exactly_the_answer_of_the_final_reply(bench):
    script = [
        ["text:Looking.", 'tool:shell({"command":"echo hi"})'],
        ["text:half an ans", "cut"],
        ["text:It says hi.\nBye."],
    ]
    with ScriptedProvider(script) as provider:
        done = bench.stoic(*bench.working(provider, "hello", "--yes"))
    assert (done.returncode, done.stdout) == (0, "It says hi.\nBye.\n")
    assert "Looking." in done.stderr
    assert "▶ shell echo hi" in done.stderr
    assert "✓ shell returned: hi" in done.stderr
    assert "↩ rolled back" in done.stderr
    assert "↻ sent again in 1 s (attempt 2)" in done.stderr
    assert "half" not in done.stdout + done.stderr
    assert "\x1b" not in done.stderr


def test_stdout_stays_empty_when_there_is_no_answer(bench):
    script = [
        ["text:I begin.", 'tool:read_file({"path":"none"})'],
        {"status": 401, "body": {"error": {"message": "no"}}},
    ]
    with ScriptedProvider(script) as provider:
        done = bench.stoic(*bench.working(provider, "hello"))
    assert (done.returncode, done.stdout) == (3, "")
    assert "failed: openai-chat:m: the credential was not accepted (auth)" in done.stderr


def test_json_lines_tell_the_turn_and_end_with_the_outcome(bench):
    script = [["text:Working.", WRITE], ["text:gone", "cut"], ["text:Done."]]
    with ScriptedProvider(script) as provider:
        done = bench.stoic(*bench.working(provider, "hello", "--yes", "--json", "--thread", "t"))
    events = lines_of(done.stdout)
    assert [event["type"] for event in events if event["type"] != "text_delta"] == [
        "turn_started",
        "round_started",
        "call_announced",
        "round_ended",
        "tool_started",
        "tool_ended",
        "round_started",
        "attempt_failed",
        "round_rolled_back",
        "retrying",
        "round_started",
        "round_ended",
        "outcome",
    ]
    outcome = events[-1]
    expected = {"outcome": "completed", "class": None, "reason": None, "refused": False, "text": "Done.", "thread": "t"}
    assert outcome.items() >= expected.items()
    assert outcome.keys() >= {"usage", "cost_usd"}
    assert outcome["usage"].keys() == {"input_tokens", "output_tokens", "cache_read_tokens"}
    assert (done.returncode, done.stderr) == (0, "")


ERROR = {"error": {"message": "no", "type": "invalid_request_error", "code": None}}
ENDINGS = {
    "completed": ([["text:ok"]], 0, {"outcome": "completed"}),
    "failed by the provider": ([{"status": 401, "body": ERROR}], 3, {"outcome": "failed", "class": "auth"}),
    "failed by the request": ([{"status": 400, "body": ERROR}], 4, {"outcome": "failed", "class": "invalid_request"}),
    "refused": ([["finish:content_filter"]], 5, {"outcome": "stopped", "reason": "refused", "refused": True}),
    "budget": ([['tool:read_file({"path":"x"})']], 6, {"outcome": "stopped", "reason": "budget", "refused": False}),
}


@pytest.mark.parametrize(("script", "code", "outcome"), ENDINGS.values(), ids=ENDINGS)
def test_exit_code_names_the_ending(script, code, outcome, bench):
    with ScriptedProvider(script) as provider:
        done = bench.stoic(*bench.working(provider, "hello", "--json", "--max-rounds", "1"))
    assert done.returncode == code
    assert lines_of(done.stdout)[-1].items() >= outcome.items()


def test_without_yes_and_terminal_a_write_is_denied_and_the_model_told(bench):
    with ScriptedProvider([[WRITE], ["text:Then not."]]) as provider:
        done = bench.stoic(*bench.working(provider, "hello"))
        assert provider.requests[1].holds("The permission rules of this run do not allow this call of write_file")
    assert (done.returncode, done.stdout) == (0, "Then not.\n")
    assert "- write_file not run (tool_denied): path=a.txt  content=new · The permission rules of" in done.stderr
    assert list(bench.workspace.iterdir()) == []


HINT = "stoic: nobody is at a terminal to be asked, so writes and commands were denied; --yes allows them"


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_denial_for_want_of_a_terminal_tells_the_person_once_what_allows(form, bench):
    again = 'tool:shell({"command":"ls"})'
    with ScriptedProvider([[WRITE, again], [again], ["text:Then not."]]) as provider:
        done = bench.stoic(*bench.working(provider, "hello", *form))
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if "--yes" in line] == [HINT]


def test_call_that_is_not_run_for_another_reason_needs_no_hint(bench):
    with ScriptedProvider([["tool:nope({})"], ["text:ok"]]) as provider:
        done = bench.stoic(*bench.working(provider, "hello", "--json"))
    assert (done.returncode, done.stderr) == (0, "")
    ended = next(event for event in lines_of(done.stdout) if event["type"] == "tool_ended")
    assert (ended["state"], ended["arguments"]) == ("not_run", "{}")


def test_question_to_a_person_stays_theirs_without_a_terminal(bench):
    with ScriptedProvider([[WRITE], ["text:Written."], ["text:More."]]) as provider:
        park(bench, provider)
        done = bench.stoic(*bench.working(provider, "--thread", "t"))
        assert (done.returncode, done.stdout) == (7, "")
        again = "`stoic run --thread t` on a terminal asks, with --yes it allows"
        assert f"parked: a person must decide about write_file path=a.txt  content=new. {again}\n" in done.stderr
        assert not (bench.workspace / "a.txt").exists()
        told = bench.stoic(*bench.working(provider, "and more", "--thread", "t", "--json"))
        assert told.returncode == 7
        assert lines_of(told.stdout)[-1]["questions"][0]["tool"] == "write_file"
        assert told.stderr.startswith("stoic: parked: a person must decide about write_file")
        assert len(provider.requests) == 1
        assert "parked (permission) · 1 unread" in bench.stoic("threads").stdout
        done = bench.stoic(*bench.working(provider, "--thread", "t", "--yes"))
    assert (done.returncode, done.stdout) == (0, "Written.\nMore.\n")
    assert (bench.workspace / "a.txt").exists()


def test_message_to_a_parked_thread_is_said_to_wait(bench):
    with ScriptedProvider([[WRITE]]) as provider:
        park(bench, provider)
        done = bench.stoic(*bench.working(provider, "and more", "--thread", "t"))
    assert done.returncode == 7
    assert done.stderr.endswith("1 message of this thread will be answered after that\n")


def park(bench, provider) -> None:
    """Leave the thread `t` with a question that nobody answered."""
    with bench.terminal(*bench.working(provider, "x", "--thread", "t")) as terminal:
        terminal.wait_for("Allow?")
        terminal.type("\x04")
        assert terminal.end() == 7


def test_waiting_for_a_turn_of_another_process_is_said(bench):
    with (
        ScriptedProvider([["text:one", "gate:later"], ["text:two"]]) as provider,
        bench.start(*bench.working(provider, "first", "--thread", "t", "--json")) as first,
    ):
        assert first.stdout
        while b"text_delta" not in first.stdout.readline():
            pass
        with bench.start(*bench.working(provider, "second", "--thread", "t")) as second:
            assert second.stdout
            assert second.stderr
            said = second.stderr.readline().decode()
            provider.open_gate("later")
            assert (second.wait(LIMIT_SECONDS), second.stdout.read()) == (0, b"two\n")
        first.stdout.read()
    assert said.startswith(f"waiting: a turn of thread t runs in process {first.pid} on ")


def test_failure_of_the_network_names_the_server(bench):
    with ScriptedProvider([]) as provider:
        server = provider.base_url.removesuffix("/v1")
    bench.environment["OPENAI_API_KEY"] = "sk-canary-1234567"
    with bench.start(*bench.working(provider, "hi", "--thread", "t")) as process:
        assert process.stderr
        failed = b""
        while b"attempt 1" not in failed:
            failed = process.stderr.readline()
        process.terminate()
        rest = process.stderr.read()
        assert process.wait(LIMIT_SECONDS) == 143
    shown = bench.stoic("show", "t").stdout
    why = f"✗ attempt 1 of round 1: network (exception.cause[0]=ConnectionRefusedError): {server}: "
    assert failed.decode().startswith(why)
    assert f"        {server}: " in shown
    assert "canary" not in failed.decode() + rest.decode() + shown


def test_escape_sequences_of_an_answer_do_not_reach_a_pipe(bench):
    with ScriptedProvider([["text:a\x1b[2J\x1b]0;title\x07\tb\r\nc\x9b31md\u200f"]]) as provider:
        done = bench.stoic(*bench.working(provider, "hi"))
    assert done.stdout == "a\tb\ncd\u200f\n"


def test_new_log_is_said_once_so_that_a_misspelt_path_is_seen(bench):
    with ScriptedProvider([["text:ok"]] * 2) as provider:
        first, second = (bench.stoic(*bench.working(provider, "hi")) for _ in range(2))
    assert f"a new log begins: {bench.database}\n" in first.stderr
    assert "log" not in second.stderr


def test_yes_allows_writes_and_commands_in_the_workspace(bench):
    with ScriptedProvider([[WRITE], ['tool:shell({"command":"cat a.txt"})'], ["text:ok"]]) as provider:
        done = bench.stoic(*bench.working(provider, "hello", "--yes"))
        assert provider.requests[2].holds("[exit code 0]\nnew")
    assert done.returncode == 0
    assert (bench.workspace / "a.txt").read_text() == "new"


def test_requests_of_two_runs_begin_with_the_same_system_prompt(bench):
    with ScriptedProvider([["text:a"], ["text:b"]]) as provider:
        bench.stoic(*bench.working(provider, "one"))
        bench.stoic(*bench.working(provider, "two"))
        first, second = (request.json["messages"][0] for request in provider.requests)
    assert first == second
    assert str(bench.workspace) in first["content"]


def test_dash_reads_the_prompt_from_stdin(bench):
    with ScriptedProvider([["text:ok"]]) as provider:
        bench.stoic(*bench.working(provider, "-"), stdin="zwei Zeilen\nÄ".encode())
        assert provider.requests[0].json["messages"][-1]["content"] == "zwei Zeilen\nÄ"


def test_new_thread_gets_a_readable_id_that_goes_on(bench):
    with ScriptedProvider([["text:one"], ["text:two"]]) as provider:
        first = bench.stoic(*bench.working(provider, "hello"))
        thread = first.stderr.splitlines()[0].removeprefix("thread ")
        second = bench.stoic(*bench.working(provider, "again", "--thread", thread))
        assert provider.requests[1].holds("hello")
    assert thread.count("-") == 2
    assert second.stdout == "two\n"


def test_environment_names_model_and_server(bench):
    with ScriptedProvider([["text:ok"]]) as provider:
        environment = {
            "STOIC_MODEL": "openai-chat:other",
            "OPENAI_BASE_URL": provider.base_url,
            "OPENAI_API_KEY": "sk-1",
        }
        done = bench.stoic("run", "hello", **environment)
        assert provider.requests[0].json["model"] == "other"
        assert "sk-1" not in done.stderr + done.stdout
    assert done.stdout == "ok\n"


WRONG = {
    "no model": (["run", "hi"], "no model is named; add --model PROVIDER:NAME"),
    "no key": (["run", "hi", "--model", "openai-chat:m"], "no key. Set OPENAI_API_KEY"),
    "unknown provider": (
        ["run", "hi", "--model", "nope:m"],
        "there is no provider 'nope'",
    ),
    "bad base url": (["run", "hi", "--model", "openai-chat:m", "--base-url", "ftp://x"], "base URL 'ftp://x'"),
    "missing workspace": (["run", "hi", "--model", "openai-chat:m", "--workspace", "none"], "'none' does not exist"),
    "workspace is a file": (["run", "hi", "--model", "openai-chat:m", "--workspace", "file"], "'file' is not a folder"),
    "empty prompt": (["run", " ", "--model", "openai-chat:m"], "PROMPT is empty"),
    "empty stdin": (["run", "-", "--model", "openai-chat:m"], "the prompt on stdin is empty"),
    "nothing to do": (["run", "--model", "openai-chat:m"], "give a PROMPT"),
    "no rounds": (["run", "hi", "--model", "openai-chat:m", "--max-rounds", "0"], "max_rounds is 0"),
    "unknown option": (["run", "hi", "--frob"], "No such option: --frob; see `stoic run --help`"),
    "bad thread id": (
        ["run", "hi", "--model", "openai-chat:m", "--base-url", "http://127.0.0.1:1", "--thread", ""],
        "thread id ''",
    ),
    "two models, one name": (["run", "hi", "--model", "openai:m", "--model", "openai:m"], "is named twice"),
    "no name": (["run", "hi", "--model", "openai:"], "the name after openai: is missing"),
    "bad temperature": (["run", "hi", "--model", "openai:m", "--temperature", "9"], "temperature"),
    "bad effort": (["run", "hi", "--model", "openai:m", "--effort", "much"], "much"),
    "no tokens": (["run", "hi", "--model", "openai:m", "--max-tokens", "0"], "max_tokens"),
    "word in place of a number": (["run", "hi", "--max-seconds", "soon"], "Invalid value for '--max-seconds'"),
    "key in the url": (
        ["run", "hi", "--model", "openai:m", "--base-url", "http://me:word@h/v1"],
        "the base URL holds a user name or password",
    ),
    "thread id with a line end": (
        ["run", "hi", "--model", "openai-chat:m", "--base-url", "http://127.0.0.1:1", "--thread", "a\nb"],
        "thread id 'a\\nb'",
    ),
    "one word too many": (["run", "hi", "there"], "unexpected extra argument"),
    "image without a message": (["run", "--thread", "t", "--image", "x"], "--image goes with a message"),
    "unknown thread": (
        ["run", "--model", "openai-chat:m", "--base-url", "http://127.0.0.1:1", "--thread", "nope"],
        "there is no thread 'nope': there is no log at ",
    ),
}


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["plain", "json"])
@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG)
def test_wrong_usage_is_one_line_that_says_what_and_exits_2(arguments, said, form, bench):
    (bench.folder / "file").touch()
    done = bench.stoic(*arguments, *form)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("stoic: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not bench.database.exists()


def test_prompt_on_stdin_that_is_not_utf8_is_refused(bench):
    done = bench.stoic("run", "-", "--model", "openai-chat:m", stdin=b"\xff")
    assert (done.returncode, done.stderr) == (2, "stoic: the prompt on stdin is not UTF-8 (byte 0); convert it first\n")


def test_prompt_argument_that_is_not_utf8_is_refused(bench):
    done = bench.stoic("run", os.fsdecode(b"\xff"), "--model", "openai-chat:m")
    assert (done.returncode, done.stderr) == (2, "stoic: PROMPT is not UTF-8; convert it first\n")


@pytest.mark.parametrize("kind", ["garbage", "folder"])
def test_database_that_cannot_be_used_is_one_line_and_exits_2(kind, bench):
    if kind == "garbage":
        bench.database.write_bytes(b"no database at all" * 100)
    else:
        bench.database.mkdir()
    with ScriptedProvider([["text:ok"]]) as provider:
        done = bench.stoic(*bench.working(provider, "hi", "--json"))
        assert provider.requests == []
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert str(bench.database) in done.stderr


def test_thread_without_open_turn_has_nothing_to_go_on_with(bench):
    with ScriptedProvider([["text:ok"]]) as provider:
        bench.stoic(*bench.working(provider, "hi", "--thread", "t"))
        done = bench.stoic(*bench.working(provider, "--thread", "t"))
    assert done.returncode == 2
    said = "thread 't' has nothing to go on with: no turn is open; `stoic run --thread t PROMPT` begins one"
    assert done.stderr == f"stoic: {said}\n"


def test_message_left_unread_by_a_crash_is_answered_by_going_on(bench):
    async def leave() -> None:
        store = SqliteStore(bench.database)
        await store.open()
        await store.put(InboxEntry(id="e", thread="t", kind="message", content={"text": "unread words"}, created_at=1))
        await store.close()

    with ScriptedProvider([["text:one"], ["text:two"]]) as provider:
        bench.stoic(*bench.working(provider, "hi", "--thread", "t"))
        asyncio.run(leave())
        done = bench.stoic(*bench.working(provider, "--thread", "t"))
        assert provider.requests[1].holds("unread words")
    assert (done.returncode, done.stdout) == (0, "two\n")


def test_reader_that_leaves_ends_the_command_quietly_and_the_turn_goes_on_later(bench):
    gated = ["text:first", "gate:left", "text: second"]
    with ScriptedProvider([gated, ["text:answer"]]) as provider:
        with bench.start(*bench.working(provider, "hi", "--thread", "t", "--json")) as process:
            assert process.stdout
            assert process.stderr
            while b"text_delta" not in process.stdout.readline():
                pass
            process.stdout.close()
            provider.open_gate("left")
            errors = process.stderr.read()
            assert (process.wait(LIMIT_SECONDS), errors) == (141, b"")
        done = bench.stoic(*bench.working(provider, "--thread", "t"))
    assert (done.returncode, done.stdout) == (0, "answer\n")


def test_sigterm_leaves_the_turn_open_and_it_goes_on_later(bench):
    with ScriptedProvider([["text:first", "gate:never"], ["text:answer"]]) as provider:
        with bench.start(*bench.working(provider, "hi", "--thread", "t", "--json")) as process:
            assert process.stdout
            while b"text_delta" not in process.stdout.readline():
                pass
            process.send_signal(signal.SIGTERM)
            assert process.wait(LIMIT_SECONDS) == 143
            assert b"outcome" not in process.stdout.read()
        assert '"state":"open"' in bench.stoic("threads", "--json").stdout
        done = bench.stoic(*bench.working(provider, "--thread", "t"))
    assert (done.returncode, done.stdout) == (0, "answer\n")


def test_ctrl_c_ends_json_with_the_outcome_and_exits_130(bench):
    with (
        ScriptedProvider([["text:first", "gate:never"]]) as provider,
        bench.start(*bench.working(provider, "hi", "--json")) as process,
    ):
        assert process.stdout
        while b"text_delta" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        last = process.stdout.read().splitlines()[-1]
        assert process.wait(LIMIT_SECONDS) == 130
    assert json.loads(last).items() >= {"type": "outcome", "outcome": "cancelled"}.items()


def test_cancel_from_elsewhere_exits_8(bench):
    async def cancel() -> None:
        store = SqliteStore(bench.database)
        await store.open()
        await store.put(InboxEntry(id="c", thread="t", kind="cancel", content={}, created_at=1))
        await store.close()

    with (
        ScriptedProvider([["text:first", "gate:never"]]) as provider,
        bench.start(*bench.working(provider, "hi", "--thread", "t", "--json")) as process,
    ):
        assert process.stdout
        while b"text_delta" not in process.stdout.readline():
            pass
        asyncio.run(cancel())
        last = process.stdout.read().splitlines()[-1]
        assert process.wait(LIMIT_SECONDS) == 8
    assert json.loads(last)["outcome"] == "cancelled"


def test_killed_in_the_middle_of_a_command_it_goes_on_without_repeating_it(bench):
    for name in ("started", "block"):
        os.mkfifo(bench.workspace / name)
    command = "echo once >> count.txt; echo > started; cat block"
    script = [[f"tool:shell({json.dumps({'command': command})})"], ["text:I cannot tell whether it ran."]]
    with ScriptedProvider(script) as provider:
        with bench.start(*bench.working(provider, "hi", "--thread", "t", "--yes")) as process:
            (bench.workspace / "started").read_text()
            process.kill()
        done = bench.stoic(*bench.working(provider, "--thread", "t", "--yes"))
        assert provider.requests[1].holds("Effect unknown")
    assert (done.returncode, done.stdout) == (0, "I cannot tell whether it ran.\n")
    assert "? shell effect UNKNOWN" in done.stderr
    assert (bench.workspace / "count.txt").read_text() == "once\n"


@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        (">&-", 0, ""),
        ("> /dev/full", 141, "stoic: the output cannot be written (No space left on device)"),
        ("--json > /dev/full", 141, "stoic: the output cannot be written (No space left on device)"),
    ],
)
def test_output_that_cannot_be_written_is_no_traceback(redirection, code, said, bench):
    with ScriptedProvider([["text:ok"]]) as provider:
        command = shlex.join(bench.command(*bench.working(provider, "hi")))
        done = subprocess.run(
            ["/bin/sh", "-c", f"{command} {redirection}"],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=bench.environment,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_thread_stays_with_its_model_whatever_the_default_is_by_now(bench):
    with ScriptedProvider({"default": ["text:ok", "stop"]}) as provider:
        assert bench.stoic(*bench.working(provider, "hello", "--thread", "t")).returncode == 0
        where = ["--base-url", provider.base_url, "--workspace", str(bench.workspace)]
        other = {"STOIC_MODEL": "anthropic:other", "ANTHROPIC_API_KEY": "k"}
        for arguments in (["run", "again", "--thread", "t"], ["run", "again", "--continue"], ["resume", "t"]):
            done = bench.stoic(*arguments, *where, **other)
            assert "anthropic" not in done.stderr + done.stdout
        assert [request.json["model"] for request in provider.requests] == ["m", "m", "m"]
        assert bench.stoic("run", "other", "--thread", "t", "--model", "openai-chat:n", *where).returncode == 0
        assert provider.requests[-1].json["model"] == "n"
