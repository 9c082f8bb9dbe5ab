"""What `stoic run` takes beside its prompt: --continue, --image, --max-cost, --max-seconds, and the workspace's AGENTS.md."""

import base64
import json
import os

import pytest

from stoic.cli.guidance import LIMIT_BYTES as GUIDANCE_BYTES
from stoic.cli.pictures import LIMIT_BYTES as IMAGE_BYTES
from stoic.cli.pictures import media_type_of
from stoic.testing import ScriptedProvider

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def system_of(request) -> str:
    return request.json["messages"][0]["content"]


# ---- --continue -----------------------------------------------------------------------------------


def test_continue_takes_the_thread_with_the_latest_activity(bench):
    with ScriptedProvider([["text:ok"]] * 4) as provider:
        for prompt, thread in (("one", "first"), ("two", "second"), ("three", "first")):
            bench.stoic(*bench.working(provider, prompt, "--thread", thread))
        done = bench.stoic(*bench.working(provider, "four", "--continue", "--json"))
    assert json.loads(done.stdout.splitlines()[-1])["thread"] == "first"


def test_continue_without_a_prompt_goes_on_with_the_open_turn(bench):
    write = 'tool:write_file({"path":"a.txt","content":"new"})'
    with ScriptedProvider([[write], ["text:Written."]]) as provider:
        with bench.terminal(*bench.working(provider, "x", "--thread", "t")) as terminal:
            terminal.wait_for("Allow?")
            terminal.type("\x04")
            assert terminal.end() == 7
        done = bench.stoic(*bench.working(provider, "--continue", "--yes"))
    assert (done.returncode, done.stdout) == (0, "Written.\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["hi", "--continue"], "--continue: there is no log at"),
        (["hi", "--continue", "--thread", "t"], "--continue and --thread both name a thread"),
        (["hi", "--max-seconds", "0"], "--max-seconds is 0; it must be a number above 0"),
        (["hi", "--max-seconds", "nan"], "--max-seconds is nan; it must be a number above 0"),
        (["hi", "--max-cost", "-1"], "--max-cost is -1; it must be a number above 0"),
        (["hi", "--max-cost", "1"], "no price of openai-chat:m is known"),
        (["--thread", "t", "--image", "a.png"], "--image goes with a message"),
        (["hi", "--image", "none.png"], "image 'none.png' does not exist"),
        (["hi", "--image", "."], "image '.' is not a file"),
    ],
)
def test_option_that_cannot_be_is_one_line_and_sends_and_stores_nothing(arguments, said, bench):
    with ScriptedProvider([["text:ok"]]) as provider:
        done = bench.stoic(*bench.working(provider, *arguments))
        assert provider.requests == []
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
    assert not bench.database.exists()


# ---- --image --------------------------------------------------------------------------------------


def test_images_are_told_by_their_first_bytes_and_sent_with_the_message(bench):
    for name in ("a.txt", "b"):
        (bench.folder / name).write_bytes(PNG)
    with ScriptedProvider([["text:a dot"]]) as provider:
        done = bench.stoic(*bench.working(provider, "what is it?", "--thread", "t", "--image", "a.txt", "--image", "b"))
        content = provider.requests[0].json["messages"][-1]["content"]
    assert (done.returncode, done.stdout) == (0, "a dot\n")
    urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    assert urls == [f"data:image/png;base64,{base64.b64encode(PNG).decode()}"] * 2
    assert f"[image/png, {len(PNG)} bytes]" in bench.stoic("show", "t").stdout


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"just text", "is none of PNG, JPEG, GIF or WebP"),
        (b"", "is none of PNG, JPEG, GIF or WebP"),
        (PNG[:8] + bytes(IMAGE_BYTES), "has 5,000,008 bytes, more than 5,000,000 (5 MB)"),
    ],
    ids=["text", "empty", "large"],
)
def test_image_that_cannot_be_sent_is_one_line(data, said, bench):
    (bench.folder / "a.png").write_bytes(data)
    with ScriptedProvider([["text:ok"]]) as provider:
        done = bench.stoic(*bench.working(provider, "hi", "--image", "a.png"))
        assert provider.requests == []
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\nrest", "image/png"),
        (b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        (b"GIF87arest", "image/gif"),
        (b"GIF89arest", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", None),
        (b"<svg/>", None),
    ],
)
def test_first_bytes_tell_the_media_type(data, media_type):
    assert media_type_of(data) == media_type


