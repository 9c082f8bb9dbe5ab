"""`stoic run` on a terminal: streaming, rounds that vanish, questions, Ctrl-C."""

import json
import os

import pytest

from stoic.testing import ScriptedProvider

WRITE = 'tool:write_file({"path":"a.txt","content":"new\\nsame"})'
FIRST = 'tool:shell({"command":"echo 1 >> count.txt"})'
SECOND = 'tool:shell({"command":"echo 2 >> count.txt"})'


def test_text_streams_and_a_rolled_back_round_vanishes(bench):
    script = [
        ["text:kept before.", 'tool:read_file({"path":"a.txt"})'],
        ["text:this will not stay", "gate:seen", "cut"],
        ["text:the real answer"],
    ]
    (bench.workspace / "a.txt").write_text("hi")
    with ScriptedProvider(script) as provider, bench.terminal(*bench.working(provider, "hello")) as terminal:
        terminal.wait_for("this will not stay")
        provider.open_gate("seen")
        assert terminal.end() == 0
    shown = terminal.display.text()
    assert "will not stay" not in shown
    assert "VOID" not in shown
    assert "writing a call" not in shown
    order = [
        "openai-chat:m",
        "kept before.",
        "✓ read_file returned: hi",
        "✗ attempt 1",
        "↩ rolled back",
        "↻ sent again in 1 s",
        "the real",
    ]
    assert sorted(order, key=shown.index) == order
    assert terminal.display.unknown == []


@pytest.mark.parametrize("columns", [20, 33, 80])
def test_long_text_of_wide_characters_vanishes_whole_on_any_width(columns, bench):
    script = [["text:" + "漢字 wide words " * 8, "gate:seen", "cut"], ["text:short"]]
    with (
        ScriptedProvider(script) as provider,
        bench.terminal(*bench.working(provider, "x"), columns=columns) as terminal,
    ):
        terminal.wait_for("words")
        provider.open_gate("seen")
        assert terminal.end() == 0
    shown = terminal.display.text()
    assert "wide words" not in shown
    assert "漢" not in shown
    assert "short" in shown
    assert shown.startswith("thread ")


def test_text_that_scrolled_off_is_marked_void(bench):
    script = [["text:" + "line\n" * 12 + "end", "gate:seen", "cut"], ["text:short"]]
    with ScriptedProvider(script) as provider, bench.terminal(*bench.working(provider, "x"), rows=8) as terminal:
        terminal.wait_for("end")
        provider.open_gate("seen")
        assert terminal.end() == 0
    shown = terminal.display.text()
    assert "✗ VOID: the text above, from this round's beginning, does not hold" in shown
    assert shown.index("VOID") < shown.index("✗ attempt 1") < shown.index("short")


def test_dumb_terminal_gets_a_mark_instead_of_escape_sequences(bench):
    script = [["text:gone", "cut"], ["text:kept"]]
    with ScriptedProvider(script) as provider, bench.terminal(*bench.working(provider, "x"), TERM="dumb") as terminal:
        assert terminal.end() == 0
    assert "VOID" in terminal.display.text()
    assert "\x1b" not in terminal.raw


def test_no_color_leaves_out_colours(bench):
    with (
        ScriptedProvider([["text:ok"]]) as provider,
        bench.terminal(*bench.working(provider, "x"), NO_COLOR="1") as terminal,
    ):
        assert terminal.end() == 0
    assert "\x1b" not in terminal.raw


def test_control_and_escape_characters_of_model_and_tool_do_nothing(bench):
    (bench.workspace / "evil.txt").write_text("\x1b]0;title\x07\x1b[2Jcleared")
    script = [
        ["text:a\x1b[2J\x07\x9bb\u202ec", 'tool:read_file({"path":"evil.txt"})'],
        ["text:\x1b[", "text:2Jend\x1b]"],
    ]
    with ScriptedProvider(script) as provider, bench.terminal(*bench.working(provider, "x")) as terminal:
        assert terminal.end() == 0
    assert "\nac\n" in terminal.display.text()
    assert "read_file returned: cleared" in terminal.display.text()
    assert "\nend\n" in terminal.display.text()
    assert terminal.display.unknown == []
    assert "\x1b[2J" not in terminal.raw


