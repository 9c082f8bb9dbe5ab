"""The package is a library of its own: it costs little more than msgspec and brings nothing of the runtime."""

import subprocess
import sys

RUNS = 9
BOUND = 1.2


def cpu_seconds(statement):
    """Return the least CPU time of a fresh interpreter that runs one statement."""
    code = f"{statement}\nimport time\nprint(time.process_time())"
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(RUNS)
    ]
    return min(float(run.stdout) for run in runs)


def test_import_costs_at_most_a_fifth_more_cpu_than_msgspec():
    assert cpu_seconds("import stoic.core.classify") <= BOUND * cpu_seconds("import msgspec")


def test_import_and_use_load_nothing_of_the_runtime():
    code = (
        "import sys, stoic.core.classify as c\n"
        "c.classify(c.report_from({'provider': 'openai', 'status': 429, 'body': {'error': {'message': 'x'}}}))\n"
        "print(*sorted(m for m in sys.modules if m.startswith('stoic') or m in ('asyncio', 'httpx2', 'pydantic', 'apsw', 'logging')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    foreign = [
        name
        for name in run.stdout.split()
        if not name.startswith("stoic.core.classify")
        and name not in ("stoic", "stoic.core", "stoic.core.failures", "stoic.records", "stoic.errors")
    ]
    assert foreign == []
