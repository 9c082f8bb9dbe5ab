"""Measures the CPU time of the loop detector against its bars; exits with 1 when one is missed.

    uv run python bench/loops_speed.py

A small call is `before` and `after` together. The import is measured in fresh interpreters on the public name.
"""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from stoic.core.loops import Call, LoopDetector

SMALL_MICROSECONDS = 50
LARGE_MILLISECONDS = 2
STATE_BYTES = 100_000
IMPORT_RATIO = 1.2
CHARACTERS = 100_000
FOLDER = Path(__file__).parents[1] / "src" / "stoic"
SOURCE = "".join(path.read_text() for path in sorted(FOLDER.rglob("*.py")))[:CHARACTERS]
LOG = "".join(
    f"2026-03-04T10:{number // 60 % 60:02}:{number % 60:02}.123Z INFO worker: request_id=ab{number:06x} "
    f"handled GET /api/v1/items/{number} in {number % 90}ms status=200 pid={1000 + number}\n"
    for number in range(1200)
)[:CHARACTERS]
TESTS = "".join(
    f"tests/test_{number % 40}.py::test_case_{number} PASSED [{number % 100:3}%]\n" for number in range(3000)
)[:CHARACTERS]


def cpu_seconds(work, repetitions):
    """Return the CPU time of each repetition; `work` gets its number."""
    found = []
    for number in range(repetitions):
        start = time.process_time()
        work(number)
        found.append(time.process_time() - start)
    return found


def one_call(detector, tool, arguments, result):
    call = Call(tool=tool, arguments=arguments)
    detector.before(call)
    detector.after(call, result)


def small(number, calls=500):
    """Make small calls, each with a new path and result."""
    detector = LoopDetector()
    for place in range(calls):
        one_call(detector, "read_file", {"path": f"src/{number}/{place}.py"}, f"def one(): return {place}")


def commands(number, calls=500):
    """Run small commands, each with a duration in its output."""
    detector = LoopDetector()
    for place in range(calls):
        one_call(detector, "bash", {"command": f"grep -n {number} a{place}.py"}, f"{place}: found in 3ms")


def large(text):
    detector = LoopDetector()

    def work(number):
        one_call(detector, "read_file", {"path": f"{number}.py"}, f"{text}{number}")

    return work


def state_bytes():
    """Return the size of the state after 5,000 calls of four tools, all different."""
    detector = LoopDetector()
    for number in range(5000):
        tool = ("read_file", "web_fetch", f"tool_{number % 200}", "bash")[number % 4]
        call = Call(tool=tool, arguments={"path": f"/w/{number}", "url": f"https://h{number}.example"})
        detector.before(call)
        detector.after(call, f"result {number}" if number % 3 else "access denied", failed=number % 3 == 0)
        detector.said(f"text {number}")
    return len(detector.dump())


def import_seconds(statement):
    """Return the CPU time of one fresh interpreter that runs a statement, from its start to the statement's end."""
    command = [sys.executable, "-c", f"{statement}\nimport time\nprint(time.process_time())"]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def import_ratios(statement, repetitions=15):
    """Return the ratios to `import msgspec`, interleaved; first the ratio of the least, then that of the medians."""
    import_seconds(statement)
    pairs = [(import_seconds("import msgspec"), import_seconds(statement)) for _ in range(repetitions)]
    floor, ours = zip(*pairs, strict=True)
    return min(ours) / min(floor), median(ours) / median(floor)


def main():
    small(0)
    rows = []
    for name, work in (("small call: read_file", small), ("small call: command", commands)):
        took = [1e6 * seconds / 500 for seconds in cpu_seconds(work, 12)]
        rows.append((name, min(took), median(took), SMALL_MICROSECONDS, "us"))
    for name, text in (("100 KB of source", SOURCE), ("100 KB of log", LOG), ("100 KB of test names", TESTS)):
        took = [1e3 * seconds for seconds in cpu_seconds(large(text), 25)]
        rows.append((name, min(took), median(took), LARGE_MILLISECONDS, "ms"))
    size = state_bytes()
    rows.append(("state after 5,000 calls", size, size, STATE_BYTES, "bytes"))
    statements = ("import stoic; stoic.LoopDetector", "import stoic; stoic.LoopDetector, stoic.classify")
    rows += [(one, *import_ratios(one), IMPORT_RATIO, "x msgspec") for one in statements]
    missed = 0
    print(f"{'what':50} {'min':>10} {'median':>10} {'bar':>8}")
    for name, least, middle, bar, unit in rows:
        missed += least > bar
        print(f"{name:50} {least:10.2f} {middle:10.2f} {bar:8} {unit}{'  MISSED' if least > bar else ''}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
