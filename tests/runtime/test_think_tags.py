"""A local server that leaves its model's reasoning in the text: the answer is the answer, and reasoning alone is none."""

from tests.runtime.harness import Bench, outcome, play


def test_answer_is_what_follows_the_thinking_and_only_it_is_sent_again(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            thread = bench.thread(runtime)
            assert outcome(await thread.run("go")).text == "Four."
            assert outcome(await thread.run("again")).text == "Five."
            assert b"Hm." not in bench.provider.requests[1].body
            assert b"Four." in bench.provider.requests[1].body

    play(tmp_path, [["text:<think>Hm.", "text:</think>Four.", "stop"], ["text:Five.", "stop"]], story)


def test_thinking_without_an_answer_is_an_empty_reply(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            ended = outcome(await bench.thread(runtime).run("go"))
            assert (ended.outcome, ended.failure_class) == ("failed", "empty_response")
            assert "Hm." not in ended.text
            assert len(bench.provider.requests) == 2

    play(tmp_path, [["text:<think>Hm.", "stop"], ["text:<think>Hm.</think>", "stop"]], story)
