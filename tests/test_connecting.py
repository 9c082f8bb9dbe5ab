"""A model of each API over real HTTP: the right URL, headers and body; and who is reached by which way."""

import asyncio

import pytest

from stoic.connecting import Connector
from stoic.credentials import Secret
from stoic.errors import ConfigurationError, UsageError
from stoic.records import Outcome
from stoic.runtime.agents import Agent
from stoic.sampling import Sampling
from stoic.settings import Access, Settings, read_settings
from stoic.testing import FakeClock, ScriptedProvider
from stoic.wiring import Runtime

KEY = "sk-secret"


def run(settings, agent, text="hello"):
    async def turn():
        async with Runtime(settings=settings, clock=FakeClock(auto=True)) as runtime:
            ending = await runtime.thread("t", agent).run(text)
            assert isinstance(ending, Outcome)
            return ending

    return asyncio.run(turn())


def ask(tmp_path, provider, model, **given):
    """Run one turn of a model that the environment's variables lead to the scripted provider."""
    root = provider.base_url.removesuffix("/v1")
    environment = {
        "HOME": str(tmp_path),
        "STOIC_DB": str(tmp_path / "log.db"),
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": root,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": provider.base_url,
        "OPENAI_ORG_ID": "org-1",
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": root,
        "AZURE_OPENAI_API_KEY": KEY,
        "AZURE_OPENAI_ENDPOINT": root,
        "MISTRAL_API_KEY": KEY,
        "MISTRAL_BASE_URL": root,
        "OLLAMA_HOST": root.removeprefix("http://"),
    }
    return run(read_settings(environment), Agent(model, instructions="Be brief.", permissions="allow", **given))


EXPECTED = {
    "anthropic:claude-opus-5-5": (
        "/v1/messages",
        {"x-api-key": "***", "anthropic-version": "2023-06-01"},
        {
            "model": "claude-opus-5-5",
            "max_tokens": 30_000,
            "thinking": {"type": "adaptive"},
            "output_config": {"effort": "high"},
        },
    ),
    "openai:gpt-5.6": (
        "/v1/responses",
        {"authorization": "Bearer ***", "openai-organization": "org-1"},
        {"model": "gpt-5.6", "max_output_tokens": 30_000, "reasoning": {"effort": "high"}, "store": False},
    ),
    "openai-chat:gpt-5": (
        "/v1/chat/completions",
        {"authorization": "Bearer ***"},
        {"model": "gpt-5", "max_completion_tokens": 30_000, "reasoning_effort": "high"},
    ),
    "gemini:gemini-3.8-flash": (
        "/v1beta/models/gemini-3.8-flash:streamGenerateContent",
        {"x-goog-api-key": "***"},
        {"generationConfig": {"maxOutputTokens": 30_000, "thinkingConfig": {"thinkingLevel": "high"}}},
    ),
    "azure:gpt-5": (
        "/openai/v1/chat/completions",
        {"api-key": "***"},
        {"model": "gpt-5", "max_completion_tokens": 30_000, "reasoning_effort": "high"},
    ),
    "azure-responses:gpt-5": ("/openai/v1/responses", {"api-key": "***"}, {"model": "gpt-5"}),
    "mistral:magistral": (
        "/v1/chat/completions",
        {"authorization": "Bearer ***"},
        {"model": "magistral", "max_tokens": 30_000, "stream": True},
    ),
    "ollama:qwen3": ("/v1/chat/completions", {}, {"model": "qwen3", "reasoning_effort": "high"}),
}


@pytest.mark.parametrize("model", EXPECTED)
def test_request_has_the_url_headers_and_body_of_its_api(model, tmp_path):
    path, headers, body = EXPECTED[model]
    with ScriptedProvider([["text:hi"]]) as provider:
        ending = ask(tmp_path, provider, model, max_tokens=30_000, reasoning_effort="high")
        (request,) = provider.requests
    assert (ending.outcome, ending.text) == ("completed", "hi")
    assert request.path == path
    assert {name: request.headers.get(name) for name in headers} == headers
    assert ("authorization" in request.headers) == ("authorization" in headers)
    assert {name: request.json.get(name) for name in body} == body
    assert KEY not in request.body.decode()
    assert ("stream_options" in request.json) == (path.endswith("/chat/completions") and "mistral" not in model)


def test_raw_parameters_win_over_the_neutral_ones_one_level_deep(tmp_path):
    parameters = {"generationConfig": {"maxOutputTokens": 5, "topP": 0.5}}
    with ScriptedProvider([["text:hi"]]) as provider:
        ask(tmp_path, provider, "gemini:gemini-2.5-pro", max_tokens=9, temperature=0.5, parameters=parameters)
        assert provider.requests[0].json["generationConfig"] == {"maxOutputTokens": 5, "temperature": 0.5, "topP": 0.5}


