"""`stoic chat` on a real terminal: several lines, slash commands, Ctrl-C, Ctrl-D, and what stays afterwards."""

import json
import os
import re
import signal
import stat

import pytest
from tests.cli.test_run import WRITE
from tests.cli.test_work_options import PNG

from stoic.testing import ScriptedProvider


def messages_of(request) -> list[str]:
    """Return the texts of the user messages of a request."""
    return [message["content"] for message in request.json["messages"] if message["role"] == "user"]


def test_messages_are_answered_one_after_the_other_in_one_thread_until_ctrl_d(bench):
    with ScriptedProvider([["text:first answer"], ["text:second answer"]]) as provider:
        with bench.terminal(*bench.talking(provider)) as terminal:
            terminal.wait_for_prompt(1)
            terminal.type("one\r")
            terminal.wait_for_prompt(2)
            terminal.type("two\r")
            terminal.wait_for_prompt(3)
            terminal.type("\x04")
            assert terminal.end() == 0
        assert messages_of(provider.requests[1]) == ["one", "two"]
    shown = terminal.display.text()
    order = ["/help lists", "> one", "first answer", "> two", "second answer", "goes on here"]
    assert sorted(order, key=shown.index) == order
    assert terminal.display.unknown == []


def test_enter_sends_and_ctrl_j_alt_enter_and_a_backslash_begin_a_new_line(bench):
    with ScriptedProvider([["text:ok"]]) as provider, bench.terminal(*bench.talking(provider)) as terminal:
        terminal.wait_for_prompt(1)
        terminal.type("a\nb\x1b\rc\\\rd\r")
        terminal.wait_for_prompt(2)
        terminal.type("/quit\r")
        assert terminal.end() == 0
        assert messages_of(provider.requests[0]) == ["a\nb\nc\nd"]


def test_pasted_lines_stay_one_message(bench):
    with ScriptedProvider([["text:ok"]]) as provider, bench.terminal(*bench.talking(provider)) as terminal:
        terminal.wait_for_prompt(1)
        terminal.type("\x1b[200~def f():\r    return 1\r\x1b[201~\r")
        terminal.wait_for_prompt(2)
        terminal.type("\x04")
        assert terminal.end() == 0
        assert messages_of(provider.requests[0]) == ["def f():\n    return 1\n"]


def test_history_is_kept_in_a_file_of_the_owner_alone_and_comes_back(bench):
    with ScriptedProvider([["text:ok"], ["text:ok"]]) as provider:
        for keys in ("remember me\r", "\x1b[A\r"):
            with bench.terminal(*bench.talking(provider)) as terminal:
                terminal.wait_for_prompt(1)
                terminal.type(keys)
                terminal.wait_for_prompt(2)
                terminal.type("\x04")
                assert terminal.end() == 0
        assert messages_of(provider.requests[1]) == ["remember me"]
    history = bench.folder / "chat_history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_ctrl_c_cancels_the_turn_and_the_chat_goes_on(bench):
    with (
        ScriptedProvider([["text:half", "gate:never"], ["text:whole"]]) as provider,
        bench.terminal(*bench.talking(provider, "--thread", "t")) as terminal,
    ):
        terminal.wait_for_prompt(1)
        terminal.type("one\r")
        terminal.wait_for("half")
        terminal.interrupt()
        terminal.wait_for_prompt(2)
        terminal.type("two\r")
        terminal.wait_for_prompt(3)
        terminal.type("\x04")
        assert terminal.end() == 0
    shown = terminal.display.text()
    assert "half" not in shown
    assert shown.index("cancelled: The turn was cancelled.") < shown.index("whole")


def test_what_is_typed_during_a_turn_waits_unseen_for_the_next_prompt(bench):
    script = [["text:this will not stay", "gate:typed", "cut"], ["text:kept"], ["text:ok"]]
    with ScriptedProvider(script) as provider, bench.terminal(*bench.talking(provider)) as terminal:
        terminal.wait_for_prompt(1)
        terminal.type("one\r")
        terminal.wait_for("this will not stay")
        terminal.type("typed ahead" * 20)
        provider.open_gate("typed")
        terminal.wait_for_prompt(2)
        terminal.type(" and more\r")
        terminal.wait_for_prompt(3)
        terminal.type("\x04")
        assert terminal.end() == 0
        assert messages_of(provider.requests[2]) == ["one", "typed ahead" * 20 + " and more"]
    shown = terminal.display.text()
    assert "will not stay" not in shown
    assert shown.index("kept") < shown.index("typed ahead")


