"""Invariant 9 for each API: whatever happens in a thread, a request extends the last accepted one, and servers take it."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.wire.apis import APIS, OTHER_TOOL, PIXEL, TOOL

from stoic.core.notes import WITHHELD_RESULT
from stoic.records import Row, ViewChange
from stoic.runtime.plain_rendering import PlainRenderer
from stoic.runtime.transcript import Transcript
from stoic.wire.messages import MARKER, without_markers

TEXT = st.text(st.characters(codec=None), max_size=12)
"""Also empty, blank, and with single surrogates."""
WORDS = st.one_of(st.just("x"), st.just(MARKER.decode()), TEXT)
IMAGES = st.lists(st.just({"media_type": "image/png", "data_base64": PIXEL}), max_size=2)
ARGUMENTS = st.one_of(
    st.just('{"amount" : 1, "note": "a, b"}'),
    # A model that writes a breakpoint into its arguments, byte for byte, means it.
    st.just('{"a":1, "cache_control":{"type":"ephemeral"}}'),
    st.just("{}"),
    TEXT,
)
MAKERS = st.sampled_from([("p", "gemini-3-pro"), ("p", "gpt-5"), ("other", "gpt-5")])

THINKING = st.fixed_dictionaries(
    {"type": st.just("thinking"), "text": WORDS},
    optional={"signature": st.just("c2ln"), "redacted": st.just("b3BhcXVl"), "id": st.sampled_from(["rs_1", "rs_2"])},
)
SAID = st.fixed_dictionaries({"type": st.just("text"), "text": WORDS}, optional={"signature": st.just("c2ln")})
CALL = st.fixed_dictionaries(
    {
        "type": st.just("call"),
        "name": st.sampled_from(["pay", "look", "functions.pay", "größe !", "x" * 100, "7up", ""]),
        "arguments": ARGUMENTS,
    },
    optional={"signature": st.just("c2ln")},
)


class Log:
    """A thread's log as the runtime writes it: what a request was accepted with never changes again."""

    def __init__(self, renderer):
        self.transcript = Transcript(renderer)
        self.renderer = renderer
        self.rows = []
        self.turn = self.round = 0

    def add(self, kind, content, *, accepted=False, **fields):
        row = Row(
            id=str(len(self.rows)),
            thread="t",
            seq=len(self.rows) + 1,
            generation=0,
            segment="s",
            turn=self.turn,
            round=self.round,
            role="user",
            kind=kind,
            content=content,
            created_at=0,
            visible=True,
            accepted=accepted,
            **fields,
        )
        self.rows.append(row)
        self.transcript.fold(row)
        return row

    def body(self):
        return self.transcript.body(self.renderer.head("m", "be brief", [TOOL, OTHER_TOOL], {}))


def input_row(draw, log):
    images = draw(IMAGES)
    text = draw(WORDS if images else WORDS.filter(bool))
    return log.add("input", {"text": text} | ({"images": images} if images else {}))


def reply_row(draw, log):
    parts = draw(st.lists(st.one_of(THINKING, SAID, CALL), max_size=4))
    if not any(part["type"] == "call" or part["text"] for part in parts if part["type"] != "thinking"):
        parts.append({"type": "text", "text": "said"})
    provider, model = draw(MAKERS)
    log.add("reply", {"parts": parts}, accepted=True, meta={"provider": provider, "model": model})
    return [part for part in parts if part["type"] == "call"]


def result_rows(draw, log, calls):
    """Add results in any order, some of them failed, some missing; return those that came."""
    order = draw(st.permutations(range(len(calls))))
    rows = []
    for index in order[: draw(st.integers(0, len(order)))]:
        content = {"call": index, "text": draw(WORDS), "images": draw(IMAGES)}
        content |= {"failure": "tool_error"} if draw(st.booleans()) else {}
        rows.append(log.add("result", content))
    return rows


def quarantine(draw, log, rows):
    """Let placeholders stand for some results, and exclude an input, as a refused turn does."""
    changes = []
    for row in rows:
        if draw(st.booleans()):
            if row.kind == "result":
                view = {"text": WITHHELD_RESULT, "failure": "unknown"}
                changes.append(ViewChange(seq=row.seq, quarantine="placeholder", view=view))
            else:
                changes.append(ViewChange(seq=row.seq, quarantine="excluded"))
    log.transcript.fold_views(changes)


@pytest.mark.parametrize("plainly", [False, True])
@pytest.mark.parametrize("api", APIS)
@given(data=st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_each_request_extends_the_last_accepted_one(api, plainly, data):
    draw = data.draw
    tail = APIS[api].module.TAIL
    usual = APIS[api].make_renderer(*draw(MAKERS))
    log = Log(PlainRenderer(usual=usual) if plainly else usual)
    accepted = b""
    calls = []
    for _ in range(draw(st.integers(1, 5))):
        log.turn += 1
        rows = result_rows(draw, log, calls)
        rows += [input_row(draw, log) for _ in range(draw(st.integers(0, 2)))]
        if draw(st.booleans()):
            quarantine(draw, log, rows)
        # What is asked at last is never excluded: without anything new to answer nothing is sent.
        input_row(draw, log)
        body = log.body()
        check_body(log, api, body, usual)
        plain = without_markers(body)
        assert plain.startswith(accepted)
        if draw(st.booleans()):
            # The server took it and answered; otherwise the turn failed, and the next one begins from here.
            accepted = plain.removesuffix(tail)
            log.round += 1
            calls = reply_row(draw, log)
        else:
            calls = []


def check_body(log, api, body, usual):
    """A strict server takes it, and taking out breakpoints is taking out fields of blocks, nothing else."""
    style, plain = APIS[api].style, without_markers(body)
    request = json.loads(body)
    asked = request if api != "generate" else {"model": usual.model, **request}
    assert style.find_fault(asked) is None
    if api != "messages":
        assert plain == body
        return
    blocks = [*request["system"], *(block for message in request["messages"] for block in message["content"])]
    marked = [block for block in blocks if "cache_control" in block]
    assert len(marked) == body.count(MARKER)
    assert marked[0] is request["system"][-1]
    assert marked[-1] is request["messages"][-1]["content"][-1]
    assert len(marked) <= 4
    for block in marked:
        assert block.pop("cache_control") == {"type": "ephemeral"}
    assert json.loads(plain) == request


@pytest.mark.parametrize("api", APIS)
def test_log_that_begins_with_a_reply_is_taken_by_every_server(api):
    usual = APIS[api].make_renderer("p", "gpt-5")
    log = Log(usual)
    log.add("input", {"text": "gone"}, quarantine="excluded")
    log.add("reply", {"parts": [{"type": "text", "text": "hello"}]}, accepted=True)
    log.add("reply", {"parts": [{"type": "text", "text": "again"}]}, accepted=True)
    log.add("input", {"text": "hi"})
    check_body(log, api, log.body(), usual)
