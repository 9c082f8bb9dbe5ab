"""`stoic health` as a real process, after real failures."""

import json

import pytest

from stoic.testing import ScriptedProvider

DENIED = {"status": 401, "body": {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}}


@pytest.fixture
def shut(bench):
    """Return a provider whose model has been shut by a credential that was not accepted; it then answers."""
    with ScriptedProvider([DENIED, ["text:back"]]) as provider:
        assert bench.stoic(*bench.working(provider, "hello")).returncode == 3
        yield provider


def routes(bench):
    return [json.loads(line) for line in bench.stoic("health", "--json").stdout.splitlines()]


def test_nothing_has_failed_yet(bench):
    with ScriptedProvider([["text:ok"]]) as provider:
        assert bench.stoic(*bench.working(provider, "hello")).returncode == 0
    done = bench.stoic("health")
    assert (done.returncode, done.stdout, done.stderr) == (0, "no route has failed yet\n", "")


def test_shut_model_is_shown_with_cause_and_remedy(bench, shut):
    done = bench.stoic("health")
    assert done.stdout.startswith(
        "openai-chat:m  shut after auth, waits for a change of its credential; "
        "`stoic health retry openai-chat:m` tries at once  http://127.0.0.1:"
    )
    (route,) = routes(bench)
    assert (route["model"], route["state"], route["failure_class"]) == ("openai-chat:m", "open", "auth")


def test_shut_model_is_not_asked_until_a_person_says_retry(bench, shut):
    assert configured(bench, shut, "again").returncode == 3
    assert len(shut.requests) == 1
    done = bench.stoic("health", "retry", "openai-chat:m")
    assert (done.returncode, done.stdout) == (0, "openai-chat:m: the next request is a trial\n")
    assert routes(bench)[0]["state"] == "half_open"
    assert bench.stoic(*bench.working(shut, "again")).stdout == "back\n"
    assert routes(bench)[0]["state"] == "closed"
    assert bench.stoic("health", "retry", "openai-chat:m").stdout == "openai-chat:m was not shut; nothing is changed\n"


def configured(bench, provider, *arguments):
    """Run with the model of the settings: nobody has named it for this run."""
    return bench.stoic("run", *arguments, STOIC_MODEL="openai-chat:m", OPENAI_BASE_URL=provider.base_url)


def test_model_that_a_person_names_is_asked_though_it_was_shut_by_its_credential(bench, shut):
    done = configured(bench, shut, "again")
    assert "openai-chat:m is closed after auth; nothing was sent." in done.stderr
    assert "Or say `stoic health retry openai-chat:m`." in done.stderr
    assert bench.stoic(*bench.working(shut, "again")).stdout == "back\n"
    assert routes(bench)[0]["state"] == "closed"


def test_model_that_a_person_names_in_chat_is_asked_too(bench, shut):
    with bench.terminal(*bench.talking(shut)) as terminal:
        terminal.wait_for_prompt(1)
        terminal.type("again\r")
        terminal.wait_for("back")
        terminal.wait_for_prompt(2)
        terminal.type("\x04")
        assert terminal.end() == 0


def test_model_that_is_shut_for_a_while_stays_so_when_it_is_named(bench):
    busy = {"status": 429, "headers": {"retry-after": "300"}, "body": {"error": {"message": "slow down"}}}
    with ScriptedProvider([busy, ["text:never"]]) as provider:
        assert bench.stoic(*bench.working(provider, "hello")).returncode == 3
        done = bench.stoic(*bench.working(provider, "again"))
        assert len(provider.requests) == 1
    assert done.returncode == 3
    assert "is closed after rate_limit until " in done.stderr


def test_doctor_names_the_shut_model_and_the_way_back(bench, shut):
    said = bench.stoic("doctor").stdout
    remedy = "replace or refill the credential in $OPENAI_API_KEY; with the same one: stoic health retry openai-chat:m"
    assert f"openai-chat:m is shut after auth → {remedy}" in said


@pytest.mark.parametrize(
    ("model", "hint"), [("openai-chat:mm", "did you mean openai-chat:m?"), ("zz", "`stoic health` lists the models")]
)
def test_retry_of_an_unknown_model_is_said_with_a_near_one(model, hint, bench, shut):
    done = bench.stoic("health", "retry", model)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert hint in done.stderr


def test_retry_without_a_log_is_wrong_usage(bench):
    done = bench.stoic("health", "retry", "openai-chat:m")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not bench.database.exists()
