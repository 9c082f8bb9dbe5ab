"""`stoic config` as a real process."""

import json

import pytest


@pytest.fixture
def write(bench):
    def write_file(text, mode=0o600):
        path = bench.folder / ".config" / "stoic" / "config.toml"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    return write_file


def test_path_is_the_first_line_and_says_that_nothing_is_there(bench):
    done = bench.stoic("config")
    assert done.returncode == 0
    path = bench.folder / ".config" / "stoic" / "config.toml"
    assert done.stdout.splitlines()[0] == f"{path}  (not there: everything is by environment or default)"
    assert not path.exists()


def test_every_setting_is_shown_with_what_decided_it(bench, write):
    path = write('models = ["openai:a"]\n[parameters]\nmax_tokens = 5\n')
    done = bench.stoic("config", STOIC_EFFORT="low")
    lines = {line.split()[0]: line for line in done.stdout.splitlines()[1:] if line}
    assert done.stdout.splitlines()[0] == str(path)
    assert lines["models"].endswith(f"openai:a  {path}")
    assert lines["max_tokens"].endswith(f"5  {path}")
    assert lines["reasoning_effort"].endswith("low  $STOIC_EFFORT")
    assert lines["database"].endswith("$STOIC_DB")
    assert lines["temperature"].endswith("-  default")


def test_what_only_the_file_can_say_is_said_to_be_from_it(bench, write):
    channel = '[[notices.channels]]\ntype = "apprise"\nurl_variable = "MAIL"\n'
    path = write(f'{channel}[context_windows]\n"vllm:m" = 4096\n')
    said = json.loads(bench.stoic("config", "--json").stdout)["settings"]
    assert said["context_windows_tokens"] == {"value": ["vllm:m 4096"], "from": str(path)}
    assert said["notice_channels"] == {"value": ["apprise ($MAIL)"], "from": str(path)}


def test_keys_and_passwords_are_never_shown(bench, write):
    write('[providers.groq]\nkey = "sk-file"\n[network]\nproxy = "http://user:word@proxy:1"\n')
    for arguments in (["config"], ["config", "--json"], ["doctor"], ["doctor", "--json"]):
        done = bench.stoic(
            *arguments, ANTHROPIC_API_KEY="sk-variable", OPENAI_BASE_URL="http://me:sk-url@127.0.0.1:9/v1"
        )
        said = done.stdout + done.stderr
        assert [each for each in ("sk-file", "sk-variable", "sk-url", "word@") if each in said] == []
        assert "$ANTHROPIC_API_KEY" in said


def test_json_is_one_object_with_the_providers(bench):
    done = bench.stoic("config", "--json", MISTRAL_API_KEY="sk-1")
    tree = json.loads(done.stdout)
    assert tree["providers"]["mistral"]["key_from"] == "$MISTRAL_API_KEY"
    assert tree["providers"]["ollama"] == {
        "api": "chat",
        "base_url": "http://127.0.0.1:11434/v1",
        "base_url_from": "default",
        "key_from": None,
        "key_wanted": None,
        "key_variables": ["OLLAMA_API_KEY"],
    }
    assert tree["settings"]["database"] == {"value": str(bench.database), "from": "$STOIC_DB"}


@pytest.mark.parametrize("arguments", [["config"], ["run", "hi"], ["threads"], ["health"]])
def test_unknown_key_is_one_line_with_the_nearest_name_in_every_command(arguments, bench, write):
    path = write('modles = ["openai:a"]')
    done = bench.stoic(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"stoic: {path}: modles is no key of the configuration; did you mean models?\n"


def test_key_in_a_file_that_others_may_read_stops_every_run(bench, write):
    write('[providers.groq]\nkey = "sk-file"', 0o644)
    done = bench.stoic("run", "hi", "--model", "groq:m")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "chmod 600" in done.stderr
    assert "sk-file" not in done.stderr