def test_allowed_write_shows_its_diff_first_and_happens(bench):
    (bench.workspace / "a.txt").write_text("old\nsame")
    with (
        ScriptedProvider([[WRITE], ["text:Written."]]) as provider,
        bench.terminal(*bench.working(provider, "x")) as terminal,
    ):
        terminal.wait_for("Allow?")
        shown = terminal.display.text()
        assert (bench.workspace / "a.txt").read_text() == "old\nsame"
        terminal.type("y\n")
        assert terminal.end() == 0
    assert "-old\n+new\n same" in shown
    assert (bench.workspace / "a.txt").read_text() == "new\nsame"
    assert "Written." in terminal.display.text()


def test_denied_write_does_not_happen_and_the_model_is_told(bench):
    with (
        ScriptedProvider([[WRITE], ["text:Then not."]]) as provider,
        bench.terminal(*bench.working(provider, "x")) as terminal,
    ):
        terminal.wait_for("Allow?")
        assert "+new" in terminal.display.text()
        for times, typed in enumerate(("maybe", "y but not there"), 1):
            terminal.type(f"{typed}\n")
            terminal.wait_for("Type y, s or n; after n the model is told why.", times=times)
            terminal.wait_for("Allow?", times=times + 1)
        terminal.type("n  Not this file.\n")
        assert terminal.end() == 0
        assert provider.requests[1].holds("A person denied this call of write_file")
        assert provider.requests[1].holds("Not this file.")
    assert not (bench.workspace / "a.txt").exists()


def test_session_answer_covers_later_calls_of_that_tool_and_no_other(bench):
    script = [[FIRST], [SECOND, WRITE], ["text:Done."]]
    with ScriptedProvider(script) as provider, bench.terminal(*bench.working(provider, "x")) as terminal:
        terminal.wait_for("$ echo 1 >> count.txt")
        terminal.wait_for("Allow?")
        terminal.type("s\n")
        terminal.wait_for("Allow?", times=2)
        assert "write_file (write) asks to run" in terminal.display.text()
        assert (bench.workspace / "count.txt").read_text() == "1\n2\n"
        terminal.type("n\n")
        assert terminal.end() == 0
    shown = terminal.display.text()
    assert shown.count("Allow?") == 2
    assert "parked" not in shown
    assert "going on" not in shown


def test_question_shows_control_characters_of_a_command(bench):
    command = json.dumps({"command": "echo safe\rrm -rf x"})
    script = [[f"tool:shell({command})"], ["text:ok"]]
    with ScriptedProvider(script) as provider, bench.terminal(*bench.working(provider, "x")) as terminal:
        terminal.wait_for("Allow?")
        assert r"$ echo safe\x0drm -rf x" in terminal.display.text()
        terminal.type("n\n")
        assert terminal.end() == 0


def test_answer_typed_before_the_question_counts_for_nothing(bench):
    script = [["text:begun", "gate:typed", WRITE], ["text:ok"]]
    with ScriptedProvider(script) as provider, bench.terminal(*bench.working(provider, "x")) as terminal:
        terminal.wait_for("begun")
        terminal.type("y\n")
        terminal.wait_for("y")
        provider.open_gate("typed")
        terminal.wait_for("Allow?")
        terminal.type("n\n")
        assert terminal.end() == 0
    assert not (bench.workspace / "a.txt").exists()


def test_end_of_input_at_a_question_leaves_the_turn_parked_and_it_goes_on_later(bench):
    with ScriptedProvider([[WRITE], ["text:Written."]]) as provider:
        with bench.terminal(*bench.working(provider, "x", "--thread", "t")) as terminal:
            terminal.wait_for("Allow?")
            terminal.type("\x04")
            assert terminal.end() == 7
        assert "parked: `stoic run --thread t` asks again" in terminal.display.text()
        assert "parked (permission)" in bench.stoic("threads").stdout
        done = bench.stoic(*bench.working(provider, "--thread", "t", "--yes"))
    assert (done.returncode, done.stdout) == (0, "Written.\n")
    assert (bench.workspace / "a.txt").exists()