def test_ctrl_c_at_the_prompt_clears_the_line_and_leaves_nothing(bench):
    with ScriptedProvider([["text:ok"]]) as provider, bench.terminal(*bench.talking(provider)) as terminal:
        terminal.wait_for_prompt(1)
        terminal.type("never sent\x03")
        terminal.wait_for_prompt(2)
        terminal.type("sent\r")
        terminal.wait_for_prompt(3)
        terminal.type("\x04")
        assert terminal.end() == 0
        assert messages_of(provider.requests[0]) == ["sent"]


def test_rolled_back_text_vanishes_and_what_was_typed_stays(bench):
    with (
        ScriptedProvider([["text:this will not stay", "gate:seen", "cut"], ["text:kept"]]) as provider,
        bench.terminal(*bench.talking(provider)) as terminal,
    ):
        terminal.wait_for_prompt(1)
        terminal.type("line one\nline two\r")
        terminal.wait_for("this will not stay")
        provider.open_gate("seen")
        terminal.wait_for_prompt(2)
        terminal.type("\x04")
        assert terminal.end() == 0
    shown = terminal.display.text()
    assert "will not stay" not in shown
    assert "> line one\n  line two" in shown
    assert "kept" in shown


def test_second_ctrl_c_leaves_the_turn_open_and_resume_goes_on(bench):
    for name in ("started", "block"):
        os.mkfifo(bench.workspace / name)
    command = json.dumps({"command": "setsid sh -c 'echo > started; cat block' & wait"})
    with ScriptedProvider([[f"tool:shell({command})"], ["text:whole"]]) as provider:
        with bench.terminal(*bench.talking(provider, "--thread", "t", "--yes")) as terminal:
            terminal.wait_for_prompt(1)
            terminal.type("go\r")
            (bench.workspace / "started").read_text()
            terminal.wait_for("▶ shell")
            terminal.interrupt()
            terminal.wait_for("Ctrl-C again leaves the turn as it stands")
            terminal.interrupt()
            terminal.wait_for("left as it stands: /resume goes on")
            (bench.workspace / "block").write_text("")  # lets the command that left its group end
            terminal.wait_for_prompt(2)
            terminal.type("/resume\r")
            terminal.wait_for_prompt(3)
            terminal.type("\x04")
            assert terminal.end() == 0
        assert provider.requests[1].holds("Effect unknown")
    assert "whole" in terminal.display.text()


def test_write_is_asked_about_and_a_session_answer_holds_for_the_whole_sitting(bench):
    again = WRITE.replace("a.txt", "b.txt")
    with (
        ScriptedProvider([[WRITE], ["text:one"], [again], ["text:two"]]) as provider,
        bench.terminal(*bench.talking(provider)) as terminal,
    ):
        terminal.wait_for_prompt(1)
        terminal.type("go\r")
        terminal.wait_for("Allow?")
        terminal.type("s\n")
        terminal.wait_for_prompt(2)
        terminal.type("more\r")
        terminal.wait_for_prompt(3)
        terminal.type("\x04")
        assert terminal.end() == 0
    assert terminal.display.text().count("Allow?") == 1
    assert (bench.workspace / "b.txt").exists()


def test_parked_turn_is_said_at_the_next_start_and_cancel_ends_it_without_running_anything(bench):
    with ScriptedProvider([[WRITE]]) as provider:
        with bench.terminal(*bench.talking(provider, "--thread", "t")) as terminal:
            terminal.wait_for_prompt(1)
            terminal.type("go\r")
            terminal.wait_for("Allow?")
            terminal.type("\x04")
            terminal.wait_for_prompt(2)
            terminal.type("\x04")
            assert terminal.end() == 0
        with bench.terminal(*bench.talking(provider, "--continue")) as terminal:
            terminal.wait_for_prompt(1)
            assert "a turn is open here" in terminal.display.text()
            terminal.type("/cancel\r")
            terminal.wait_for_prompt(2)
            terminal.type("/cancel\r")
            terminal.wait_for("no turn is open")
            terminal.wait_for_prompt(3)
            terminal.type("\x04")
            assert terminal.end() == 0
        assert len(provider.requests) == 1
    assert not (bench.workspace / "a.txt").exists()
    assert "cancelled" in bench.stoic("threads").stdout


