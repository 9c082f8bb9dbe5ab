"""Which model `stoic run` works with, and what it is asked for."""

import pytest

from stoic.testing import ScriptedProvider

DENIED = {"status": 401, "body": {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}}


def asked(provider):
    return [(request.path, request.json.get("model")) for request in provider.requests]


def test_first_model_is_bound_and_the_next_one_answers_when_it_cannot(bench):
    with ScriptedProvider([DENIED, ["text:hi"]]) as provider:
        done = bench.stoic(
            *bench.working(provider, "hello"), "--model", "anthropic:b", ANTHROPIC_BASE_URL=provider.base_url
        )
        assert asked(provider) == [("/v1/chat/completions", "m"), ("/v1/messages", "b")]
    assert (done.returncode, done.stdout) == (0, "hi\n")
    assert "anthropic:b answers the rest of this turn" in done.stderr


def test_base_url_counts_for_the_first_model_alone(bench):
    with ScriptedProvider([DENIED]) as provider:
        done = bench.stoic(*bench.working(provider, "hello"), "--model", "openai:b")
        assert provider.requests == []
    assert done.returncode == 2
    assert "model openai:b: no key. Set OPENAI_API_KEY" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "variable", "in_file", "model"),
    [
        (["--model", "openai-chat:argument"], "openai-chat:variable", "openai-chat:file", "argument"),
        ([], "openai-chat:variable", "openai-chat:file", "variable"),
        ([], "", "openai-chat:file", "file"),
        ([], "", "", "gpt-5.6"),
    ],
)
def test_model_is_the_arguments_else_the_variables_else_the_files_else_by_key(
    arguments, variable, in_file, model, bench
):
    path = bench.folder / "config.toml"
    path.write_text(f'models = ["{in_file}"]' if in_file else "")
    with ScriptedProvider([["text:hi"]]) as provider:
        done = bench.stoic(
            "run",
            "hello",
            *arguments,
            STOIC_CONFIG=str(path),
            STOIC_MODEL=variable,
            OPENAI_API_KEY="sk-1",
            OPENAI_BASE_URL=provider.base_url,
        )
        assert [name for _, name in asked(provider)] == [model]
    assert done.stdout == "hi\n"


def test_model_chosen_by_a_key_is_said_with_the_key_s_place(bench):
    with ScriptedProvider([["text:hi"]]) as provider:
        done = bench.stoic("run", "hello", ANTHROPIC_API_KEY="sk-1", ANTHROPIC_BASE_URL=provider.base_url)
        assert asked(provider) == [("/v1/messages", "claude-opus-5-5")]
    assert "model anthropic:claude-opus-5-5: none is named, and $ANTHROPIC_API_KEY is set" in done.stderr
    assert "sk-1" not in done.stderr + done.stdout


def test_key_of_a_provider_without_a_default_asks_for_the_model(bench):
    done = bench.stoic("run", "hello", TOGETHER_API_KEY="sk-1")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "together, whose key is set, has no default; add --model together:NAME" in done.stderr


def test_request_parameters_of_the_command_line_are_sent(bench):
    with ScriptedProvider([["text:hi"]]) as provider:
        options = ["--max-tokens", "50", "--temperature", "0.5", "--effort", "low"]
        done = bench.stoic(*bench.working(provider, "hello", *options[:4]))
        assert (provider.requests[0].json["max_tokens"], provider.requests[0].json["temperature"]) == (50, 0.5)
    assert done.returncode == 0
    done = bench.stoic(*bench.working(provider, "hello", *options))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "stoic: openai-chat:m takes no reasoning_effort; leave it out\n"


def test_request_parameters_of_the_environment_and_the_file_are_sent(bench):
    path = bench.folder / "config.toml"
    path.write_text("[parameters]\nmax_tokens = 50\ntemperature = 0.5\n")
    with ScriptedProvider([["text:hi"]]) as provider:
        bench.stoic(*bench.working(provider, "hello"), STOIC_CONFIG=str(path), STOIC_TEMPERATURE="0")
        assert (provider.requests[0].json["max_tokens"], provider.requests[0].json["temperature"]) == (50, 0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--max-tokens", "0"], "max_tokens is 0; it must be at least 1"),
        (["--temperature", "3"], "temperature is 3; it must be from 0 to 2"),
        (["--effort", "hard"], "reasoning_effort is 'hard'; it must be one of none, minimal"),
        (["--max-tokens", "many"], "Invalid value for '--max-tokens'"),
    ],
)
def test_request_parameter_that_cannot_be_is_one_line(options, said, bench):
    done = bench.stoic("run", "hi", "--model", "ollama:m", *options)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
    assert not bench.database.exists()
