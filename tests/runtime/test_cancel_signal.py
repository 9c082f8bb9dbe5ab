"""A turn that is to stop begins nothing more, and leaves nothing half begun."""

import asyncio

from stoic.runtime.runner import CancelSignal, _boxed


def test_what_a_stopped_turn_would_have_waited_for_is_never_begun():
    begun: list[int] = []

    async def work() -> None:
        begun.append(1)

    async def story() -> None:
        signal = CancelSignal()
        assert await signal.interruptible(_boxed(work)) == (None,)
        signal.request()
        assert await signal.interruptible(_boxed(work)) is None

    asyncio.run(story())
    assert begun == [1]
