"""`stoic up` as a process whose lines a test waits for, and commands run in this process beside it."""

import asyncio
import io
import os
import re
import select
import signal
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, Self

from tests.cli.processes import LIMIT_SECONDS, Bench

from stoic.cli.app import run_app
from stoic.moments import date_of
from stoic.records import Schedule
from stoic.store.sqlite import SqliteStore
from stoic.wiring import SystemClock

MODEL = "openai-chat:m"
REFUSAL: dict[str, Any] = {
    "status": 200,
    "body": {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": "content_filter"}],
    },
}
DENIED: dict[str, Any] = {
    "status": 401,
    "body": {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}},
}


def reach(bench: Bench, provider) -> None:
    """Let every process of the bench find the provider without naming it."""
    bench.environment |= {"OPENAI_BASE_URL": provider.base_url}


def inside(bench: Bench, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, where the bench's environment stands for that of the tests."""
    out, err, before = io.StringIO(), io.StringIO(), dict(os.environ)
    os.environ.clear()
    os.environ.update(bench.environment)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = run_app(list(arguments))
    finally:
        os.environ.clear()
        os.environ.update(before)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def start_task(bench: Bench, brief: str, *arguments: str, task: str = "job") -> subprocess.CompletedProcess[str]:
    where = ["--workspace", str(bench.workspace), "--model", MODEL]
    return inside(bench, "tasks", "start", brief, "--id", task, *where, *arguments)


def begin_nightly(bench: Bench, thread: str) -> None:
    """Let there be a thread with one turn, and with a prompt that has come due and comes again in half a day."""
    done = inside(bench, "run", "--thread", thread, "--workspace", str(bench.workspace), "--model", MODEL, "Hello.")
    assert done.returncode == 0, done.stderr

    async def add() -> None:
        store = SqliteStore(bench.database)
        await store.open()
        now_ms = SystemClock().now_ms()
        hour = (date_of(now_ms).hour + 12) % 24
        await store.put_schedule(
            Schedule(
                id=f"s-{thread}",
                thread=thread,
                expression="every day",
                cron=f"0 {hour} * * *",
                zone="UTC",
                prompt="Write it.",
                created_at=1,
                next_due_at=now_ms,
            )
        )
        await store.close()

    asyncio.run(add())


class Up:
    """A `stoic up` beside pipes, whose lines are kept without their times; use it as a context manager."""

    def __init__(self, bench: Bench, *arguments: str) -> None:
        self.process = subprocess.Popen(
            bench.command("up", *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=bench.environment,
            cwd=bench.folder,
        )
        self.lines: list[str] = []
        self._rest = b""

    def __enter__(self) -> Self:
        self.wait_for("stoic up: process")
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT_SECONDS)
        assert self.process.stdout
        self.process.stdout.close()

    def wait_for(self, pattern: str) -> str:
        """Read until a line has come that matches; return it."""
        while (found := next((line for line in self.lines if re.search(pattern, line)), None)) is None:
            if self._line() is None:
                raise AssertionError(f"{pattern!r} never came; the lines: {self.lines}")
        return found

    def drain(self) -> int:
        """Send SIGTERM, read to the end and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.end()

    def end(self) -> int:
        while self._line() is not None:
            pass
        return self.process.wait(LIMIT_SECONDS)

    def _line(self) -> str | None:
        assert self.process.stdout
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.process.stdout], [], [], LIMIT_SECONDS)
            if not ready:
                raise AssertionError(f"nothing came for {LIMIT_SECONDS} s; the lines: {self.lines}")
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        stamped = re.fullmatch(r"\d\d:\d\d:\d\d (.*)", line.decode())
        assert stamped, f"a line without its time: {line.decode()}"
        self.lines.append(stamped[1])
        return self.lines[-1]
