"""What decides a setting: argument, environment, file, default, in this order."""

import pytest

from stoic.credentials import Secret
from stoic.errors import ConfigurationError
from stoic.sampling import Sampling
from stoic.settings import read_settings

FILE = """
models = ["openai:file"]
database = "/file.db"
[parameters]
max_tokens = 1
temperature = 1
reasoning_effort = "low"
[network]
proxy = "http://file:1"
no_proxy = ["file"]
ca_file = "/file.pem"
[limits]
deadline_seconds = 1
compact_at_share = 0.5
sends_at_once = 3
asks_again = "deny"
[providers.openai]
base_url = "http://file/v1"
key = "sk-file"
[providers.azure]
base_url = "https://file.openai.azure.com"
api_version = "2024-10-21"
"""
VARIABLES = {
    "models": ("STOIC_MODEL", "a:b, c:d", ["a:b", "c:d"]),
    "database": ("STOIC_DB", "/variable.db", "/variable.db"),
    "https_proxy_url": ("HTTPS_PROXY", "http://variable:1", "http://variable:1"),
    "http_proxy_url": ("http_proxy", "http://variable:1", "http://variable:1"),
    "no_proxy": ("NO_PROXY", "x, .y", ["x", ".y"]),
    "ca_file": ("SSL_CERT_FILE", "/variable.pem", "/variable.pem"),
    "deadline_seconds": ("STOIC_DEADLINE_SECONDS", "2.5", 2.5),
    "compact_at_share": ("STOIC_COMPACT_AT_SHARE", "1", 1),
    "sends_at_once": ("STOIC_SENDS_AT_ONCE", "4", 4),
    "asks_again": ("STOIC_ASKS_AGAIN", "allow", "allow"),
}
IN_FILE = {
    "models": ["openai:file"],
    "database": "/file.db",
    "https_proxy_url": "http://file:1",
    "http_proxy_url": "http://file:1",
    "no_proxy": ["file"],
    "ca_file": "/file.pem",
    "deadline_seconds": 1,
    "compact_at_share": 0.5,
    "sends_at_once": 3,
    "asks_again": "deny",
}
DEFAULTS = {
    "models": [],
    "database": "/h/.local/share/stoic/stoic.db",
    "https_proxy_url": None,
    "http_proxy_url": None,
    "no_proxy": [],
    "ca_file": None,
    "deadline_seconds": 600,
    "compact_at_share": 0.8,
    "sends_at_once": 32,
    "asks_again": "ask",
}
BARE = {"HOME": "/h"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(FILE)
    path.chmod(0o600)
    return {**BARE, "STOIC_CONFIG": str(path)}


@pytest.mark.parametrize("name", VARIABLES)
def test_environment_wins_over_the_file_and_the_file_over_the_default(name, file):
    variable, value, meant = VARIABLES[name]
    by_default, by_file, by_variable = (
        read_settings(BARE),
        read_settings(file),
        read_settings({**file, variable: value}),
    )
    assert [getattr(each, name) for each in (by_default, by_file, by_variable)] == [
        DEFAULTS[name],
        IN_FILE[name],
        meant,
    ]
    assert [each.sources.get(name) for each in (by_default, by_file, by_variable)] == [
        None,
        file["STOIC_CONFIG"],
        f"${variable}",
    ]


def test_request_parameters_are_settled_one_by_one(file):
    assert read_settings(BARE).sampling == Sampling()
    assert read_settings(file).sampling == Sampling(max_tokens=1, temperature=1, reasoning_effort="low")
    variables = {"STOIC_MAX_TOKENS": "7", "STOIC_EFFORT": "high"}
    assert read_settings(file | variables).sampling == Sampling(max_tokens=7, temperature=1, reasoning_effort="high")
    assert read_settings({**file, "STOIC_TEMPERATURE": "0"}).sampling.temperature == 0


def test_base_url_and_key_of_the_environment_win_over_the_files(file):
    found = read_settings(file).access["openai"]
    assert (found.base_url, found.key, found.key_from) == ("http://file/v1", Secret("sk-file"), file["STOIC_CONFIG"])
    variables = {"OPENAI_BASE_URL": "http://variable/v1", "OPENAI_API_KEY": " sk-variable\n"}
    found = read_settings(file | variables).access["openai"]
    assert (found.base_url, found.key, found.key_from) == (
        "http://variable/v1",
        Secret("sk-variable"),
        "$OPENAI_API_KEY",
    )


def test_variable_that_the_file_names_holds_the_key(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text('[providers.openai]\nkey_variable = "WORK_KEY"')
    environment = {**BARE, "STOIC_CONFIG": str(path), "OPENAI_API_KEY": "sk-usual"}
    assert read_settings(environment).access["openai"].key == Secret("sk-usual")
    found = read_settings({**environment, "WORK_KEY": "sk-work"}).access["openai"]
    assert (found.key, found.key_from) == (Secret("sk-work"), "$WORK_KEY")


def test_argument_wins_for_its_model_alone(file):
    settings = read_settings(file).with_base_url("openai:a", "http://argument/v1")
    assert settings.base_urls == {"openai:a": "http://argument/v1"}


def test_empty_variable_counts_as_not_set(file):
    assert read_settings({**file, "STOIC_MODEL": " ", "OPENAI_API_KEY": ""}).models == ["openai:file"]


def test_first_variable_that_is_set_counts():
    both = {**BARE, "GEMINI_API_KEY": "second", "GOOGLE_API_KEY": "first"}
    assert read_settings(both).access["gemini"].key_from == "$GOOGLE_API_KEY"
    proxies = {**BARE, "ALL_PROXY": "http://all:1", "STOIC_PROXY": "http://ours:1"}
    assert read_settings(proxies).https_proxy_url == "http://ours:1"


def test_sdk_variables_beside_the_key_are_honoured():
    variables = {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-1", "ANTHROPIC_AUTH_TOKEN": "token"}
    variables |= {"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com", "OPENAI_API_VERSION": "2024-10-21"}
    found = read_settings(BARE | variables).access
    assert found["openai"].headers == {"openai-organization": "org-1", "openai-project": "proj-1"}
    assert (found["anthropic"].key, found["anthropic"].bearer) == (Secret("token"), True)
    assert (found["azure"].base_url, found["azure"].version) == ("https://x.openai.azure.com", "2024-10-21")


def test_version_of_the_file_is_taken_unless_the_variable_says_another(file):
    assert read_settings(file).access["azure"].version == "2024-10-21"
    assert read_settings({**file, "OPENAI_API_VERSION": "v1"}).access["azure"].version == "v1"


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("STOIC_MAX_TOKENS", "many", "$STOIC_MAX_TOKENS is 'many', which is no whole number"),
        ("STOIC_MAX_TOKENS", "-1", "no whole number"),
        ("STOIC_MAX_TOKENS", "0", "max_tokens is 0; it must be at least 1"),
        ("STOIC_TEMPERATURE", "hot", "$STOIC_TEMPERATURE is 'hot', which is no number; change or unset it"),
        ("STOIC_TEMPERATURE", "inf", "no number"),
        ("STOIC_EFFORT", "hard", "one of none, minimal"),
        ("STOIC_DEADLINE_SECONDS", "0", "$STOIC_DEADLINE_SECONDS is '0', which is not above 0"),
        ("STOIC_COMPACT_AT_SHARE", "80", "$STOIC_COMPACT_AT_SHARE is '80', which is not above 0 and at most 1"),
    ],
)
def test_variable_that_cannot_be_is_said(variable, value, said):
    with pytest.raises(ConfigurationError) as caught:
        read_settings({**BARE, variable: value})
    assert said in str(caught.value)


def test_settings_never_show_a_key(file):
    settings = read_settings({**file, "ANTHROPIC_API_KEY": "sk-secret"})
    assert settings.access["anthropic"].key == Secret("sk-secret")
    assert "sk-" not in repr(settings)


def test_fingerprint_tells_keys_apart_and_is_no_part_of_them():
    first, second = Secret("sk-1"), Secret("sk-2")
    assert first.fingerprint == Secret("sk-1").fingerprint != second.fingerprint
    assert len({first, Secret("sk-1"), second}) == 2
    assert "sk" not in first.fingerprint
