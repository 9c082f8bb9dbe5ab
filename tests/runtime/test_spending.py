"""What a program asks its runtime of what was spent."""

import pytest
from tests.runtime.harness import Bench, outcome, play

from stoic.errors import UsageError
from stoic.records import DAY_MS, Spent


def test_what_was_spent_is_told_by_thread_and_by_day(tmp_path):
    async def story(bench: Bench) -> None:
        async with bench.runtime() as runtime:
            first = outcome(await bench.thread(runtime).run("one"))
            await bench.thread(runtime, name="other").run("two")
            spent = await runtime.spent(thread="t", days=1)
            assert spent.rounds == 1
            assert spent.tokens == first.usage.input_tokens + first.usage.output_tokens > 0
            assert (await runtime.spent()).rounds == 2
            bench.clock.advance(DAY_MS // 1000)
            assert await runtime.spent(days=1) == Spent()
            assert (await runtime.spent(days=2)).rounds == 2
            with pytest.raises(UsageError, match="days is 0; it must be at least 1"):
                await runtime.spent(days=0)

    play(tmp_path, {"default": ["text:ok", "stop"]}, story)