def test_new_message_to_a_parked_thread_has_the_old_question_answered_first(bench):
    with ScriptedProvider([[WRITE], ["text:Written."], ["text:Second answer."]]) as provider:
        with bench.terminal(*bench.working(provider, "x", "--thread", "t")) as terminal:
            terminal.wait_for("Allow?")
            terminal.type("\x04")
            assert terminal.end() == 7
        with bench.terminal(*bench.working(provider, "more", "--thread", "t")) as terminal:
            terminal.wait_for("Allow?")
            terminal.type("y\n")
            assert terminal.end() == 0
        assert provider.requests[2].holds("more")
    shown = terminal.display.text()
    assert shown.index("Written.") < shown.index("Second answer.")


def test_ctrl_c_while_streaming_exits_130_and_the_thread_goes_on(bench):
    with ScriptedProvider([["text:half", "gate:never"], ["text:whole"]]) as provider:
        with bench.terminal(*bench.working(provider, "one", "--thread", "t")) as terminal:
            terminal.wait_for("half")
            terminal.interrupt()
            assert terminal.end() == 130
        assert "cancelled: The turn was cancelled." in terminal.display.text()
        done = bench.stoic(*bench.working(provider, "two", "--thread", "t"))
    assert (done.returncode, done.stdout) == (0, "whole\n")


def test_ctrl_c_at_a_question_cancels_the_turn_and_runs_nothing(bench):
    with ScriptedProvider([[WRITE], ["text:whole"]]) as provider:
        with bench.terminal(*bench.working(provider, "one", "--thread", "t")) as terminal:
            terminal.wait_for("Allow?")
            terminal.interrupt()
            assert terminal.end() == 130
        done = bench.stoic(*bench.working(provider, "two", "--thread", "t"))
    assert (done.returncode, done.stdout) == (0, "whole\n")
    assert not (bench.workspace / "a.txt").exists()


def test_ctrl_c_while_a_command_runs_kills_it_and_says_that_its_effect_is_unknown(bench):
    for name in ("started", "block"):
        os.mkfifo(bench.workspace / name)
    command = json.dumps({"command": "echo $$ > started; cat block"})
    with ScriptedProvider([[f"tool:shell({command})"], ["text:whole"]]) as provider:
        with bench.terminal(*bench.working(provider, "one", "--thread", "t", "--yes")) as terminal:
            process = int((bench.workspace / "started").read_text())
            terminal.wait_for("▶ shell")
            terminal.interrupt()
            assert terminal.end() == 130
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
        assert "? shell effect UNKNOWN" in terminal.display.text()
        done = bench.stoic(*bench.working(provider, "two", "--thread", "t"))
        assert provider.requests[1].holds("Effect unknown")
    assert done.returncode == 0


def test_second_ctrl_c_leaves_at_once_with_the_turn_open(bench):
    # A command that does not die of a closed pipe holds up the first Ctrl-C until the second one comes.
    os.mkfifo(bench.workspace / "started")
    os.mkfifo(bench.workspace / "block")
    command = json.dumps({"command": "setsid sh -c 'echo > started; cat block' & wait"})
    with ScriptedProvider([[f"tool:shell({command})"], ["text:whole"]]) as provider:
        with bench.terminal(*bench.working(provider, "one", "--thread", "t", "--yes")) as terminal:
            (bench.workspace / "started").read_text()
            terminal.wait_for("▶ shell")
            terminal.interrupt()
            terminal.wait_for("stopping (Ctrl-C again leaves at once)")
            terminal.interrupt()
            assert terminal.end() == 130
        (bench.workspace / "block").write_text("")  # lets the command that left its group end
        assert json.loads(bench.stoic("threads", "--json").stdout)["state"] == "open"
        done = bench.stoic(*bench.working(provider, "--thread", "t"))
        assert provider.requests[1].holds("Effect unknown")
    assert (done.returncode, done.stdout) == (0, "whole\n")
