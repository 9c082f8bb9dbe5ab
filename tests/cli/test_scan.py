"""`stoic scan`: every format gives the same verdicts, and bad input one line that says what and where."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from stoic.cli.scan import scan

CASES = Path(__file__).parents[1] / "cases" / "loops.json"


def run(path, *, as_json=True, stdin=b""):
    out, err = io.StringIO(), io.StringIO()
    code = scan(str(path), as_json=as_json, stdin=io.BytesIO(stdin), stdout=out, stderr=err)
    return code, out.getvalue(), err.getvalue()


def found(path):
    """Return (id, verdict, rule, at_call) of each trace."""
    code, out, err = run(path)
    assert (code, err) == (0, "")
    lines = [json.loads(line) for line in out.splitlines()]
    return [(line["id"], line["verdict"], line["rule"], line["at_call"]) for line in lines]


def write(tmp_path, value, name="run.json", lines=False):
    path = tmp_path / name
    text = "\n".join(json.dumps(one) for one in value) + "\n" if lines else json.dumps(value)
    path.write_text(text)
    return path


# ---- our own format ---------------------------------------------------------------------------


def test_every_open_case_is_right():
    expected = {case["id"]: case["expect"] for case in json.loads(CASES.read_text())["cases"]}
    results = found(CASES)
    assert [one[0] for one in results] == list(expected)
    for identity, verdict, _, at_call in results:
        expect = expected[identity]
        assert verdict in expect["acceptable"]
        if verdict == expect["verdict"] != "none":
            assert expect["at_call_range"][0] <= at_call <= expect["at_call_range"][1]


def test_one_object_a_line_holds_exactly_the_promised_fields(tmp_path):
    case = json.loads(CASES.read_text())["cases"][0]
    _, out, _ = run(write(tmp_path, case))
    assert list(json.loads(out)) == ["id", "verdict", "rule", "at_call", "message"]
    _, out, _ = run(write(tmp_path, {"id": "x", "calls": []}))
    assert json.loads(out) == {"id": "x", "verdict": "none", "rule": None, "at_call": None, "message": ""}


def test_one_trace_a_list_of_traces_and_one_a_line_give_the_same(tmp_path):
    cases = json.loads(CASES.read_text())["cases"][:4]
    expected = found(CASES)[:4]
    assert found(write(tmp_path, cases[0])) == expected[:1]
    assert found(write(tmp_path, cases)) == expected
    assert found(write(tmp_path, cases, lines=True)) == expected
    assert found(write(tmp_path, cases[0]["calls"], "bare.json"))[0][1:] == expected[0][1:]
    assert found(write(tmp_path, cases[0]["calls"], "bare.jsonl", lines=True))[0][1:] == expected[0][1:]


def test_stdin_and_a_byte_order_mark_are_read():
    data = b"\xef\xbb\xbf" + json.dumps({"calls": []}).encode()
    assert json.loads(run("-", stdin=data)[1])["id"] == "stdin"


def test_text_names_rule_calls_and_message(tmp_path):
    calls = [{"tool": "read", "args": {"path": "a"}, "result": "x"}] * 31
    calls[3:3] = [{"tool": "read", "args": {"path": "b"}, "result": "y"}]
    code, out, _ = run(write(tmp_path, [{"id": "t", "calls": calls}, {"id": "u", "calls": calls[:2]}]), as_json=False)
    assert code == 0
    assert out.startswith("t: block by rule global_breaker at call 32\n  calls: 1-3, 5-32\n  Not run: blocked by")
    assert out.endswith("\nu: no loop in 2 calls\n")


@pytest.mark.parametrize(
    ("entry", "count", "expected"),
    [
        (
            lambda n: {"event": "assistant", "text": "Again."},
            10,
            "block by rule text_repeat at text 10\n  texts: 1-10\n",
        ),
        (
            lambda n: {"tool": f"t{n}", "args": {}, "result": "?", "unknown_tool": True},
            11,
            "block by rule unknown_tool at call 11\n  calls: 1-11\n",
        ),
        (
            lambda n: {"tool": "grep", "args": {"pattern": f"{n}"}, "result": "same"},
            10,
            "warn by rule stagnation at call 10\n  calls: 1-10\n",
        ),
        (
            lambda n: {"tool": "read", "args": {"path": f"{n % 2}"}, "result": "same"},
            33,
            "block by rule global_breaker at call 33\n  calls: 3-33\n",
        ),
        (
            lambda n: {"tool": "read", "args": {"path": f"{n % 2}"}, "result": "same"},
            12,
            "warn by rule no_new_information at call 12\n  calls: 3-12\n",
        ),
        (
            lambda n: {"tool": "get", "args": {"url": f"http://h/{n}"}, "result": "forbidden", "error": True},
            21,
            "block by rule same_error_varied_args at call 21\n  calls: 1-21\n",
        ),
    ],
)
def test_text_lists_the_calls_that_a_rule_counted(tmp_path, entry, count, expected):
    path = write(tmp_path, {"id": "t", "calls": [entry(n) for n in range(count)]})
    assert run(path, as_json=False)[1].startswith(f"t: {expected}")


def test_a_call_without_its_result_is_asked_about_but_not_counted(tmp_path):
    calls = [{"tool": "read", "args": {}, "result": "x"}] * 30
    open_call = {"tool": "read", "args": {}}
    assert found(write(tmp_path, {"id": "t", "calls": [*calls, open_call]})) == [("t", "block", "global_breaker", 31)]
    assert found(write(tmp_path, {"id": "t", "calls": [open_call] * 40})) == [("t", "none", None, None)]


def test_tool_policies_are_respected(tmp_path):
    calls = [{"tool": "x", "args": {"a": n}, "result": "same"} for n in range(40)]
    keyed = [{"tool": "x", "args": {"a": n, "b": 1}, "result": "same"} for n in range(40)]
    policy = {"effect": "poll", "frozen_limit": 5, "loop_key": ["b"]}
    assert found(write(tmp_path, {"id": "t", "calls": calls, "tools": {"x": policy}}))[0][1] == "none"
    assert found(write(tmp_path, {"id": "t", "calls": keyed, "tools": {"x": policy}})) == [
        ("t", "block", "poll_no_progress", 6)
    ]


# ---- foreign formats ----------------------------------------------------------------------------

COUNT = 31
ARGUMENTS = {"path": "a.txt"}


def chat(count=COUNT):
    yield {"role": "system", "content": "You help."}
    yield {"role": "user", "content": "Go."}
    for n in range(count):
        function = {"name": "read_file", "arguments": json.dumps(ARGUMENTS)}
        yield {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{n}", "type": "function", "function": function}],
        }
        yield {"role": "tool", "tool_call_id": f"c{n}", "content": [{"type": "text", "text": "same"}]}


def old_chat(count=COUNT):
    for _ in range(count):
        yield {"role": "assistant", "content": "", "function_call": {"name": "read_file", "arguments": "{}"}}
        yield {"role": "function", "name": "read_file", "content": "same"}


def responses(count=COUNT):
    yield {"role": "user", "content": [{"type": "input_text", "text": "Go."}]}
    for n in range(count):
        yield {"type": "reasoning", "summary": []}
        yield {"type": "function_call", "call_id": f"c{n}", "name": "read_file", "arguments": json.dumps(ARGUMENTS)}
        yield {"type": "function_call_output", "call_id": f"c{n}", "output": "same"}
    yield {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}


def shell_responses(count=COUNT):
    for n in range(count):
        yield {"type": "local_shell_call", "call_id": f"c{n}", "action": {"type": "exec", "command": ["ls"]}}
        yield {
            "type": "local_shell_call_output",
            "call_id": f"c{n}",
            "output": "Exit code: 1\nWall time: 0.1 seconds\n",
        }


def anthropic(count=COUNT):
    yield {"role": "user", "content": "Go."}
    yield from anthropic_rounds(count)


def anthropic_rounds(count):
    for n in range(count):
        use = {"type": "tool_use", "id": f"t{n}", "name": "read_file", "input": ARGUMENTS}
        yield {"role": "assistant", "content": [{"type": "text", "text": f"Step {n}"}, use]}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": [{"type": "text", "text": "same"}]}
        yield {
            "role": "user",
            "content": [result, {"type": "text", "text": "<system-reminder>go on</system-reminder>"}],
        }


def session(count=COUNT):
    yield {"type": "summary", "summary": "A title", "leafUuid": "u"}
    yield {"type": "user", "uuid": "u", "message": {"role": "user", "content": "Go."}}
    for n, message in enumerate(anthropic_rounds(count)):
        content: Any = message["content"]
        blocks = [block for block in content if block.get("type") != "text"]
        kind = message["role"]
        yield {
            "type": kind,
            "uuid": f"u{n}",
            "isSidechain": False,
            "message": {**message, "id": f"m{n}", "content": blocks},
        }
        if kind == "user":
            hook = {"role": "user", "content": "Stop hook feedback: not done"}
            yield {"type": "user", "isMeta": True, "message": hook}
            yield {"type": "system", "subtype": "informational", "content": "x"}
    error = {"role": "assistant", "content": [{"type": "text", "text": "API Error"}]}
    yield {"type": "assistant", "isApiErrorMessage": True, "message": error}


def openhands(count=COUNT):
    yield {"id": 0, "source": "user", "action": "message", "args": {"content": "Go."}}
    yield {"id": 1, "source": "user", "action": "recall", "args": {"query": "Go."}}
    for n in range(count):
        here, args = 2 * n + 2, {"command": "ls", "thought": f"thought {n}", "hidden": False}
        yield {"id": here, "source": "agent", "action": "run", "args": args}
        extras = {"command": "ls", "metadata": {"exit_code": 2, "pid": n}}
        yield {
            "id": here + 1,
            "source": "agent",
            "observation": "run",
            "cause": here,
            "content": "same",
            "extras": extras,
        }


def openhands_sdk(count=COUNT):
    yield {"kind": "SystemPromptEvent", "source": "agent"}
    message = {"role": "user", "content": [{"type": "text", "text": "Go."}]}
    yield {"kind": "MessageEvent", "source": "user", "llm_message": message}
    for n in range(count):
        call = {"id": f"c{n}", "name": "terminal", "arguments": json.dumps({"command": "ls", "summary": f"look {n}"})}
        yield {
            "kind": "ActionEvent",
            "source": "agent",
            "tool_name": "terminal",
            "tool_call_id": f"c{n}",
            "tool_call": call,
        }
        seen = {"kind": "TerminalObservation", "content": [{"type": "text", "text": "same"}], "exit_code": 1}
        yield {"kind": "ObservationEvent", "source": "environment", "tool_call_id": f"c{n}", "observation": seen}


def swe_agent(count=COUNT):
    for n in range(count):
        yield {"action": "ls -F\n", "observation": "same", "response": f"r{n}", "thought": f"r{n}", "messages": []}


def mini(count=COUNT):
    yield {"role": "system", "content": "You help."}
    yield {"role": "user", "content": "Go."}
    for n in range(count):
        yield {"role": "assistant", "content": f"THOUGHT: {n}\n\n```bash\nls  -F\n```"}
        yield {"role": "user", "content": "<returncode>2</returncode>\n<output>same</output>"}


def mini_calls(count=COUNT):
    yield from chat(count)


def shapes():
    yield "chat", list(chat()), False
    yield "chat, one a line", list(chat()), True
    yield "chat request", {"model": "m", "messages": list(chat())}, False
    yield "chat with function_call", list(old_chat()), False
    yield "responses", list(responses()), False
    yield "responses request", {"model": "m", "input": list(responses())}, False
    yield "responses shell", list(shell_responses()), False
    yield "anthropic", list(anthropic()), False
    yield "anthropic request", {"model": "m", "max_tokens": 1, "messages": list(anthropic())}, False
    yield "session", list(session()), True
    yield "openhands", list(openhands()), False
    yield "openhands evaluation", {"instance_id": "i", "history": list(openhands())}, False
    events = list(openhands())
    yield "openhands pairs", {"history": [[*events[:2]], *[events[n : n + 2] for n in range(2, 64, 2)]]}, False
    yield "openhands sdk", list(openhands_sdk()), False
    yield "openhands sdk events", {"events": list(openhands_sdk())}, False
    yield "swe-agent", {"trajectory": list(swe_agent()), "history": [], "info": {}}, False
    yield "swe-agent steps", list(swe_agent()), False
    yield "mini", {"messages": list(mini()), "info": {}, "trajectory_format": "mini-swe-agent-1"}, False
    yield "mini with calls", {"messages": list(mini_calls()), "trajectory_format": "mini-swe-agent-2"}, False


@pytest.mark.parametrize(("value", "lines"), [shape[1:] for shape in shapes()], ids=[shape[0] for shape in shapes()])
def test_the_same_loop_is_found_in_every_format(tmp_path, value, lines):
    [(_, verdict, rule, at_call)] = found(write(tmp_path, value, lines=lines))
    assert (verdict, rule, at_call) == ("block", "global_breaker", 31)


def test_a_trace_is_named_by_the_file_or_by_itself(tmp_path):
    assert found(write(tmp_path, list(chat(1)), "my.run.json"))[0][0] == "my.run"
    assert found(write(tmp_path, {"instance_id": "i", "history": list(openhands(1))}))[0][0] == "i"
    several = [{"messages": list(chat(1))}, {"messages": list(chat(1))}]
    assert [one[0] for one in found(write(tmp_path, several, lines=True))] == ["run:1", "run:2"]


def test_a_person_s_message_resets_and_a_reminder_does_not(tmp_path):
    asked = [*list(chat(20)), {"role": "user", "content": "Go on."}, *list(chat(20))[2:]]
    assert found(write(tmp_path, asked))[0][1] == "warn"
    caveat = {"role": "user", "content": "Caveat: The messages below were generated by local commands"}
    reminded = [*list(anthropic(20)), caveat, *list(anthropic(20))[1:]]
    assert found(write(tmp_path, reminded))[0][1] == "block"


def test_a_compaction_in_a_session_excuses_one_look(tmp_path):
    boundary = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
    summary = {
        "type": "user",
        "isCompactSummary": True,
        "message": {"role": "user", "content": "This session continues"},
    }
    records = list(session(30))
    again = list(session(2))[2:]
    assert found(write(tmp_path, [*records, boundary, summary, *again], lines=True))[0][3] == 32
    assert found(write(tmp_path, [*records, *again], lines=True))[0][3] == 31
    items = [*responses(30), {"type": "compaction", "encrypted_content": "x"}, *list(responses(2))[1:]]
    assert found(write(tmp_path, items))[0][3] == 32


def test_a_side_chain_is_a_trace_of_its_own(tmp_path):
    side = [{**record, "isSidechain": True, "agentId": "a1"} for record in session(31) if record["type"] != "summary"]
    results = found(write(tmp_path, [*session(3), *side], "s.jsonl", lines=True))
    assert [one[:2] for one in results] == [("s", "none"), ("s:a1", "block")]


def test_a_tool_that_does_not_exist_is_told_from_one_that_fails(tmp_path):
    def use(n, text):
        yield {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": f"t{n}", "name": f"T{n}", "input": {"n": n}}],
        }
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": text, "is_error": True}
        yield {"role": "user", "content": [result]}

    missing = [one for n in range(11) for one in use(n, f"<tool_use_error>Error: No such tool available: T{n}")]
    failing = [one for n in range(11) for one in use(n, "command not found")]
    assert found(write(tmp_path, missing))[0][1:] == ("block", "unknown_tool", 11)
    assert found(write(tmp_path, failing))[0][1] == "none"

    def act(n):
        call = {"function": {"name": "frob", "arguments": ""}}
        yield {
            "kind": "ActionEvent",
            "tool_name": "frob",
            "tool_call_id": f"c{n}",
            "tool_call": call,
            "action": {"n": n},
        }
        yield {"kind": "AgentErrorEvent", "tool_call_id": f"c{n}", "error": "Tool 'frob' not found. Available: ['x']"}

    assert found(write(tmp_path, [one for n in range(11) for one in act(n)]))[0][2:] == ("unknown_tool", 11)


def test_texts_of_every_format_are_watched(tmp_path):
    said = "I will write the schema now."
    chat_texts = [{"role": "assistant", "content": said}] * 10
    steps = [{"action": "", "observation": "", "thought": said}] * 10
    events = [{"source": "agent", "action": "message", "args": {"content": said}}] * 10
    message = {"role": "assistant", "content": [{"type": "text", "text": said}]}
    sdk = [{"kind": "MessageEvent", "source": "agent", "llm_message": message}] * 10
    mini_texts = {"messages": [{"role": "assistant", "content": said}] * 10, "trajectory_format": "mini-swe-agent-1"}
    for value in (chat_texts, steps, events, sdk, mini_texts):
        assert found(write(tmp_path, value))[0][1:] == ("block", "text_repeat", 10)


def test_events_that_are_no_calls_are_passed_over(tmp_path):
    events = [
        *openhands(30),
        {"source": "environment", "action": "condensation", "args": {}},
        {"source": "environment", "action": "message", "args": {"content": "keep going"}},
        {"source": "environment", "observation": "agent_state_changed", "content": "", "extras": {}},
        {"source": "agent", "id": 900, "action": "call_tool_mcp", "args": {"name": "get_x", "arguments": {"a": 1}}},
        {"source": "agent", "observation": "mcp", "cause": 900, "content": "x", "success": False},
        {"source": "agent", "timestamp": "t"},
    ]
    assert found(write(tmp_path, events))[0][1] == "warn"
    sdk = [
        *openhands_sdk(30),
        {"kind": "Condensation", "summary": "s"},
        {"kind": "ActionEvent", "tool_name": None, "tool_call_id": "n"},
        {"kind": "ActionEvent", "tool_name": "x", "tool_call_id": "r", "action": {"kind": "X", "a": 1}},
        {"kind": "UserRejectObservation", "tool_call_id": "r", "rejection_reason": "no"},
        {"kind": "MessageEvent", "source": "environment", "llm_message": {"content": "x"}},
    ]
    assert found(write(tmp_path, sdk))[0][1] == "warn"


def test_odd_but_possible_messages_are_read(tmp_path):
    messages = [
        {"role": "developer", "content": "x"},
        {"role": "user", "content": []},
        {"role": "assistant", "content": "x", "tool_calls": [{"id": "a", "function": None}, "odd"]},
        {"role": "assistant", "tool_calls": [{"id": "b", "custom": {"name": "patch", "input": "*** Begin"}}]},
        {"role": "tool", "tool_call_id": "b", "content": '{"error": "no"}'},
        {"role": "tool", "tool_call_id": "unheard of", "content": {"exit_code": 1}},
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": {"exit_code": 1}},
        {"type": "web_search_call", "status": "completed"},
        {"type": "function_call", "call_id": "d", "name": "f", "arguments": '{"half'},
    ]
    assert found(write(tmp_path, messages))[0][1] == "none"
    mini_odd = {
        "messages": ["odd", {"role": "user"}, {"role": "user"}, {"role": "user"}],
        "trajectory_format": "mini-swe-agent-1",
    }
    assert found(write(tmp_path, mini_odd))[0][1] == "none"


# ---- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "F: there is nothing in it; give a file with a recorded trace"),
        (b" \n\n", "F: there is nothing in it"),
        (b'{"cases": []}', "F: there is nothing in it"),
        (b'{"calls": [1,\n  2,, 3]}', "F:2:5: not JSON: JSON is malformed: invalid character; give"),
        (b'{"role": "user"}\n{"role": x}\n', "F:2:10: not JSON: JSON is malformed: invalid character; give"),
        (b'{"role": "user"}\n{"role": "us', "F:2:13: not JSON: Input data was truncated; give"),
        (b'{"a":\n "\xff"}', "F:2:3: not JSON: Invalid UTF-8"),
        (b"[" * 100_000, "F:1:1: not JSON: it is nested more than 100 levels deep; give"),
        (b'{"a": 1e999}', "F:1:1: not JSON: Number out of range"),
        (b'{"calls": []}\n{"calls": 5}\n', "F: element 2 is no trace like the others; give traces only"),
        (b"[]", "F: there is nothing in it; give a file with a recorded trace"),
        (b"3", "F: element 1 is no JSON object; give a list of calls, messages or events"),
        (b'[{"role": "user"}, 3]', "F: element 2 is no JSON object"),
        (b'{"some": "thing"}', "F: this is no trace that stoic knows; give calls as in the case files"),
        (b'{"calls": [3]}', "F: F: calls[0]: must be an object, a call or an event"),
        (b'{"id": "t", "calls": [{"args": {}}]}', "F: t: calls[0]: needs a `tool` (text) or an `event`"),
        (b'{"id": "t", "calls": [{"event": "x"}]}', "F: t: calls[0]: `event` must be assistant, user, nudge"),
        (b'{"cases": [{"id": "t"}]}', "F: cases[0]: a trace needs a list `calls`"),
        (b'{"calls": [], "tools": 3}', "F: F: `tools` must be an object of tools by name"),
        (b'{"calls": [], "tools": {"x": 3}}', "F: F: tools.x: a tool's policy must be an object"),
        (b'{"calls": [], "tools": {"x": {"effect": "y"}}}', "tools.x: `effect` must be one of read, write"),
        (b'{"calls": [], "tools": {"x": {"frozen_limit": 0}}}', "tools.x: `frozen_limit` must be a whole number"),
        (b'{"calls": [], "tools": {"x": {"frozen_limit": true}}}', "tools.x: `frozen_limit` must be a whole number"),
        (b'{"calls": [], "tools": {"x": {"loop_key": "a"}}}', "tools.x: `loop_key` must be a list of paths, not 'a'"),
        (b'{"calls": [], "tools": {"x": {"loop_key": [1]}}}', "tools.x: `loop_key` must be a list of paths, not [1]"),
        (b'[{"role": "user"}, {"content": "x"}]', "F: message 2 has neither `role` nor `type`; give a message list"),
        (
            b'{"type":"response_item","payload":{"type":"message","role":"user"}}\n{"type":"response_item"}',
            "F: record 2 has no `payload`; is this a whole session file?",
        ),
        (
            b'{"type":"user","message":{"role":"user"}}\n{"type":"user"}',
            "F: record 2 has no `message`; is this a whole session file?",
        ),
        (b'[{"action": "ls", "observation": ""}, {"x": 1}]', "F: step 2 needs `action` and `observation` as text"),
        (b'[{"source": "a", "action": "run"}, {"x": 1}]', "F: event 2 has no `action`, `observation`, `kind` or"),
    ],
)
def test_bad_input_is_one_line_that_says_what_and_where(tmp_path, data, message):
    path = tmp_path / "F"
    path.write_bytes(data)
    code, out, err = run(path)
    assert (code, out) == (2, "")
    assert err.startswith("stoic scan: ")
    assert err.count("\n") == 1
    assert message in err.replace(str(path), "F")


def test_a_file_that_cannot_be_read_is_one_line(tmp_path):
    assert run(tmp_path / "none")[0] == 2
    assert "cannot be read (No such file or directory); name a file that exists" in run(tmp_path / "none")[2]
    assert "cannot be read (Is a directory)" in run(tmp_path)[2]
    assert "cannot be read (embedded null byte)" in run("a\0b")[2]


def test_an_api_error_and_a_shell_command_without_a_name_are_read(tmp_path):
    items = [*shell_responses(1), {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}}]
    assert found(write(tmp_path, items))[0][1] == "none"
