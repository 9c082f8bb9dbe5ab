"""What each step of a program loads, so that nobody pays for what is not used yet.

Which modules, not how long: the CPU time of each step is measured by workload w5 of `bench/`.
"""

import subprocess
import sys

RECORDS = {"msgspec", "typing_extensions"}
"""msgspec itself loads typing_extensions where it is installed."""
SCHEMAS = {"pydantic", "pydantic_core", "annotated_types", "typing_inspection"}
LOG = {"apsw", "uuid_utils"}
HTTP = {"httpcore2", "h11", "anyio", "truststore", "idna", "exceptiongroup", "sniffio"}
TERMINAL = {"typer", "annotated_doc", "shellingham"}
"""Of these, typer loads schemas too as soon as it runs a command; the help does without."""
AGENT = """
from stoic import Agent, tool

@tool(effect="read")
def echo(key: str) -> str:
    '''Echo the key.'''
    return key

agent = Agent("openai-chat:gpt-5", tools=[echo])
"""
READY = (
    AGENT
    + """
import asyncio
from stoic import Runtime
from stoic.settings import Access, Secret, Settings

async def main():
    access = {"openai-chat": Access(key=Secret("sk-1"))}
    async with Runtime(settings=Settings(database="stoic.db", access=access)) as runtime:
        runtime.connection(agent.model)

asyncio.run(main())
"""
)


def loaded_by(code, folder):
    """Return the modules that a fresh interpreter loads for some code."""
    program = "import sys\nbefore = set(sys.modules)\n" + code + "\nprint(*sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True)
    return set(run.stdout.splitlines()[-1].split())


def command(*arguments):
    """Return code that runs one command line."""
    return f"""
import contextlib, os, sys, stoic.cli
os.environ["STOIC_DB"] = "stoic.db"
sys.argv = ["stoic", *{arguments}]
with contextlib.suppress(SystemExit):
    stoic.cli.main()
"""


def packages(modules):
    """Return the packages of others among modules."""
    names = {module.partition(".")[0] for module in modules if not module.startswith("_sysconfigdata")}
    return names - set(sys.stdlib_module_names) - {"stoic"}


def test_importing_stoic_loads_nothing_but_itself(tmp_path):
    loaded = loaded_by("import stoic", tmp_path)
    assert {name for name in loaded if name.startswith("stoic")} == {"stoic"}
    assert not packages(loaded)
    assert "asyncio" not in loaded


def test_the_names_of_a_program_load_records_and_the_log_alone(tmp_path):
    loaded = loaded_by("from stoic import Agent, Runtime, run, run_sync, tool", tmp_path)
    assert {"msgspec", "apsw"} <= packages(loaded) <= RECORDS | LOG


def test_an_agent_without_tools_loads_records_alone(tmp_path):
    loaded = loaded_by("from stoic import Agent\nAgent('openai-chat:gpt-5')", tmp_path)
    assert {"msgspec"} <= packages(loaded) <= RECORDS
    assert loaded.isdisjoint({"asyncio", "stoic.store", "stoic.wire"})


def test_an_agent_with_a_tool_loads_schemas_but_neither_log_nor_network(tmp_path):
    loaded = loaded_by(AGENT, tmp_path)
    assert {"pydantic"} <= packages(loaded) <= RECORDS | SCHEMAS
    assert loaded.isdisjoint({"asyncio", "ssl", "stoic.store", "stoic.wire"})


def test_an_agent_ready_to_send_loads_nothing_of_terminal_or_workspace(tmp_path):
    loaded = loaded_by(READY, tmp_path)
    assert {"httpcore2"} <= packages(loaded) <= RECORDS | SCHEMAS | LOG | HTTP
    assert loaded.isdisjoint({"stoic.cli", "stoic.testing", "stoic.tools.builtin"})


def test_help_loads_the_command_line_alone(tmp_path):
    loaded = loaded_by(command("--help"), tmp_path)
    assert {"typer"} <= packages(loaded) <= TERMINAL
    assert loaded.isdisjoint({"asyncio", "stoic.core", "stoic.records", "stoic.runtime", "stoic.store", "stoic.wire"})


def test_a_command_that_reads_the_log_loads_no_network(tmp_path):
    loaded_by(READY, tmp_path)
    loaded = loaded_by(command("threads"), tmp_path)
    assert {"apsw"} <= packages(loaded) <= RECORDS | LOG | TERMINAL | SCHEMAS | {"rich"}
