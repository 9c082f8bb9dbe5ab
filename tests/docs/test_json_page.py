"""What each command prints with `--json` has the fields of the page: run against a log that holds one of everything."""

import json
import re

import pytest
from tests.cli.background import inside
from tests.cli.processes import Bench
from tests.docs.pages import DOCS

from stoic.testing import ScriptedProvider

PAGE = (DOCS / "reference" / "json.md").read_text(encoding="utf-8")
ROWS = {
    command: re.findall(r"`(\w+)`", fields)
    for command, fields in re.findall(r"^\| `stoic ([a-z ]+)` \| [^|]+ \| ([^|]*) \|$", PAGE, re.MULTILINE)
}
ARGUMENTS = {
    "show": ["show", "first", "--json"],
    "threads export": ["threads", "export", "first"],
    "tasks wait": ["tasks", "wait", "done", "--json"],
    "tasks show": ["tasks", "show", "done", "--json"],
    "tasks start": ["tasks", "start", "Later.", "--id", "later", "--json"],
    "tasks stop": ["tasks", "stop", "done", "--json"],
    "memory search": ["memory", "search", "tea", "--json"],
    "explain": ["explain", "exchange.json", "--json"],
    "scan": ["scan", "--thread", "first", "--json"],
}
DENIED = {"status": 401, "body": {"error": {"message": "wrong key", "code": "invalid_api_key"}}}
SCRIPT = {
    "rules": [
        {"request_contains": "[[keep]]", "times": 1, "reply": ['tool:remember({"text":"likes tea"})']},
        {"request_contains": "[[write]]", "times": 1, "reply": ['tool:write_file({"path":"a","content":"b"})']},
        {"request_contains": "[[locked]]", "reply": DENIED},
    ],
    "default": ["text:Done.", "stop"],
}


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Return a bench whose log has a thread, a memory, tasks, a call to approve, a schedule, a shut route and a notice."""
    bench = Bench(tmp_path_factory.mktemp("json"))
    exchange = bench.folder / "exchange.json"
    exchange.write_text(
        json.dumps({"provider": "openai", "status": 429, "body": {"error": {"code": "insufficient_quota"}}})
    )
    ARGUMENTS["explain"][1] = str(exchange)
    with ScriptedProvider(SCRIPT) as provider:
        bench.environment |= {"OPENAI_BASE_URL": provider.base_url, "STOIC_MODEL": "openai-chat:m"}
        where = ["--workspace", str(bench.workspace)]
        for code, command in [
            (0, ["run", "[[keep]]", "--thread", "first", "--yes", *where]),
            (0, ["tasks", "start", "Quick.", "--id", "done", "--wait", *where]),
            (7, ["tasks", "start", "[[write]]", "--id", "asks", "--wait", *where]),
            (0, ["schedule", "add", "first", "every day 09:00", "News?"]),
            (3, ["run", "[[locked]]", "--thread", "second", *where]),
        ]:
            done = inside(bench, *command)
            assert done.returncode == code, done.stderr
        yield bench


@pytest.mark.parametrize("command", ROWS)
def test_the_fields_of_a_command_are_those_of_the_page(command: str, log):
    done = inside(log, *ARGUMENTS.get(command, [*command.split(), "--json"]))
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert objects, done.stderr
    assert [list(each) for each in objects] == [ROWS[command]] * len(objects)
