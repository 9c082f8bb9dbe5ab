"""`stoic doctor` as a real process."""

import json

import pytest

from stoic.testing import ScriptedProvider


def findings(bench, **environment):
    done = bench.stoic("doctor", "--json", **environment)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def problems(found):
    return [each["what"] for each in found if each["state"] == "problem"]


def test_machine_without_keys_has_one_problem_with_a_remedy(bench):
    code, found = findings(bench)
    assert code == 2
    (problem,) = [each for each in found if each["state"] == "problem"]
    assert problem["what"] == "no model is named"
    assert "ANTHROPIC_API_KEY" in problem["remedy"]


def test_a_variable_that_is_named_for_a_key_and_not_set_is_a_problem(bench):
    text = '[providers.house]\napi = "chat"\nbase_url = "http://127.0.0.1:1/v1"\nkey_variable = "HOUSE_KEY"\n'
    (bench.folder / "config.toml").write_text(text)
    named = {"STOIC_CONFIG": str(bench.folder / "config.toml"), "STOIC_MODEL": "house:m"}
    said = "no key of house: the configuration names $HOUSE_KEY for it, which is not set → set HOUSE_KEY"
    assert f"✗ {said}" in bench.stoic("doctor", **named).stdout
    assert "no key: $HOUSE_KEY is not set" in bench.stoic("config", **named).stdout
    assert "no key of" not in bench.stoic("doctor", **named, HOUSE_KEY="sk-1").stdout


def test_no_model_by_default_is_no_problem_where_every_thread_keeps_its_own(bench):
    with ScriptedProvider([["text:ok"]]) as provider:
        bench.stoic(*bench.working(provider, "go", "--thread", "t"))
    code, found = findings(bench)
    assert (code, problems(found)) == (0, [])
    assert "no model is named; every thread keeps its own" in [each["what"] for each in found]


def test_every_problem_has_a_remedy_on_its_line(bench):
    done = bench.stoic("doctor", STOIC_MODEL="antropic:m,openai:m", STOIC_CA_FILE="/nowhere.pem")
    lines = [line for line in done.stdout.splitlines() if line.startswith("✗")]
    assert [line.partition(" → ")[2] != "" for line in lines] == [True] * 3
    assert "did you mean anthropic:m?" in lines[0]
    assert "Set OPENAI_API_KEY" in lines[1]
    assert "correct $STOIC_CA_FILE" in lines[2]


def test_key_found_is_enough_and_its_place_is_said(bench):
    code, found = findings(bench, ANTHROPIC_API_KEY="sk-1")
    said = [each["what"] for each in found]
    assert (code, problems(found)) == (0, [])
    assert "key of anthropic from $ANTHROPIC_API_KEY" in said
    assert any(each.startswith("model anthropic:claude-opus-5-5, context window 1,000,000 tokens") for each in said)


def test_base_url_beside_the_default_is_said_with_the_key(bench):
    _, found = findings(bench, OPENAI_API_KEY="sk-1", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert "key of openai from $OPENAI_API_KEY, for http://127.0.0.1:9/v1" in [each["what"] for each in found]


def test_looking_creates_nothing(bench):
    before = sorted(bench.folder.rglob("*"))
    _, found = findings(bench, ANTHROPIC_API_KEY="sk-1")
    assert sorted(bench.folder.rglob("*")) == before
    assert f"database {bench.database}: none yet, the first run creates it" in [each["what"] for each in found]


def test_log_is_opened_and_counted(bench):
    with ScriptedProvider([["text:hi"]]) as provider:
        bench.stoic(*bench.working(provider, "hello"))
    _, found = findings(bench)
    assert f"database {bench.database}, 1 thread" in [each["what"] for each in found]


def test_log_that_is_none_is_a_problem(bench):
    bench.database.write_text("no database at all, but long enough to be read as the header of one, were it one" * 9)
    code, found = findings(bench, ANTHROPIC_API_KEY="sk-1")
    assert code == 2
    assert [str(bench.database) in each for each in problems(found)] == [True]


def test_database_whose_folder_cannot_be_made_is_a_problem(bench):
    (bench.folder / "file").touch()
    code, found = findings(bench, ANTHROPIC_API_KEY="sk-1", STOIC_DB=str(bench.folder / "file" / "log.db"))
    assert code == 2
    assert ["cannot be created" in each for each in problems(found)] == [True]


def test_wrong_configuration_is_the_last_finding(bench):
    code, found = findings(bench, STOIC_CONFIG=str(bench.folder / "none.toml"))
    assert code == 2
    assert found[-1]["state"] == "problem"
    assert found[-1]["remedy"] == "create it or unset it"


@pytest.mark.parametrize(("variable", "scheme"), [("HTTPS_PROXY", "https"), ("http_proxy", "http")])
def test_proxy_is_said_without_its_password(variable, scheme, bench):
    _, found = findings(bench, **{variable: "http://me:word@proxy:3128"})
    assert f"proxy for {scheme} http://proxy:3128 from ${variable}" in [each["what"] for each in found]
