"""`stoic scan` finds the same loops in other programs' recordings, and raises no false block there."""

import io
import json

import pytest
from tests.cli.recordings import FLAGLESS, FORMATS, has_failures, is_writable
from tests.core.loops.variants.collection import TRACES

from stoic.cli.scan import scan

EVERY = 17
"""Of each format only every seventeenth trace is run; which ones differs by format."""


def verdicts(value, *, lines):
    text = "\n".join(json.dumps(item) for item in value) if lines else json.dumps(value)
    out, err = io.StringIO(), io.StringIO()
    code = scan("-", as_json=True, stdin=io.BytesIO(text.encode()), stdout=out, stderr=err)
    assert (code, err.getvalue()) == (0, "")
    return [json.loads(line)["verdict"] for line in out.getvalue().splitlines()]


def chosen():
    for offset, name in enumerate(FORMATS):
        writable = [trace for trace in TRACES if is_writable(trace, name)]
        step = 1 if name == "swe-agent" else EVERY
        for trace in writable[offset % step :: step]:
            yield pytest.param(name, trace, id=f"{name}-{trace['id']}")


@pytest.mark.parametrize(("name", "trace"), list(chosen()))
def test_recording_of_a_variant_gets_an_acceptable_verdict(name, trace):
    write, wrap, lines = FORMATS[name]
    [verdict] = verdicts(wrap(list(write(trace["calls"]))), lines=lines)
    unsaid = {"none", "warn"} if name in FLAGLESS and has_failures(trace) else set()
    assert verdict in {*trace["expect"]["acceptable"], *unsaid}


def test_compaction_in_a_codex_session_excuses_one_look():
    _, wrap, lines = FORMATS["codex"]
    calls = [{"tool": "read_file", "args": {"path": f"f{n}"}, "result": f"t{n}"} for n in range(14)]
    records = list(FORMATS["codex"][0](calls))
    compacted = {"timestamp": "2026-05-01T10:00:02Z", "type": "compacted", "payload": {"message": "x"}}
    assert verdicts(wrap([*records, compacted, *records[6:]]), lines=lines) == ["none"]


def test_recordings_without_a_call_hold_no_loop():
    assert verdicts({"model": "m", "messages": []}, lines=False) == ["none"]
    assert verdicts([{"role": "assistant", "content": "x", "tool_calls": [{"id": "a"}]}], lines=False) == ["none"]


def test_exit_code_beside_an_output_tells_a_failure():
    def denied():
        output = json.dumps({"output": "Permission denied (publickey).", "metadata": {"exit_code": 255}})
        for number in range(14):
            arguments = json.dumps({"command": f"ssh -p {number} h.example"})
            yield {"type": "function_call", "call_id": f"c{number}", "name": "shell", "arguments": arguments}
            yield {"type": "function_call_output", "call_id": f"c{number}", "output": output}

    assert verdicts(list(denied()), lines=False) == ["warn"]


def test_image_blocks_as_a_result_are_read_and_are_no_failure():
    calls = [{"tool": "screenshot", "args": {}, "result": n} for n in range(3)]
    messages = list(FORMATS["anthropic"][0](calls))
    for message in messages[2::2]:
        message["content"][0]["content"] = [{"type": "image", "source": {"type": "base64", "data": "aGk="}}]
    assert verdicts(messages, lines=False) == ["none"]
