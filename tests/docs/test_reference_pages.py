"""The reference has everything that the code has, and nothing else: commands, events, failures, settings, tables, names."""

import ast
import itertools
import re
import typing
from enum import StrEnum
from pathlib import Path

import msgspec
import pytest
from scripts import build_reference
from tests.docs.pages import DOCS, PAGES, ROOT

import stoic
from stoic import configuration, events, records
from stoic.cli import exits
from stoic.core.failures import DEFAULT_AXIS, Axis, FailureClass
from stoic.core.history import History
from stoic.core.loops import Effect, Rule, Thresholds
from stoic.settings import Settings, read_settings
from stoic.store.opening import connect, create_file, migrate

SOURCES = ROOT / "src" / "stoic"


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def table(text: str, name: str) -> list[list[str]]:
    """Return the rows of a table that stands between comments, without its head."""
    (found,) = re.findall(rf"<!-- table: {name} -->\n(.*?)<!-- /table -->", text, re.DOTALL)
    return cells(found)[1:]


def cells(text: str) -> list[list[str]]:
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("|---")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def words(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def docstrings(enumeration: type[StrEnum]) -> dict[str, str]:
    """Return what stands below each member."""
    tree = ast.parse((SOURCES / "core" / "failures.py").read_text(encoding="utf-8"))
    (body,) = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == enumeration.__name__]
    pairs = itertools.pairwise(body)
    found = {
        each.targets[0].id: ast.literal_eval(below.value)  # pyright: ignore[reportAttributeAccessIssue] - members are names
        for each, below in pairs
        if isinstance(each, ast.Assign) and isinstance(below, ast.Expr)
    }
    return {member.value: found[member.name] for member in enumeration}


# ---- what is made of the code


@pytest.mark.parametrize(
    "path", [path for path in PAGES if "<!-- made: " in path.read_text("utf-8")], ids=lambda path: path.name
)
def test_what_is_made_of_the_code_is_as_it_would_be_made_now(path: Path):
    text = path.read_text(encoding="utf-8")
    assert build_reference.filled(text) == text, "run `python scripts/build_reference.py`"


def test_every_part_that_can_be_made_stands_on_a_page():
    everything = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert [name for name in build_reference.PARTS if f"<!-- made: {name} -->" not in everything] == []


def test_no_page_names_a_command_or_an_option_that_is_not_there():
    commands = dict(build_reference.walk())
    wrong: list[str] = []
    for path in PAGES:
        for found in re.findall(r"`(?:[A-Z_]+=\S+ )?(stoic [a-z][^`\n]*)`", path.read_text(encoding="utf-8")):
            named = found.split()
            below = " ".join(named[:3]) if " ".join(named[:3]) in commands else " ".join(named[:2])
            options = {opt for each in getattr(commands.get(below), "params", []) for opt in each.opts} | {"--help"}
            if below not in commands or any(
                word.startswith("--") and word.split("=")[0] not in options for word in named
            ):
                wrong.append(f"{path.name}: {found}")
    assert wrong == []


def test_json_page_names_every_command_that_has_the_option():
    text = page("reference/json")
    named = {row[0].strip("`") for row in table(text, "objects")} | {"stoic run", "stoic resume", "stoic compact"}
    has = {path for path, command in build_reference.walk() if any("--json" in each.opts for each in command.params)}
    assert named == has | {"stoic threads export"}


# ---- failures, outcomes, exit codes


def test_failures_page_has_every_class_with_its_axis_and_every_axis():
    text = page("reference/failures")
    meanings = docstrings(FailureClass)
    stated = [[words(row[0])[0], row[1], words(row[2])[0]] for row in table(text, "classes")]
    assert stated == [[each.value, meanings[each], DEFAULT_AXIS[each].value] for each in FailureClass]
    assert [[words(row[0])[0], row[1]] for row in table(text, "axes")] == [
        list(each) for each in docstrings(Axis).items()
    ]
    assert all(row[3] for row in table(text, "classes"))


def test_outcomes_page_has_every_outcome_reason_and_wait():
    text = page("reference/outcomes")
    hints = typing.get_type_hints(records.Outcome)
    assert [words(row[0])[0] for row in table(text, "outcomes")] == list(typing.get_args(hints["outcome"]))
    waits = typing.get_type_hints(records.Parked)["waits_for"]
    assert [words(row[0])[0] for row in table(text, "waits")] == list(typing.get_args(waits))
    assert {words(row[0])[0] for row in table(text, "reasons")} == reasons_of_the_core()