def test_fallback_of_another_api_gets_the_same_wish_in_its_own_words(tmp_path):
    broken = {"status": 401, "body": {"error": {"message": "no"}}}
    with ScriptedProvider([broken, ["text:hi"]]) as provider:
        ending = ask(tmp_path, provider, "openai:gpt-4o", fallbacks=["gemini:gemini-2.5-pro"], max_tokens=9)
        first, second = provider.requests
    assert ending.outcome == "completed"
    assert first.json["max_output_tokens"] == 9
    assert second.json["generationConfig"] == {"maxOutputTokens": 9}


def test_wish_that_a_candidate_does_not_take_is_said_before_anything_is_stored_or_sent(tmp_path):
    with ScriptedProvider([["text:hi"]]) as provider:
        with pytest.raises(UsageError, match="gemini:gemini-3-pro takes the reasoning_effort"):
            ask(tmp_path, provider, "openai:gpt-5.6", fallbacks=["gemini:gemini-3-pro"], reasoning_effort="none")
        assert provider.requests == []


def test_agent_says_it_before_the_settings_do():
    settings = Settings(
        database="x",
        access={"openai": Access(key=Secret(KEY))},
        sampling=Sampling(max_tokens=5, temperature=0.5),
    )
    connection = Connector(settings, FakeClock())("openai:gpt-4o")
    assert Agent("openai:gpt-4o", temperature=0).parameters_for(connection) == {
        "max_output_tokens": 5,
        "temperature": 0,
    }


def test_provider_of_the_file_speaks_the_api_it_names(tmp_path):
    with ScriptedProvider([["text:hi"]]) as provider:
        path = tmp_path / "config.toml"
        path.write_text(
            f'[providers.gate]\napi = "messages"\nbase_url = "{provider.base_url}"\nkey_variable = "GATE_KEY"\n'
            '[context_windows]\n"gate:mine" = 5000\n'
        )
        environment = {"HOME": str(tmp_path), "STOIC_DB": str(tmp_path / "log.db"), "STOIC_CONFIG": str(path)}
        settings = read_settings({**environment, "GATE_KEY": KEY})
        assert run(settings, Agent("gate:mine")).text == "hi"
        (request,) = provider.requests
    assert (request.path, request.headers["x-api-key"]) == ("/v1/messages", "***")
    assert Connector(settings, FakeClock())("gate:mine").context_window_tokens == 5000


def test_base_url_of_an_argument_counts_for_its_model_alone():
    access = {"openai": Access(base_url="http://127.0.0.1:1/v1")}
    settings = Settings(database="x", access=access).with_base_url("openai:a", "http://127.0.0.1:2/v1")
    connect = Connector(settings, FakeClock())
    assert connect("openai:a").url == "http://127.0.0.1:2/v1/responses"
    assert connect("openai:b").url == "http://127.0.0.1:1/v1/responses"


def test_token_goes_into_the_authorization_header():
    access = {
        "anthropic": Access(key=Secret("token"), bearer=True),
        "azure": Access(key=Secret("token"), bearer=True, base_url="https://x.openai.azure.com"),
    }
    connect = Connector(Settings(database="x", access=access), FakeClock())
    assert connect("anthropic:m").headers == {"anthropic-version": "2023-06-01", "authorization": "Bearer token"}
    assert connect("azure:m").headers == {"authorization": "Bearer token"}


def test_replaced_key_is_another_route_of_the_same_model():
    keys = [Secret("sk-1"), Secret("sk-2")]
    first, second = (
        Connector(Settings(database="x", access={"openai": Access(key=key)}), FakeClock())("openai:m") for key in keys
    )
    assert first.key != second.key
    assert first.key.startswith("openai:m https://api.openai.com/v1/responses ")


@pytest.mark.parametrize("key", ["sk-ключ", "sk-1\nx-admin: 1", "sk-1 sk-2"])
def test_key_that_can_be_none_is_refused_without_showing_it(key):
    access = {"openai": Access(key=Secret(key), key_from="$OPENAI_API_KEY")}
    with pytest.raises(ConfigurationError, match=r"the key of \$OPENAI_API_KEY holds characters") as caught:
        Connector(Settings(database="x", access=access), FakeClock())("openai:m")
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("gpt-5", "write PROVIDER:NAME, such as openai:gpt-5"),
        ("", "such as openai:NAME"),
        (":m", "there is no provider ''"),
        ("openai:", "the name after openai: is missing; write openai:NAME"),
        ("antropic:m", "there is no provider 'antropic'; did you mean anthropic:m?"),
        ("zzzzzzzz:m", "there is no provider 'zzzzzzzz'; write PROVIDER:NAME"),
        ("azure:m", "model azure:m: no base URL. Set AZURE_OPENAI_ENDPOINT or --base-url"),
    ],
)
def test_model_that_cannot_be_reached_is_said_in_one_line(model, said):
    with pytest.raises(ConfigurationError) as caught:
        Connector(Settings(database="x"), FakeClock())(model)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def clients(urls, **network):
    """Return which client each URL gets, as the number of the first one that is the same."""
    connect = Connector(Settings(database="x", base_urls={f"vllm:{url}": url for url in urls}, **network), FakeClock())
    sends = [connect(f"vllm:{url}").send for url in urls]
    return [sends.index(each) for each in sends]


