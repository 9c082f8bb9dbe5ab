"""Measures what naming a failure costs: `classify` for every recorded exchange, and the import of the public name.

Run it as `uv run python bench/classify_speed.py`. It prints one table, and ends with 1 when a bar is missed:

- `classify` in at most 100 µs of CPU for each exchange of `tests/cases`, warm, the least of several rounds of repetitions;
- the import of the public name, alone and with the type of its verdicts, in at most 1.2 times the CPU of
  `import msgspec`, each in a fresh interpreter, with the bytecode of all of them written before.

The least of several runs is compared: other work on the machine can only make a run slower.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stoic.core.classify import classify, report_from
from stoic.records import Report

CASES = Path(__file__).parent.parent / "tests" / "cases"
FILES = ("failures_wire.json", "refusals_wire.json")
NAMES = (None, "openai-chat")
"""Under which provider's name each exchange is classified: its own, and that of any compatible server."""
ROUNDS = 8
"""How often all exchanges are measured one after the other: a slow moment of the machine outlasts the repetitions of one."""
REPETITIONS = 10
IMPORTS = ("import msgspec", "import stoic; stoic.classify", "import stoic; stoic.classify, stoic.Verdict")
IMPORT_RUNS = 15
MOST_MICROSECONDS = 100.0
MOST_IMPORT_RATIO = 1.2


def least_microseconds(report: Report) -> float:
    """Return the least CPU time of one call, in microseconds."""
    least = float("inf")
    for _ in range(REPETITIONS):
        started = time.thread_time_ns()
        classify(report)
        least = min(least, (time.thread_time_ns() - started) / 1000)
    return least


def measured(provider: str | None) -> list[tuple[float, str]]:
    """Return (microseconds, case) of every recorded exchange, the slowest first."""
    cases = [case for name in FILES for case in json.loads((CASES / name).read_text(encoding="utf-8"))]
    reports = {case["id"]: report_from(case if provider is None else {**case, "provider": provider}) for case in cases}
    rounds = [{name: least_microseconds(report) for name, report in reports.items()} for _ in range(ROUNDS)]
    return sorted(((min(took[name] for took in rounds), name) for name in reports), reverse=True)


def import_seconds() -> list[float]:
    """Return the least CPU time of each import, in seconds: measured in turn."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder

        def seconds(statement: str) -> float:
            code = f"{statement}\nimport time\nprint(time.process_time())"
            run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment)
            return float(run.stdout)

        rounds = [[seconds(statement) for statement in IMPORTS] for _ in range(IMPORT_RUNS + 1)]
    return [min(took) for took in zip(*rounds[1:], strict=True)]


def main() -> int:
    """Print the table and return the exit code."""
    missed = False
    print(f"{'classify, µs of CPU':34} {'cases':>6} {'median':>7} {'p95':>7} {'worst':>7}  slowest")
    for provider in NAMES:
        rows = measured(provider)
        worst, slowest = rows[0]
        median, high = rows[len(rows) // 2][0], rows[len(rows) // 20][0]
        missed |= worst > MOST_MICROSECONDS
        print(f"{provider or 'own name':34} {len(rows):6} {median:7.1f} {high:7.1f} {worst:7.1f}  {slowest}")
    base, *others = import_seconds()
    print(f"\n{'import, ms of CPU':45} {'time':>7} {'ratio':>6}")
    for statement, ours in zip(IMPORTS, (base, *others), strict=True):
        missed |= ours > MOST_IMPORT_RATIO * base
        print(f"{statement:45} {ours * 1000:7.1f} {ours / base:6.2f}")
    print(f"\nbars: at most {MOST_MICROSECONDS:.0f} µs and {MOST_IMPORT_RATIO} times: {'missed' if missed else 'kept'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