def reasons_of_the_core() -> set[str]:
    """Return every reason that the core gives to an outcome: the texts passed as `reason`, in a call or a local of that name."""
    found = set[str]()
    for path in (SOURCES / "core").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "reason" and isinstance(node.value, ast.Constant):
                found.add(str(node.value.value))
            if isinstance(node, ast.Tuple) and "budget" in (
                texts := [getattr(each, "value", None) for each in node.elts]
            ):
                found.add(str(texts[2]))
    return found


def test_exit_codes_page_is_the_table_of_the_code_and_has_every_constant():
    (stated,) = re.findall(r"(\| code \| meaning \|\n(?:\|.*\n)+)", page("reference/exit-codes"))
    assert stated in (exits.__doc__ or "")
    constants = {value for name, value in vars(exits).items() if name.isupper()}
    assert {int(row[0]) for row in cells(stated)[1:]} == constants


# ---- settings


SETTINGS = {words(row[0])[0]: row for row in cells(page("reference/settings")) if len(row) == 5 and row[0] != "setting"}
VALUES = {
    "models": ("openai:a", '["openai:a"]'),
    "temperature": ("1", "1.0"),
    "max_tokens": ("9", "9"),
    "reasoning_effort": ("low", '"low"'),
    "no_proxy": ("example.org", '["example.org"]'),
    "deadline_seconds": ("9", "9"),
    "compact_at_share": ("0.5", "0.5"),
    "sends_at_once": ("9", "9"),
    "asks_again": ("deny", '"deny"'),
    "notices_per_day": ("9", "9"),
    "context_windows_tokens": ("", '{ "vllm:m" = 9 }'),
    "per_thread": ("", "{ cost_usd = 9 }"),
    "per_day": ("", "{ tokens = 9 }"),
    "notice_channels": ("", '[{ type = "apprise", url_variable = "MAIL" }]'),
}
"""What a variable and the file may say; of any other setting, a text."""


def test_settings_page_has_every_setting():
    inner = {"sampling": ["max_tokens", "temperature", "reasoning_effort"]}
    by_program = {"access", "base_urls", "providers", "credential_variables", "retry", "health", "sources"}
    names = [each.name for each in msgspec.structs.fields(Settings) if each.name not in by_program]
    assert sorted(SETTINGS) == sorted(name for each in names for name in inner.get(each, [each]))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_is_decided_by_the_variables_and_the_key_of_its_row(name: str, tmp_path: Path):
    _, _, default, variables, key = SETTINGS[name]
    in_variable, in_file = VALUES.get(name, ("http://x", '"http://x"'))
    for variable in words(variables):
        assert read_settings({variable: in_variable}).sources == all_of({variable}, f"${variable}"), variable
    file = tmp_path / "config.toml"
    (path,) = words(key)
    section, _, last = path.rpartition(".")
    file.write_text((f"[{section}]\n" if section else "") + f"{last} = {in_file}\n")
    file.chmod(0o600)
    assert read_settings({"STOIC_CONFIG": str(file)}).sources[name] == str(file)
    if default.replace(".", "").isdigit():
        settings = read_settings({})
        assert float(default) == getattr(settings, name)


def all_of(variables: set[str], source: str) -> dict[str, str]:
    """Return what is decided by these variables, as the page has it."""
    return {name: source for name, row in SETTINGS.items() if variables & set(words(row[3]))}


