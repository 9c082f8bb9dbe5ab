"""Each API's decoder and the classifier's reader of its shape mean the same by every recorded exchange."""

import asyncio
from pathlib import Path

import pytest

from stoic.core.classify import classify, report_from
from stoic.ports import Request
from stoic.testing import FakeClock, ScriptedProvider, load_cases
from stoic.wire.gemini_decoding import GeminiDecoder
from stoic.wire.messages_decoding import MessagesDecoder
from stoic.wire.responses_decoding import ResponsesDecoder
from stoic.wire.transport import HttpProvider

FOLDER = Path(__file__).parent.parent / "cases"
CASES = load_cases([FOLDER / "failures_wire.json", FOLDER / "refusals_wire.json"])
SERVED = {case_id: case for case_id, case in CASES.items() if case.get("exception") is None}
DECODERS = {"messages": MessagesDecoder, "responses": ResponsesDecoder, "generate": GeminiDecoder}


async def send_case(case_id, api):
    clock = FakeClock()
    async with ScriptedProvider([f"wire:{case_id}"], cases=CASES, checks=False) as scripted:
        wire = HttpProvider(clock, DECODERS)
        request = Request(
            url=scripted.base_url + "/chat/completions",
            headers={},
            body=b"{}",
            provider=SERVED[case_id]["provider"],
            api=api,
            model="m",
            deadline_ms=clock.now_ms() + 30_000,
        )
        report = await wire.send(request, lambda kind, text: None)
        await wire.close()
        return report


@pytest.mark.parametrize("case_id", SERVED)
@pytest.mark.parametrize("api", DECODERS)
def test_live_answer_means_what_its_recording_means(case_id, api):
    """Also where the answer has another shape than its API's: a gateway answers as it likes."""
    recorded = report_from(dict(SERVED[case_id]))
    live = asyncio.run(send_case(case_id, api))
    meant, expected = classify(live), classify(recorded)
    assert (meant.name, meant.where, meant.category, meant.scope) == (
        expected.name,
        expected.where,
        expected.category,
        expected.scope,
    )
    assert (meant.recovers_with, meant.after_output) == (expected.recovers_with, expected.after_output)
    if live.parts is not None:
        assert (live.finish, live.ended) == (recorded.finish, recorded.ended)
        assert live.served_model == recorded.served_model


def test_each_decoder_has_recordings_of_its_own_shape():
    for api in DECODERS:
        own = [case_id for case_id in SERVED if asyncio.run(send_case(case_id, api)).parts is not None]
        assert len(own) >= 5, api