def test_switch_binds_the_thread_to_another_model_also_after_a_restart(bench):
    with ScriptedProvider([["text:ok"]] * 3) as provider:
        bench.environment["OPENAI_BASE_URL"] = provider.base_url  # --base-url is of the first model alone
        with bench.terminal(*bench.talking(provider, "--thread", "t")) as terminal:
            terminal.wait_for_prompt(1)
            terminal.type("one\r")
            terminal.wait_for_prompt(2)
            terminal.type("/switch openai-chat:other\r")
            terminal.wait_for_prompt(3)
            terminal.type("/status\r")
            terminal.wait_for("model openai-chat:other, mode default")
            terminal.wait_for("spent $0.0000 where the price is known, ")
            terminal.wait_for_prompt(4)
            terminal.type("two\r")
            terminal.wait_for_prompt(5)
            terminal.type("\x04")
            assert terminal.end() == 0
        bench.stoic(*bench.working(provider, "three", "--thread", "t"))
        assert [request.json["model"] for request in provider.requests] == ["m", "other", "other"]
    assert "a person switched to openai-chat:other" in bench.stoic("show", "t").stdout


def test_images_go_with_the_next_message_alone_and_can_be_taken_back(bench):
    for name in ("one.png", "two words.png"):
        (bench.folder / name).write_bytes(PNG)
    with ScriptedProvider([["text:two dots"], ["text:no more"]]) as provider:
        with bench.terminal(*bench.talking(provider)) as terminal:
            lines = [
                "/image one.png",
                "/image",
                "/image ~/one.png",
                "/image 'two words.png'",
                "what is it?",
                "and now?",
            ]
            for number, line in enumerate(lines, 1):
                terminal.wait_for_prompt(number)
                terminal.type(f"{line}\r")
            terminal.wait_for_prompt(len(lines) + 1)
            terminal.type("\x04")
            assert terminal.end() == 0
        first, second = (request.json["messages"][-1]["content"] for request in provider.requests)
    assert sorted(part["type"] for part in first) == ["image_url", "image_url", "text"]
    assert second == "and now?"
    shown = terminal.display.text()
    assert "no image goes with the next message" in shown
    assert "2 images wait for the next message" in shown


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("/image", "/image needs a file, such as /image picture.png"),
        ("/image none.png", "image 'none.png' does not exist"),
        ("/image 'none.png", "does not exist"),
        ("/image ~nobody-of-this-name/x", "does not exist"),
        ("/image .", "image '.' is not a file"),
        ("/stauts", "there is no command /stauts; did you mean /status?"),
        ("/xyzzy", "there is no command /xyzzy; /help lists those there are"),
        ("/switch", "/switch needs a model, such as /switch openai-chat:NAME"),
        ("/switch nonsense", "nonsense names no model; write /switch PROVIDER:NAME"),
        ("/thread none", "there is no thread 'none'"),
        ("/resume", "nothing is open here"),
        ("/cancel", "no turn is open; Ctrl-C stops one that runs"),
    ],
)
def test_slash_command_that_cannot_be_is_one_line_and_sends_nothing(typed, said, bench):
    with ScriptedProvider([["text:ok"]]) as provider, bench.terminal(*bench.talking(provider), columns=200) as terminal:
        terminal.wait_for_prompt(1)
        terminal.type(f"{typed}\r")
        terminal.wait_for(said)
        terminal.wait_for_prompt(2)
        terminal.type("\x04")
        assert terminal.end() == 0
        assert provider.requests == []


def test_message_that_begins_with_a_path_is_no_command(bench):
    with ScriptedProvider([["text:ok"]]) as provider, bench.terminal(*bench.talking(provider)) as terminal:
        terminal.wait_for_prompt(1)
        terminal.type("/etc/hosts is what?\r")
        terminal.wait_for_prompt(2)
        terminal.type("\x04")
        assert terminal.end() == 0
        assert messages_of(provider.requests[0]) == ["/etc/hosts is what?"]


def test_message_that_is_no_utf_8_is_one_line_and_sends_nothing(bench):
    with ScriptedProvider([["text:ok"]]) as provider, bench.terminal(*bench.talking(provider)) as terminal:
        terminal.wait_for_prompt(1)
        terminal.type(b"caf\xe9\r")
        terminal.wait_for("the message is not UTF-8; convert it first")
        terminal.wait_for_prompt(2)
        terminal.type("\x04")
        assert terminal.end() == 0
        assert provider.requests == []


