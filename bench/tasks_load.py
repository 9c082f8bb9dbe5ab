"""What background work costs in one process: 1,000 idle threads, 200 parked ones, then 200 tasks at once.

Needs nothing but this checkout: `uv run python bench/tasks_load.py`. The provider is simulated, in a process of its own.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stoic import Agent, Runtime, tool
from stoic.tools.task_tools import task_tools

IDLE = 1_000
PARKED = 200
TASKS = 200
ROUNDS = 3

SCRIPT = {
    "rules": [
        {"request_contains": '"parked"', "reply": ['tool:hold({"what": "parked"})']},
        {"request_contains": "round 3", "reply": ["text:done"]},
        {"request_contains": "round 2", "reply": ['tool:look({"what": "round 3"})']},
        {"request_contains": "task", "reply": ['tool:look({"what": "round 2"})']},
    ],
    "default": ["text:ok"],
}


@tool(effect="read")
def look(what: str) -> str:
    """Look at something."""
    return what


@tool(effect="read", approval=True)
def hold(what: str) -> str:
    """Do what a person has to allow."""
    return what


def rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def measure(folder: Path, base_url: str) -> dict[str, float]:
    os.environ["OPENAI_BASE_URL"] = base_url
    agent = Agent("openai-chat:m", tools=[look, hold, *task_tools()], permissions="allow", name="bench")
    found: dict[str, float] = {"start_rss_mb": rss_mb()}
    async with Runtime(str(folder / "log.db"), agents=[agent], runs_tasks=False) as runtime:
        await runtime.thread("warm", agent).run("hello")
        found["warm_rss_mb"] = rss_mb()
        began = time.perf_counter()
        for first in range(0, IDLE, 100):
            await asyncio.gather(
                *(runtime.thread(f"idle-{number}", agent).run("hello") for number in range(first, first + 100))
            )
        found["idle_turns_s"] = IDLE / (time.perf_counter() - began)
        found["idle_rss_mb"] = rss_mb()
        for number in range(PARKED):
            await runtime.thread(f"parked-{number}", agent).run('"parked"')
        found["parked_rss_mb"] = rss_mb()
        started = [await runtime.tasks.start(f"task {number}", agent="bench") for number in range(TASKS)]
        worker = runtime.worker(at_once=TASKS)
        cpu, began = time.process_time(), time.perf_counter()
        work = asyncio.create_task(worker.run())
        peak = 0.0
        while worker.turns < TASKS:
            await runtime.clock.sleep_until(runtime.clock.now_ms() + 50)
            peak = max(peak, rss_mb())
        seconds = time.perf_counter() - began
        found |= {
            "tasks_turns_s": TASKS / seconds,
            "tasks_rounds_s": TASKS * ROUNDS / seconds,
            "tasks_cpu_ms_turn": (time.process_time() - cpu) * 1000 / TASKS,
            "tasks_peak_rss_mb": peak,
        }
        before = time.process_time()
        await runtime.clock.sleep_until(runtime.clock.now_ms() + 2_000)
        found["idle_worker_cpu_percent"] = (time.process_time() - before) / 2 * 100
        worker.drain()
        await work
        ended = await runtime.tasks.wait([each.task for each in started])
        assert all(each.outcome == "completed" for each in ended), ended
    return {name: round(value, 2) for name, value in found.items()}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.json"
        script.write_text(json.dumps(SCRIPT))
        command = [sys.executable, "-m", "stoic", "scripted", str(script)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as provider:
            try:
                assert provider.stdout is not None
                base_url = next(found[0] for line in provider.stdout if (found := re.search(r"http://\S+", line)))
                print(json.dumps(asyncio.run(measure(Path(folder), base_url)), indent=1))
            finally:
                provider.terminate()


if __name__ == "__main__":
    main()