# ---- --max-cost, --max-seconds --------------------------------------------------------------------


def test_max_cost_stops_the_turn_of_a_model_whose_price_is_known(bench):
    call = 'tool:read_file({"path":"x"})'
    with ScriptedProvider([[call], [call], ["text:never"]]) as provider:
        where = ["--workspace", str(bench.workspace), "--model", "openai-chat:gpt-4o", "--base-url", provider.base_url]
        done = bench.stoic("run", "hi", "--max-cost", "0.0000001", "--json", *where)
        assert len(provider.requests) == 1
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, outcome["outcome"], outcome["reason"]) == (6, "stopped", "budget")
    assert outcome["cost_usd"] > 0.0000001


def test_max_seconds_stops_a_turn_that_waits(bench):
    with ScriptedProvider([["text:half", "gate:never"]]) as provider:
        done = bench.stoic(*bench.working(provider, "hi", "--max-seconds", "0.5", "--json"))
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, outcome["outcome"], outcome["reason"]) == (6, "stopped", "budget")


# ---- AGENTS.md ------------------------------------------------------------------------------------


def test_agents_file_ends_the_instructions_with_the_same_bytes_each_time(bench):
    (bench.workspace / "AGENTS.md").write_text("Speak of {braces} and ünïcode.\n\n")
    with ScriptedProvider([["text:ok"]] * 2) as provider:
        for prompt in ("one", "two"):
            assert bench.stoic(*bench.working(provider, prompt)).returncode == 0
        first, second = (system_of(request) for request in provider.requests)
    assert first == second
    assert first.endswith("AGENTS.md for whoever works in it. It says:\n\nSpeak of {braces} and ünïcode.\n")


def test_agents_file_below_the_root_counts_for_nothing(bench):
    (bench.workspace / "docs").mkdir()
    (bench.workspace / "docs" / "AGENTS.md").write_text("canary-4411")
    with ScriptedProvider([["text:ok"]]) as provider:
        bench.stoic(*bench.working(provider, "hi"))
        assert "AGENTS.md" not in system_of(provider.requests[0])


def test_large_agents_file_is_cut_at_a_line_and_a_person_is_told(bench):
    (bench.workspace / "AGENTS.md").write_text("a line of it\n" * 4_000)
    with ScriptedProvider([["text:ok"]]) as provider:
        done = bench.stoic(*bench.working(provider, "hi"))
        system = system_of(provider.requests[0])
    assert "AGENTS.md has 52,000 bytes; the first 32,760 are part of the instructions" in done.stderr
    assert system.endswith("a line of it\n\n[AGENTS.md goes on; read the file for the rest]\n")
    assert system.count("a line of it") == GUIDANCE_BYTES // 13


@pytest.mark.parametrize(
    ("kind", "why"),
    [("link", "it leads out of the workspace"), ("folder", "it is not a file"), ("pipe", "it is not a file")],
)
def test_agents_file_that_is_none_is_not_read_and_a_person_is_told(kind, why, bench):
    path = bench.workspace / "AGENTS.md"
    (bench.folder / "secret").write_text("canary-5522")
    make = {
        "link": lambda: path.symlink_to(bench.folder / "secret"),
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
    }
    make[kind]()
    with ScriptedProvider([["text:ok"]]) as provider:
        done = bench.stoic(*bench.working(provider, "hi"))
        assert not provider.requests[0].holds("canary-5522")
    assert f"AGENTS.md of the workspace was not read: {why}" in done.stderr
    assert done.returncode == 0