def test_one_client_serves_all_without_a_proxy():
    assert clients(["http://a/v1", "https://b/v1", "http://c/v1"]) == [0, 0, 0]


def test_proxy_is_asked_by_scheme_and_not_for_exempt_hosts():
    urls = [
        "https://a/v1",
        "https://b.example.org/v1",
        "https://example.org/v1",
        "https://notexample.org/v1",
        "http://a/v1",
    ]
    assert clients(urls, https_proxy_url="http://proxy:1", no_proxy=[".example.org"]) == [0, 1, 1, 0, 1]
    assert clients(urls, https_proxy_url="http://proxy:1", no_proxy=["*"]) == [0, 0, 0, 0, 0]


def test_missing_certificates_are_said_when_they_are_needed(tmp_path):
    missing = str(tmp_path / "none.pem")
    assert clients(["http://a/v1"], ca_file=missing) == [0]
    with pytest.raises(ConfigurationError, match=r"none.pem is not there; correct STOIC_CA_FILE"):
        clients(["https://a/v1"], ca_file=missing)


def test_neutral_parameters_are_refused_by_a_connection_without_words_for_them():
    connection = Connector(Settings(database="x"), FakeClock())("vllm:m")
    plain = type(connection)(
        provider="p", api="chat", model="m", url="u", headers={}, renderer=connection.renderer, send=connection.send
    )
    assert Agent("p:m").parameters_for(plain) == {}
    with pytest.raises(UsageError, match="takes no max_tokens, temperature or reasoning_effort; use parameters"):
        Agent("p:m", max_tokens=5).parameters_for(plain)


def house(tmp_path, base_url, more="", **variables):
    """Return the settings of a program whose file adds a provider with headers of its own."""
    file = tmp_path / "config.toml"
    file.write_text(
        f'[providers.house]\napi = "chat"\nbase_url = "{base_url}"\nheaders = {{ "X-Team" = "search" }}\n'
        f'header_variables = {{ "X-Pass" = "HOUSE_PASS" }}\n{more}'
    )
    return read_settings({"STOIC_DB": str(tmp_path / "log.db"), "STOIC_CONFIG": str(file), **variables})


def test_headers_of_ones_own_are_sent_and_the_secret_ones_come_back_nowhere(tmp_path):
    settings = house(tmp_path, "http://127.0.0.1:9/v1", HOUSE_PASS="canary-of-the-house")
    connection = Connector(settings, FakeClock())("house:m")
    assert connection.headers == {"x-team": "search", "x-pass": "canary-of-the-house"}
    assert connection.secrets == ("canary-of-the-house",)
    assert "canary" not in f"{settings!r} {connection.key}"
    environment = {"A": "canary-of-the-house", "HOUSE_PASS": "x", "B": "search"}
    assert settings.credentials().stripped(environment) == {"B": "search"}


def test_secret_header_that_a_server_sends_back_is_in_no_log(tmp_path):
    said = {"status": 400, "headers": {}, "body": {"error": {"message": "bad pass canary-of-the-house", "type": "x"}}}
    case = {"id": "echo", "api": "openai_chat", "transport": "http", **said}

    async def turn(settings):
        async with Runtime(settings=settings, clock=FakeClock(auto=True)) as runtime:
            await runtime.thread("t", Agent("house:m")).run("hello")
            return repr((await runtime.store.load("t")).rows)

    async def main():
        async with ScriptedProvider(["wire:echo"], cases={"echo": case}) as provider:
            told = await turn(house(tmp_path, provider.base_url, HOUSE_PASS="canary-of-the-house"))
            assert provider.requests[0].headers["x-team"] == "search"
            return told

    told = asyncio.run(main())
    assert "bad pass [key]" in told
    assert "canary" not in told


def test_new_secret_header_is_another_credential(tmp_path):
    routes = [
        Connector(house(tmp_path, "http://h/v1", HOUSE_PASS=each), FakeClock())("house:m") for each in ("a", "b", "a")
    ]
    assert routes[0].credential == routes[2].credential != routes[1].credential
    assert routes[0].credential_from == "$HOUSE_PASS"


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "model house:m: no value for the header x-pass. Set HOUSE_PASS"),
        ({"HOUSE_PASS": "ca\nnary"}, "$HOUSE_PASS, for the header x-pass, holds what no header may hold; set it anew"),
    ],
)
def test_secret_header_without_a_usable_value_is_said_when_it_is_needed(tmp_path, variables, said):
    settings = house(tmp_path, "http://h/v1", **variables)
    with pytest.raises(ConfigurationError) as caught:
        Connector(settings, FakeClock())("house:m")
    assert str(caught.value) == said