def test_settings_page_has_every_variable_that_is_read():
    read = set[str]()
    for name in ("settings.py", "configuration.py"):
        for node in ast.walk(ast.parse((SOURCES / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                read |= {each for each in [node.value] if re.fullmatch(r"(STOIC|XDG|HTTPS?|NO|ALL|SSL)_[A-Z_]+", each)}
    assert read - set(words(page("reference/settings"))) == set()


def test_settings_page_has_every_key_of_the_file():
    stated = {
        words(row[0])[-1]: words(row[1]) for row in cells(page("reference/settings")) if len(row) == 2 and words(row[0])
    }
    sections = {
        "parameters": configuration.ParametersSection,
        "network": configuration.NetworkSection,
        "limits": configuration.LimitsSection,
        "notices": configuration.NoticesSection,
        "notices.channels": configuration.ChannelSection,
        "providers.NAME": configuration.ProviderSection,
    }
    for name, section in sections.items():
        fields = {each.name for each in msgspec.structs.fields(section)}
        assert fields - set(stated[name]) == set(), name
    top = {each.name for each in msgspec.structs.fields(configuration.Configuration)} - {"path"}
    everything = set(words(page("reference/settings"))) | {"providers"} | sections.keys()
    assert top - everything == set()


# ---- the database


def test_database_page_has_every_table_with_its_columns_in_their_order(tmp_path: Path):
    path = tmp_path / "log.db"
    create_file(path)
    log = connect(path)
    migrate(log, path)
    names = [str(name) for (name,) in log.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    own = [name for name in names if not re.match(r"sqlite_|memory_words_", name)]
    real = {name: [[row[1], row[2]] for row in log.execute(f'PRAGMA table_info("{name}")')] for name in own}
    log.close()
    sections = re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", page("reference/database"), re.DOTALL | re.MULTILINE)
    stated = {
        name: [[words(row[0])[0], row[1]] for row in cells(text) if len(row) == 3 and row[0] != "column"]
        for name, text in sections
    }
    assert {name: sorted(columns) for name, columns in stated.items()} == {
        name: sorted(columns) for name, columns in real.items()
    }


def test_database_page_has_every_kind_of_row():
    stated = {words(row[0])[0] for row in table(page("reference/database"), "kinds")}
    assert History("t")._folds.keys() - stated == set()
    core = "".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    assert [kind for kind in stated if f'"{kind}"' not in core] == []


def test_database_page_has_every_kind_of_inbox_entry():
    (row,) = [
        line for line in page("reference/database").splitlines() if line.startswith("| `kind` | TEXT | `message`")
    ]
    kinds = typing.get_args(typing.get_type_hints(records.InboxEntry)["kind"])
    assert set(words(row)) - {"kind"} == set(kinds)


def test_no_page_for_users_refers_to_a_document_that_they_do_not_have():
    pages = [path for path in DOCS.rglob("*.md") if path.parent.name != "decisions"]
    found = [path.name for path in [*pages, ROOT / "README.md"] if re.search("SPEC\\b|§", path.read_text("utf-8"))]
    assert found == []


# ---- Python


def test_python_page_has_every_public_name_and_no_other():
    text = page("reference/python")
    named = set(re.findall(r"^\.\. auto\w+:: stoic\.(\w+)$", text, re.MULTILINE)) | set(
        re.findall(r"`stoic\.(\w+)`", text)
    )
    assert named - {"testing"} == set(stoic.__all__)


def test_tool_page_has_every_effect():
    rows = [
        row
        for row in cells(page("how-to/write-a-tool"))
        if len(row) == 3 and row[0].startswith("`") and row[0] != "`effect`"
    ]
    assert [words(row[0])[0] for row in rows] == list(typing.get_args(Effect))


def test_loops_page_has_every_rule_with_its_numbers():
    rows = {words(row[0])[0]: row for row in table(page("explanation/loops"), "rules")}
    assert list(rows) == list(typing.get_args(Rule))
    numbers = Thresholds()
    assert rows["unknown_tool"][3] == str(numbers.unknown_tool)
    assert rows["global_breaker"][3] == str(numbers.breaker)
    assert rows["poll_no_progress"][2:] == [str(numbers.warning), f"{numbers.critical}, or the tool's `frozen_limit`"]
    assert rows["same_error_varied_args"][2:] == [str(numbers.warning), str(numbers.critical)]
    assert [rows[name][2] for name in ("repeat", "stagnation", "no_new_information")] == [str(numbers.warning)] * 3
    assert rows["text_repeat"][2:] == [str(numbers.text_warning), f"{numbers.text_stop}, which ends the turn"]


def test_events_page_has_no_event_that_is_not_there():
    stated = re.findall(r"^### `(\w+)`$", page("reference/events"), re.MULTILINE)
    assert stated == [kind.__struct_config__.tag for kind in typing.get_args(events.Happening)]
