"""The process that `stoic demo` kills: sends one message to the thread and tells its events on stdout as JSON lines.

Usage: `python -m stoic.cli.demo_victim DATABASE WORKSPACE BASE_URL`
"""

import asyncio
import signal
import sys
from pathlib import Path

from stoic.cli.demo_place import THREAD, Place, agent_at, runtime_at
from stoic.cli.demo_play import KILL
from stoic.cli.views import JsonView


async def _work(place: Place, base_url: str) -> None:
    async with runtime_at(place, base_url) as runtime:
        await runtime.thread(THREAD, agent_at(place)).run(KILL.task, JsonView(sys.stdout.buffer).show)


if __name__ == "__main__":
    # Whoever started it listens; without a listener it ends without a word.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    asyncio.run(_work(Place(database=Path(sys.argv[1]), workspace=Path(sys.argv[2])), sys.argv[3]))
