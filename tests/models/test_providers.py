"""The table of providers: everybody has what it needs, and the names promised are there."""

import re

import pytest

from stoic.connecting import Connector
from stoic.core.classify.providers import table_name
from stoic.credentials import Secret
from stoic.errors import ConfigurationError
from stoic.models.providers import PROVIDERS, near_names
from stoic.models.windows import context_window_tokens
from stoic.settings import Access, Settings, read_settings
from stoic.testing import FakeClock

PROMISED = (
    "anthropic openai openai-chat gemini openrouter deepseek dashscope zhipu moonshot minimax groq xai mistral together "
    "fireworks azure ollama vllm llamacpp"
)
OWN_HEADERS = {
    "anthropic": "x-api-key",
    "minimax": "x-api-key",
    "minimax-cn": "x-api-key",
    "gemini": "x-goog-api-key",
    "azure": "api-key",
    "azure-responses": "api-key",
}
URLS = {
    "anthropic": "https://api.anthropic.com/v1/messages",
    "openai": "https://api.openai.com/v1/responses",
    "openai-chat": "https://api.openai.com/v1/chat/completions",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
    "openrouter": "https://openrouter.ai/api/v1/chat/completions",
    "deepseek": "https://api.deepseek.com/chat/completions",
    "dashscope": "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions",
    "zhipu": "https://open.bigmodel.cn/api/paas/v4/chat/completions",
    "moonshot": "https://api.moonshot.ai/v1/chat/completions",
    "minimax": "https://api.minimax.io/anthropic/v1/messages",
    "groq": "https://api.groq.com/openai/v1/chat/completions",
    "xai": "https://api.x.ai/v1/chat/completions",
    "mistral": "https://api.mistral.ai/v1/chat/completions",
    "together": "https://api.together.ai/v1/chat/completions",
    "fireworks": "https://api.fireworks.ai/inference/v1/chat/completions",
    "ollama": "http://127.0.0.1:11434/v1/chat/completions",
    "vllm": "http://127.0.0.1:8000/v1/chat/completions",
    "llamacpp": "http://127.0.0.1:8080/v1/chat/completions",
}


def connect(environment, model):
    return Connector(read_settings({"HOME": "/nowhere", **environment}), FakeClock())(model)


def with_key(name):
    entry = PROVIDERS[name]
    environment = {entry.key_variables[0]: "sk-1"}
    return environment if entry.base_url else environment | {entry.url_variables[0]: "https://x.openai.azure.com"}


def test_every_promised_provider_is_in_the_table():
    assert [name for name in PROMISED.split() if name not in PROVIDERS] == []


@pytest.mark.parametrize("name", PROVIDERS)
def test_entry_has_a_source_variables_and_a_base_url_that_can_be_used(name):
    entry = PROVIDERS[name]
    assert entry.source.startswith("https://")
    assert entry.key_variables
    assert entry.url_variables
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]+", each) for each in entry.key_variables + entry.url_variables)
    assert entry.base_url is None or not entry.base_url.endswith("/")


@pytest.mark.parametrize("name", PROVIDERS)
def test_key_of_the_environment_goes_into_one_header_and_nowhere_else(name):
    connection = connect(with_key(name), f"{name}:m")
    carrying = [header for header, value in connection.headers.items() if "sk-1" in value]
    assert carrying == [OWN_HEADERS.get(name, "authorization")]
    assert "sk-1" not in connection.url + connection.credential + connection.key
    assert connection.credential == Secret("sk-1").fingerprint


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_variable_of_the_key_is_read(name):
    entry = PROVIDERS[name]
    base = with_key(name)
    base.pop(entry.key_variables[0])
    for variable in entry.key_variables:
        found = read_settings({"HOME": "/nowhere", **base, variable: "sk-2"}).access[name]
        assert (found.key, found.key_from) == (Secret("sk-2"), f"${variable}")


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_variable_of_the_base_url_is_read(name):
    entry = PROVIDERS[name]
    for variable in entry.url_variables:
        connection = connect({**with_key(name), variable: "http://127.0.0.1:9/base"}, f"{name}:m")
        assert connection.url.startswith("http://127.0.0.1:9/base/")


@pytest.mark.parametrize("name", URLS)
def test_requests_go_to_the_documented_url(name):
    assert connect(with_key(name), f"{name}:m").url == URLS[name]


@pytest.mark.parametrize("name", [name for name, entry in PROVIDERS.items() if entry.needs_key and entry.base_url])
def test_missing_key_is_said_with_the_variable_that_would_hold_it(name):
    with pytest.raises(ConfigurationError, match=f"model {name}:m: no key. Set {PROVIDERS[name].key_variables[0]}"):
        connect({}, f"{name}:m")


@pytest.mark.parametrize("name", [name for name, entry in PROVIDERS.items() if entry.needs_key and entry.base_url])
def test_another_server_needs_no_key(name):
    access = {name: Access(base_url="http://127.0.0.1:9/v1")}
    connection = Connector(Settings(database="x", access=access), FakeClock())(f"{name}:m")
    assert (connection.credential, [v for v in connection.headers.values() if "earer" in v]) == ("", [])


@pytest.mark.parametrize("name", [name for name, entry in PROVIDERS.items() if entry.default_model])
def test_window_of_every_default_model_is_known(name):
    window = context_window_tokens(name, PROVIDERS[name].default_model or "")
    assert (window is None) == (name in {"openrouter", "mistral"})
    assert window is None or window >= 100_000


@pytest.mark.parametrize("name", PROVIDERS)
def test_classifier_has_a_table_for_the_name(name):
    assert table_name(name)


def test_near_names_are_the_nearest_first():
    assert near_names("antropic", list(PROVIDERS))[0] == "anthropic"
    assert near_names("zzzzzz", list(PROVIDERS)) == []
