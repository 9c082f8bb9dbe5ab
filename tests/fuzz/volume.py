"""How many examples a test draws, and what stops it when one of them does not end."""

import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[2]
TIMES = int(os.environ.get("STOIC_FUZZ_TIMES", "0"))
"""So many times as many examples of each test, new ones in each run; `just fuzz TIMES` sets it. 0: few, the same in every run."""


def examples(number):
    """Return settings for so many examples, or for as many times more as are wanted."""
    return settings(
        max_examples=number * (TIMES or 1),
        derandomize=not TIMES,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )


class HangError(BaseException):
    """What is tested has used so much CPU time for one example that it would never end."""


@contextmanager
def ending(cpu_seconds=60):
    """Raise `HangError` in what takes thousands of times as long as it should."""

    def stop(*_):
        raise HangError(f"no end after {cpu_seconds} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def run_bounded(arguments, *, cpu_seconds=60, memory_bytes=2**31, **options):
    """Run a Python process that the system ends when it uses far too much CPU time or memory."""

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))

    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        preexec_fn=limit,
        capture_output=True,
        check=False,
        **options,
    )
