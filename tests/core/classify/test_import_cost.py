"""The package is a library of its own: it brings msgspec, what msgspec brings, and little else.

What that costs in CPU is measured by `bench/classify_speed.py`.
"""

import subprocess
import sys

import pytest

from stoic.core import classify

AT_IMPORT = {"stoic", "stoic.core", "stoic.core.classify"}
TYPES = AT_IMPORT | {"stoic.core.classify.verdict", "stoic.core.failures", "stoic.record"}
LIBRARY = {"stoic", "stoic.core", "stoic.core.failures", "stoic.record", "stoic.records"}


def loaded_by(statement):
    """Return the modules that a fresh interpreter has loaded after a statement, beyond those of msgspec."""
    code = (
        "import sys, typing, enum, msgspec\n"
        "msgspec.json.decode(b'{}')\n"
        "before = set(sys.modules)\n"
        f"{statement}\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_public_name_loads_its_own_few_modules_and_nothing_else():
    assert loaded_by("import stoic; stoic.classify") == AT_IMPORT


@pytest.mark.parametrize("name", ["Verdict", "Evidence"])
def test_types_of_verdicts_are_loaded_when_they_are_asked_for(name):
    assert loaded_by(f"from stoic.core.classify import {name}") == TYPES


def test_a_name_that_the_package_does_not_have_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'Failure'"):
        classify.Failure  # noqa: B018  # looking is the test


def test_first_plain_reply_loads_no_table():
    report = (
        "stoic.records.Report(provider='openai-chat', api='chat', status=200, ended=True, finish='stop', "
        "parts=[stoic.records.TextPart(text='hi')])"
    )
    loaded = loaded_by(f"import stoic, stoic.records; stoic.classify({report})")
    assert loaded == TYPES | LIBRARY | {"stoic.core.classify.plain", "stoic.foreign_json"}


def test_import_and_use_load_nothing_of_the_runtime():
    exchange = "{'provider': 'openai', 'status': 429, 'body': {'error': {'message': 'x'}}}"
    loaded = loaded_by(f"import stoic.core.classify as c; c.classify(c.report_from({exchange}))")
    ours = {name for name in loaded if name.startswith("stoic")}
    assert {name for name in ours if not name.startswith("stoic.core.classify")} == LIBRARY | {
        "stoic.errors",
        "stoic.foreign_json",
    }
    assert loaded.isdisjoint({"asyncio", "httpx2", "pydantic", "apsw", "logging"})


def test_first_error_loads_the_table_of_its_provider_alone():
    exchange = "{'provider': 'groq', 'status': 429, 'body': {'error': {'message': 'x'}}}"
    loaded = loaded_by(f"import stoic.core.classify as c; c.classify(c.report_from({exchange}))")
    tables = {name.rpartition(".")[2] for name in loaded if name.startswith("stoic.core.classify.families.")}
    assert tables == {"groq", "grammar"}
