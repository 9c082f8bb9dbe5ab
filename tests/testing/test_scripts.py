"""The script language: every word of the case files, and one clear line for everything else."""

import json
from pathlib import Path

import pytest

from stoic.errors import UsageError
from stoic.testing import load_cases, load_script, parse_script
from stoic.testing.replies import Exchange, Reply, Word

FOLDER = Path(__file__).parent.parent / "cases"
CASES = load_cases([FOLDER / "failures_wire.json", FOLDER / "refusals_wire.json"])
SCENARIOS = {case["id"]: case for case in json.loads((FOLDER / "failures_scenarios.json").read_bytes())}
REFUSALS = {case["id"]: case for case in json.loads((FOLDER / "refusals_scenarios.json").read_bytes())["cases"]}

WORDS = [
    (["text:a: b", "stop"], Reply(label="reply 1", words=[Word(kind="text", text="a: b")])),
    (["stop"], Reply(label="reply 1")),
    ("ok", Reply(label="reply 1", words=[Word(kind="text", text="ok")])),
    ('tool:pay({"a":"(x)"})', Reply(label="reply 1", words=[Word(kind="call", name="pay", text='{"a":"(x)"}')])),
    (["half_tool:wipe(", "eof"], Reply(label="reply 1", words=[Word(kind="half_call", name="wipe")], end="eof")),
    (
        ['half_tool:w({"p": "/a', "cut"],
        Reply(label="reply 1", words=[Word(kind="half_call", name="w", text='{"p": "/a')], end="cut"),
    ),
    (["text:x", "finish:length"], Reply(label="reply 1", words=[Word(kind="text", text="x")], finish="length")),
    (["B", "text:x"], Reply(label="reply 1", words=[Word(kind="text", text="x")], route="B")),
    (
        ["gate:g", "delay:5ms", "hang"],
        Reply(label="reply 1", words=[Word(kind="gate", text="g"), Word(kind="delay", text="5"), Word(kind="hang")]),
    ),
    (
        ["text:x", "cut_at_byte:7", "model:other", "reset"],
        Reply(label="reply 1", words=[Word(kind="text", text="x")], cut_at_byte=7, model="other", end="reset"),
    ),
    (
        {"status": 429, "headers": {"a": "b"}, "body": {}},
        Reply(label="reply 1", exchange=Exchange(status=429, headers={"a": "b"}, body={})),
    ),
    (
        {"sse": [{"comment": "x"}], "end": "cut"},
        Reply(label="reply 1", exchange=Exchange(sse=[{"comment": "x"}]), end="cut"),
    ),
    (
        {"words": ["text:x"], "delay_ms": 5, "hang": True, "route": "A"},
        Reply(label="reply 1", words=[Word(kind="text", text="x")], delay_ms=5, hang=True, route="A"),
    ),
]


@pytest.mark.parametrize(("entry", "reply"), WORDS)
def test_entry_is_read_as_this_reply(entry, reply):
    assert parse_script([entry]).replies == [reply]


def test_repetition_repeats_the_reply():
    replies = parse_script(["wire:anthropic-529 x4", ["text:ok"]], CASES).replies
    assert [reply.label for reply in replies] == ["reply 1 wire:anthropic-529"] * 4 + ["reply 2"]


@pytest.mark.parametrize("case_id", SCENARIOS)
def test_every_failure_scenario_is_a_script(case_id):
    script = parse_script(SCENARIOS[case_id]["repro"]["script"], CASES)
    assert script.replies or script.rules


@pytest.mark.parametrize("case_id", REFUSALS)
def test_every_refusal_scenario_is_a_script(case_id):
    written = REFUSALS[case_id]["repro"]["provider_script"]
    script = parse_script(written, CASES)
    assert [rule.contains for rule in script.rules] == [rule["request_contains"] for rule in written["rules"]]
    assert script.default is not None


def test_patch_overrides_one_field_of_a_case_and_leaves_the_case_alone():
    rule = {
        "request_contains": "x",
        "reply": "anthropic.refusal.pre_output.cyber",
        "patch": {"stop_details.explanation": "new"},
    }
    exchange = parse_script({"rules": [rule]}, CASES).rules[0].reply.exchange
    assert exchange is not None
    patched = exchange.body
    original = CASES["anthropic.refusal.pre_output.cyber"]["body"]
    assert patched["stop_details"] == {**original["stop_details"], "explanation": "new"}
    assert patched["content"] == original["content"]


FAULTS = [
    ("text", "a script is a list of replies or an object"),
    ({"reply": []}, "unknown key 'reply' in the script; known: replies, rules, default, cases"),
    ({"replies": 7}, "replies: a list was expected, not 7"),
    ([["shout:x"]], r"reply 1: 'shout:x' is not a word of the script language; words are text:"),
    ([["text:a"], [7]], "reply 2: 7 is not a word of the script language"),
    (["tool:pay"], "reply 1: 'tool:pay' is not a word"),
    ([["delay:soon"]], "reply 1: 'delay:soon' is not a word"),
    (["wire:none"], "reply 1: no case 'none'; give the file that holds it as cases"),
    (["wire:exc-dns"], "reply 1 wire:exc-dns: ConnectError cannot be caused by a server that listens"),
    ([{"stats": 200}], "reply 1: unknown key 'stats'; known: body, cut_at_byte"),
    ([{"status": "ok"}], "reply 1: Expected `int`, got `str`"),
    ([{"body": {}, "end": "soon"}], "reply 1: Invalid enum value 'soon'"),
    ({"rules": [{"reply": "ok"}]}, 'rule 1: a rule needs "request_contains"'),
    (
        {"rules": [{"request_contains": "x", "reply": "ok", "times": 0}]},
        'rule 1: "times" must be a whole number from 1, not 0',
    ),
    ({"rules": ["x"]}, "rule 1: an object was expected, not 'x'"),
]


@pytest.mark.parametrize(("script", "message"), FAULTS)
def test_fault_in_a_script_is_one_line_that_says_where(script, message):
    with pytest.raises(UsageError, match=message) as raised:
        parse_script(script, CASES)
    assert "\n" not in str(raised.value)


def test_script_file_finds_the_cases_it_names_and_those_beside_it(tmp_path):
    (tmp_path / "mine.json").write_text('{"cases": ["other.json"], "replies": ["wire:x"]}')
    (tmp_path / "other.json").write_text('[{"id": "x", "status": 503, "body": "busy"}]')
    assert load_script(tmp_path / "mine.json").replies[0].exchange == Exchange(status=503, body="busy")
    (tmp_path / "failures_wire.json").write_text('[{"id": "y", "status": 500}]')
    (tmp_path / "plain.json").write_text('["wire:y"]')
    assert load_script(tmp_path / "plain.json").replies[0].exchange == Exchange(status=500)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.json", None, "cannot read the script .*absent.json: No such file"),
        ("broken.json", "[", "broken.json is not JSON: .*; correct it there"),
        ("wrong.json", '[["shout:x"]]', "wrong.json: reply 1: 'shout:x' is not a word"),
        ("lost.json", '{"cases": "gone.json"}', "cannot read the cases .*gone.json: No such file"),
    ],
)
def test_unusable_script_file_is_one_line_that_names_it(name, content, message, tmp_path):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=message):
        load_script(tmp_path / name)
