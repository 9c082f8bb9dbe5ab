"""Answers of all four APIs as bytes, real ones to start from, and what the wire makes of them in any chunks."""

import json
from itertools import groupby, pairwise
from operator import itemgetter

from tests.fuzz.hostile import recorded, words_of, written
from tests.wire.apis import APIS, DECODERS

from stoic.ports import Request
from stoic.testing.replies import Reply, Word
from stoic.wire.answers import Answer, AnswerTooLargeError
from stoic.wire.facts import exception_fact
from stoic.wire.sse import SseParser
from stoic.wire.text import read_json
from stoic.wire.transport import HttpSettings

ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
SAID = [
    Word(kind="thinking", text="hm, so"),
    Word(kind="text", text="Paying now, é\u2028."),
    Word(kind="call", name="pay", text='{"amount": 1}'),
    Word(kind="call", name="look", text="{}"),
]
REPLIES = [
    Reply(label="whole", words=SAID),
    Reply(label="without its end", words=SAID, end="eof"),
    Reply(label="ended by [DONE] alone", words=SAID, end="done"),
    Reply(label="half a call", words=[Word(kind="half_call", name="pay", text='{"am')]),
    Reply(label="refused", words=[Word(kind="refusal", text="no")]),
    Reply(label="too long", words=SAID, finish="length", model="another"),
    Reply(label="empty", words=[]),
]
SMALL = HttpSettings(
    error_body_limit_bytes=300, answer_limit_bytes=3000, event_limit_bytes=500, answer_memory_limit_bytes=5000
)
"""Limits that an ordinary answer is beyond."""


def scripted(api):
    """Return what the scripted provider answers in the style of an API: streams and whole bodies."""
    style = APIS[api].style
    for reply in REPLIES:
        yield b"".join(piece for piece in style.stream(reply, ASKED, 1) if isinstance(piece, bytes))
        yield style.whole(reply, ASKED, 1)


def stream_of(events):
    """Return recorded events as the bytes of a stream."""
    lines = []
    for event in events:
        if "comment" in event:
            lines += [b": " + event["comment"].encode(), b""]
            continue
        data = event.get("data")
        text = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else written(data)
        name = event.get("event")
        lines += [b"event: " + name.encode("utf-8", "surrogatepass")] if isinstance(name, str) else []
        lines += [*(b"data: " + line for line in text.split(b"\n")), b""]
    return b"".join(line + b"\n" for line in lines)


def answers():
    """Return the bytes of every recorded answer."""
    for case in [*recorded("failures_wire"), *recorded("refusals_wire")]:
        body, events = case.get("body"), case.get("sse")
        if case.get("transport") == "sse":
            events = body
        if events:
            yield stream_of(events)
        elif body is not None:
            yield body.encode() if isinstance(body, str) else json.dumps(body).encode()


RECORDED = list(answers())
SEEDS = {api: [*scripted(api), *scripted(api), *RECORDED] for api in APIS}
"""Half of what is drawn speaks the API, the other half anything."""


def events_of(data):
    """Return the events of a stream, or a whole body as its only one."""
    parser = SseParser()
    events = [event for event in parser.feed(data) + parser.finish() if event.comment is None]
    return [{"event": event.name, "data": read_json(event.data)} for event in events] or [{"data": read_json(data)}]


EVENTS = {api: [events_of(data) for data in seeds] for api, seeds in SEEDS.items()}
WORDS = {api: words_of(values) for api, values in EVENTS.items()}


def asked(api):
    """Return the request that the answers are to."""
    return Request(url="http://x", headers={}, body=b"", provider="p", api=api, model="m", deadline_ms=0)


def received(api, data, cuts=(), *, status=200, kind=b"text/event-stream", settings=None):
    """Return the report of an answer that comes in chunks, as the transport makes it, and its deltas joined."""
    deltas = []
    decoder = DECODERS[api](asked(api), lambda what, text: deltas.append((what, text)))
    answer, error = Answer(decoder, settings or HttpSettings()), None
    answer.begin(status, [(b"content-type", kind)])
    try:
        for begin, end in pairwise([0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]):
            answer.feed(data[begin:end])
            if answer.enough:
                break
        else:
            answer.finish()
    except AnswerTooLargeError as raised:
        error = raised
    fact = exception_fact(error, after_first_byte=True) if error and not answer.ended else None
    heard = [(what, "".join(text for _, text in group)) for what, group in groupby(deltas, itemgetter(0))]
    return answer.report(asked(api), cut=error is not None, exception=fact, now_ms=0), heard
