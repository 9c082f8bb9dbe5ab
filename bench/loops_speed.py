"""Measures the CPU time of the loop detector against its bars; exits with 1 when one is missed.

    uv run python bench/loops_speed.py

A small call is `before` and `after` together, a large result is `after` with 100 KB. Each row is the least of many
repetitions, since other work on the machine can only make one slower; the median stands beside it. The imports are
measured in fresh interpreters, in turn with msgspec's, with the bytecode of all of them written before.
"""

import os
import subprocess
import sys
import tempfile
import time
from statistics import median

from large_results import large_results

from stoic.core.loops import Call, LoopDetector

SMALL_MICROSECONDS = 50
LARGE_MILLISECONDS = 2
STATE_BYTES = 100_000
IMPORT_RATIO = 1.2
CALLS = 50

SMALL = {
    "read a file": ("read_file", lambda n: {"path": f"src/{n}.py"}, lambda n: f"def one(): return {n}"),
    "run a command": ("bash", lambda n: {"command": f"grep -n {n} a{n}.py"}, lambda n: f"{n}: found in 3ms"),
    "run a pipeline": (
        "bash",
        lambda n: {"command": f"cd /w && grep -rn 'a{n}' . | head -5"},
        lambda n: f"a.py:{n}: x",
    ),
    "search": ("search", lambda n: {"query": f"name {n}", "limit": 10}, lambda _: "no results"),
    "edit": ("edit_file", lambda n: {"path": f"a{n}.py", "old": "x = 1", "new": f"x = {n}"}, lambda _: "1 replaced"),
    "poll": ("job_status", lambda _: {"id": 7}, lambda n: f'{{"state":"running","progress":{n},"elapsed_ms":{n}}}'),
    "get a value": ("get_item", lambda n: {"id": n}, lambda n: {"id": n, "name": f"x{n}", "tags": ["a", "b"]}),
    "be denied": ("web_fetch", lambda n: {"url": f"https://h{n}.example/p"}, lambda _: "HTTP 403 Forbidden"),
    "see tests fail": ("run_tests", lambda n: {"name": f"t{n}"}, lambda n: f"FAILED a.py::t{n}\n1 failed in 0.{n}s"),
    "create": ("create_issue", lambda n: {"title": f"t {n}"}, lambda n: f"Created issue #{n}: https://h.example/i/{n}"),
}
"""By name: tool, arguments and result of the call with a number."""
FAILING = {"be denied", "see tests fail"}


def cpu_seconds(work, repetitions):
    """Return the CPU time of each repetition; `work` gets its number."""
    found = []
    for number in range(repetitions):
        start = time.process_time()
        work(number)
        found.append(time.process_time() - start)
    return found


def small(name):
    """Return work that makes small calls, each with other arguments and another result."""
    tool, arguments, result = SMALL[name]

    def work(number):
        detector = LoopDetector()
        for place in range(number * CALLS, (number + 1) * CALLS):
            call = Call(tool=tool, arguments=arguments(place))
            detector.before(call)
            detector.after(call, result(place), failed=name in FAILING)

    return work


def large(tool, argument, said, result, failed):
    """Return work that tells the result of one call, each time of another one."""
    detector = LoopDetector()

    def work(number):
        detector.after(Call(tool=tool, arguments={argument: f"{said} # {number}"}), result, failed=failed)

    return work


def state_bytes():
    """Return the size of the state after 5,000 calls of many tools, all different."""
    detector = LoopDetector()
    for number in range(5000):
        tool = ("read_file", "web_fetch", f"tool_{number % 200}", "bash")[number % 4]
        call = Call(tool=tool, arguments={"path": f"/w/{number}", "url": f"https://h{number}.example"})
        detector.before(call)
        detector.after(call, f"result {number}" if number % 3 else "access denied", failed=number % 3 == 0)
        detector.said(f"text {number}")
    return len(detector.dump())


def import_ratios(statements, repetitions=15):
    """Return the ratios of imports to msgspec's, each with the ratio of the least and that of the medians."""
    wanted = ["import msgspec", *statements]
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder

        def seconds(statement):
            command = [sys.executable, "-c", f"{statement}\nimport time\nprint(time.process_time())"]
            return float(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)

        for statement in wanted:
            seconds(statement)
        rounds = [[seconds(statement) for statement in wanted] for _ in range(repetitions)]
    floor, *ours = zip(*rounds, strict=True)
    return {
        statement: (min(took) / min(floor), median(took) / median(floor))
        for statement, took in zip(statements, ours, strict=True)
    }


def main():
    rows = []
    for name in SMALL:
        took = [1e6 * seconds / CALLS for seconds in cpu_seconds(small(name), 80)]
        rows.append((f"small call: {name}", min(took), median(took), SMALL_MICROSECONDS, "us"))
    for name, (*called, result, failed) in large_results().items():
        took = [1e3 * seconds for seconds in cpu_seconds(large(*called, result, failed), 60)]
        rows.append(
            (f"{len(result.encode()) / 1000:.0f} KB: {name}", min(took), median(took), LARGE_MILLISECONDS, "ms")
        )
    size = state_bytes()
    rows.append(("state after 5,000 calls", size, size, STATE_BYTES, "bytes"))
    statements = [
        f"import stoic; {names}"
        for names in ("stoic.LoopDetector", "stoic.LoopDetector, stoic.classify", "stoic.LoopDetector, stoic.Verdict")
    ]
    rows += [(name, *ratios, IMPORT_RATIO, "x msgspec") for name, ratios in import_ratios(statements).items()]
    missed = 0
    print(f"{'what':50} {'least':>10} {'median':>10} {'bar':>8}")
    for name, least, middle, bar, unit in rows:
        missed += least > bar
        print(f"{name:50} {least:10.2f} {middle:10.2f} {bar:8} {unit}{'  MISSED' if least > bar else ''}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
