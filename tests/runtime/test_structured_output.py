"""A final answer of a declared type, on every API, with one retry at most."""

import msgspec
import pytest
from pydantic import BaseModel
from tests.runtime.harness import Bench, outcome, play
from tests.runtime.test_fallback_scenarios import runtime_of

from stoic.runtime.agents import Agent


class City(BaseModel):
    name: str
    people: int


GOOD = 'Here it is:\n```json\n{"name": "Ulm", "people": 129000}\n```'
MODELS = ["openai-chat:m", "anthropic:m"]


@pytest.mark.parametrize("model", MODELS)
def test_the_answer_is_a_value_of_the_type(tmp_path, model: str):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            ended = outcome(await runtime.thread("t", Agent(model, output=City)).run("Which city?"))
            rows = await bench.rows(runtime)
        assert ended.value == City(name="Ulm", people=129000)
        assert rows[-1].content["value"] == {"name": "Ulm", "people": 129000}
        assert b"must be one JSON value of the type City" in bench.provider.requests[0].body

    play(tmp_path, [[f"text:{GOOD}", "stop"]], story)


def test_an_answer_that_does_not_fit_is_asked_for_once_more(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            ended = outcome(await runtime.thread("t", Agent("openai-chat:m", output=City)).run("Which city?"))
        assert ended.value == City(name="Ulm", people=129000)
        assert "people" in msgspec.json.decode(bench.provider.requests[1].body)["messages"][-1]["content"]

    play(tmp_path, [['text:{"name": "Ulm"}', "stop"], [f"text:{GOOD}", "stop"]], story)


def test_a_second_misfit_fails_and_the_thread_goes_on(tmp_path):
    async def story(bench: Bench) -> None:
        async with runtime_of(bench) as runtime:
            thread = runtime.thread("t", Agent("openai-chat:m", output=City))
            ended = outcome(await thread.run("Which city?"))
            assert (ended.outcome, ended.value, ended.text) == ("failed", None, "I do not know.")
            assert "does not fit the type City" in ended.message
            assert len(bench.provider.requests) == 2
            assert outcome(await thread.run("Try again")).outcome == "completed"

    play(tmp_path, [["text:Ulm.", "stop"], ["text:I do not know.", "stop"], [f"text:{GOOD}", "stop"]], story)
