"""Measures the CPU time of the loop detector against its bars; exits with 1 when one is missed.

    uv run python bench/loops_speed.py

A small call is `before` and `after` together, a large result is `after` with 100 KB. Each row is the least of many
repetitions, since other work on the machine can only make one slower; the median stands beside it. The imports are
measured in fresh interpreters, in turn with msgspec's, with the bytecode of all of them written before.
"""

import json
import os
import random  # noqa: TID251  # seeded: the same texts each time
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from stoic.core.loops import Call, LoopDetector

SMALL_MICROSECONDS = 50
LARGE_MILLISECONDS = 2
STATE_BYTES = 100_000
IMPORT_RATIO = 1.2
BYTES = 100_000
CALLS = 50
FOLDER = Path(__file__).parents[1] / "src" / "stoic"

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


def large_results():
    """Return texts of 100 KB by name."""
    chance = random.Random(1)
    source = "".join(path.read_text(encoding="utf-8") for path in sorted(FOLDER.rglob("*.py")))
    log = "".join(
        f"2026-03-04T10:{n // 60 % 60:02}:{n % 60:02}.123Z INFO worker: request_id=ab{n:06x} "
        f"handled GET /api/v1/items/{n} in {n % 90}ms status=200 pid={1000 + n}\n"
        for n in range(1200)
    )
    traced = "".join(
        f"2026-05-01 10:00:{n % 60:02} INFO [{chance.getrandbits(128):032x}] request {n} took {n % 50}ms\n"
        for n in range(1500)
    )
    tests = "".join(f"tests/test_{n % 40}.py::test_case_{n} PASSED [{n % 100:3}%]\n" for n in range(3000))
    rows = [{"id": n, "name": f"user {n}", "mail": f"u{n}@x.example", "on": True, "rate": n / 7} for n in range(950)]
    stamped = [
        {"timestamp": f"2026-05-01T10:{n % 60:02}:00Z", "elapsed_ms": n, "text": f"row {n}"} for n in range(1150)
    ]
    han = "".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(30_000))
    return {
        "source": cut(source),
        "log": cut(log),
        "log with random ids": cut(traced),
        "test names": cut(tests),
        "one line of source": cut(source.replace("\n", " ")),
        "one word": "x" * BYTES,
        "JSON": json.dumps(rows),
        "JSON with times": json.dumps(stamped),
        "JSON with one long text": json.dumps({"stdout": cut(source)[:90_000]}),
        "Chinese": cut("\n".join(f"第 {n} 行 {han[n * 20 : n * 20 + 20]}" for n in range(1500))),
        "bytes": cut("".join(map(chr, chance.choices(range(256), k=BYTES)))),
    }


def cut(text):
    """Return the first 100 KB of a text."""
    return text.encode()[:BYTES].decode(errors="ignore")


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


def large(text):
    """Return work that tells the result of one call, each time of another one."""
    detector = LoopDetector()

    def work(number):
        detector.after(Call(tool="read_file", arguments={"path": f"{number}.py"}), text)

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
    for name, text in large_results().items():
        took = [1e3 * seconds for seconds in cpu_seconds(large(text), 60)]
        rows.append((f"{len(text.encode()) / 1000:.0f} KB: {name}", min(took), median(took), LARGE_MILLISECONDS, "ms"))
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