def test_thread_goes_over_to_another_one(bench):
    with ScriptedProvider([["text:ok"]] * 3) as provider:
        bench.stoic(*bench.working(provider, "zero", "--thread", "old"))
        with bench.terminal(*bench.talking(provider)) as terminal:
            terminal.wait_for_prompt(1)
            terminal.type("/thread old\r")
            terminal.wait_for("thread old · 1 turn · completed")
            terminal.wait_for_prompt(2)
            terminal.type("one\r")
            terminal.wait_for_prompt(3)
            terminal.type("\x04")
            assert terminal.end() == 0
        assert messages_of(provider.requests[1]) == ["zero", "one"]


def test_help_lists_every_command(bench):
    with ScriptedProvider([]) as provider, bench.terminal(*bench.talking(provider)) as terminal:
        terminal.wait_for_prompt(1)
        terminal.type("/help\r")
        terminal.wait_for_prompt(2)
        terminal.type("\x04")
        assert terminal.end() == 0
    for name in ("/help", "/switch", "/image", "/status", "/resume", "/cancel", "/thread", "/quit"):
        assert f"\n{name} " in terminal.display.text()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signal_at_the_prompt_ends_the_chat_with_its_code(number, code, bench):
    with ScriptedProvider([]) as provider, bench.terminal(*bench.talking(provider)) as terminal:
        terminal.wait_for_prompt(1)
        terminal.process.send_signal(number)
        assert terminal.end() == code
    assert "Traceback" not in terminal.raw


def test_signal_during_a_turn_leaves_it_open(bench):
    with ScriptedProvider([["text:half", "gate:never"], ["text:whole"]]) as provider:
        with bench.terminal(*bench.talking(provider, "--thread", "t")) as terminal:
            terminal.wait_for_prompt(1)
            terminal.type("one\r")
            terminal.wait_for("half")
            terminal.process.send_signal(signal.SIGTERM)
            assert terminal.end() == 143
        done = bench.stoic(*bench.working(provider, "--thread", "t"))
    assert (done.returncode, done.stdout) == (0, "whole\n")


def test_failed_turn_is_said_and_the_chat_goes_on(bench):
    script = [{"status": 401, "body": {"error": {"message": "no"}}}]
    with ScriptedProvider(script) as provider, bench.terminal(*bench.talking(provider)) as terminal:
        terminal.wait_for_prompt(1)
        terminal.type("one\r")
        terminal.wait_for("the credential was not accepted (auth)")
        terminal.wait_for_prompt(2)
        terminal.type("\x04")
        assert terminal.end() == 0


@pytest.mark.parametrize("columns", [20, 40])
def test_no_color_and_a_narrow_terminal_behave(columns, bench):
    with (
        ScriptedProvider([["text:a rather long answer in words"]]) as provider,
        bench.terminal(*bench.talking(provider), NO_COLOR="1", columns=columns) as terminal,
    ):
        terminal.wait_for_prompt(1)
        terminal.type("a question that is longer than this\r")
        terminal.wait_for_prompt(2)
        terminal.type("\x04")
        assert terminal.end() == 0
        assert messages_of(provider.requests[0]) == ["a question that is longer than this"]
    assert "a rather long answer" in terminal.display.text().replace("\n", "")
    assert re.findall(r"\x1b\[[1-9][0-9;]*m", terminal.raw) == []


def test_dumb_terminal_can_chat(bench):
    with (
        ScriptedProvider([["text:plain"]]) as provider,
        bench.terminal(*bench.talking(provider), TERM="dumb") as terminal,
    ):
        terminal.wait_for(">")
        terminal.type("one\r")
        terminal.wait_for("tokens in")
        terminal.wait_for(">", times=2)
        terminal.type("/quit\r")
        assert terminal.end() == 0
    assert "plain" in terminal.display.text()


def test_chat_without_a_terminal_is_wrong_usage(bench):
    with ScriptedProvider([]) as provider:
        done = bench.stoic(*bench.talking(provider))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "chat needs a terminal" in done.stderr


def test_history_that_cannot_be_kept_is_one_line_and_exits_2(bench):
    (bench.folder / "chat_history").mkdir()
    with ScriptedProvider([]) as provider, bench.terminal(*bench.talking(provider), columns=200) as terminal:
        assert terminal.end() == 2
    assert "what you write cannot be kept there" in terminal.display.text()
