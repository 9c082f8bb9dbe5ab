"""The configuration file: what it may say, and what is said about what it may not."""

import pytest

from stoic.configuration import configuration_path, read_configuration
from stoic.errors import ConfigurationError

WHOLE = """
models = ["openai:a", "gate:b"]
database = "/somewhere/log.db"

[providers.openai]
base_url = "https://gateway.example/v1"
key_variable = "WORK_KEY"

[providers.gate]
api = "messages"
base_url = "https://gate.example"
key = "sk-file"

[parameters]
max_tokens = 1000
temperature = 0.5
reasoning_effort = "low"

[network]
proxy = "http://proxy.example:3128"
no_proxy = ["example.org"]
ca_file = "/somewhere/ca.pem"

[limits]
deadline_seconds = 60

[context_windows]
"vllm:mine" = 32768
"""


@pytest.fixture
def written(tmp_path):
    def write(text, mode=0o600):
        path = tmp_path / "config.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        return {"STOIC_CONFIG": str(path)}

    return write


def wrong(environment):
    with pytest.raises(ConfigurationError) as caught:
        read_configuration(environment)
    text = str(caught.value)
    assert text.count("\n") == 0
    return text


def test_every_section_is_read(written):
    environment = written(WHOLE)
    found = read_configuration(environment)
    assert found.models == ["openai:a", "gate:b"]
    assert found.database == "/somewhere/log.db"
    assert found.providers["openai"].base_url == "https://gateway.example/v1"
    assert (found.providers["gate"].api, found.providers["gate"].key) == ("messages", "sk-file")
    assert (found.parameters.max_tokens, found.parameters.temperature) == (1000, 0.5)
    assert (found.network.no_proxy, found.limits.deadline_seconds) == (["example.org"], 60)
    assert found.context_windows == {"vllm:mine": 32768}
    assert found.path == environment["STOIC_CONFIG"]


def test_path_is_the_variables_else_below_the_configuration_folder():
    assert str(configuration_path({"STOIC_CONFIG": "/a.toml", "XDG_CONFIG_HOME": "/x", "HOME": "/h"})) == "/a.toml"
    assert str(configuration_path({"XDG_CONFIG_HOME": "/x", "HOME": "/h"})) == "/x/stoic/config.toml"
    assert str(configuration_path({"HOME": "/h"})) == "/h/.config/stoic/config.toml"


def test_no_file_is_an_empty_one_unless_it_is_named(tmp_path):
    assert read_configuration({"HOME": str(tmp_path)}).models == []
    assert "does not exist; create it or unset it" in wrong({"STOIC_CONFIG": str(tmp_path / "none.toml")})


UNKNOWN = {
    'modles = ["a:b"]': "modles is no key of the configuration; did you mean models?",
    "[provider.openai]": "provider is no key of the configuration; did you mean providers?",
    '[providers.openai]\nbase_ulr = "x"': "providers.openai.base_ulr is no key of the configuration; did you mean base_url?",
    "[limits]\ndeadline = 5": "limits.deadline is no key of the configuration; did you mean deadline_seconds?",
    '[network]\nproxi = "x"': "network.proxi is no key of the configuration; did you mean proxy?",
    "[parameters]\ntop_k = 3": "parameters.top_k is no key of the configuration; known are max_tokens, temperature",
    'path = "x"': "path is no key of the configuration",
    '[providers.opnai]\nkey_variable = "X"': "providers.opnai: no provider of that name is known; did you mean openai?",
    '[providers.gate]\napi = "chat"': "providers.gate: no provider of that name is known; A new one needs api and base_url",
    '[providers.openai]\napi = "chat"': "providers.openai.api: openai speaks responses anyway; remove it",
}


@pytest.mark.parametrize(("text", "said"), UNKNOWN.items())
def test_unknown_name_is_said_with_its_place_and_the_nearest_one(text, said, written):
    assert said in wrong(written(text))


WRONG = {
    b"models = [": "is no TOML",
    b"\xff": "is not UTF-8 (byte 0)",
    b'models = "openai:a"': "models: Expected `array`, got `str`",
    b'[limits]\ndeadline_seconds = "long"': "limits.deadline_seconds: Expected `float | null`, got `str`",
    b"[limits]\ndeadline_seconds = 0": "limits.deadline_seconds must be above 0",
    b"[limits]\ncompact_at_share = 80": "limits.compact_at_share must be above 0 and at most 1",
    b"[parameters]\ntemperature = 9": "parameters: temperature is 9; it must be from 0 to 2",
    b'[parameters]\nreasoning_effort = "hard"': "must be one of none, minimal",
    b'[context_windows]\n"a:b" = 0': "context_windows.a:b must be at least 1",
    b'[providers.gate]\napi = "soap"\nbase_url = "x"': "providers.gate.api: 'soap' is none of",
    b'[limits]\nasks_again = "maybe"': "limits.asks_again: 'maybe' is none of allow, ask, deny; correct it there",
    b"network = 1": "network: Expected `object`, got `int`",
    b"providers = 1": "providers: Expected `object`, got `int`",
    b"[providers]\nopenai = 1": "Expected `object`, got `int`",
    b"a = " + b"[" * 100_000: "is nested too deep",
    b"#" * 1_000_001: "is larger than 1,000,000 bytes",
}


@pytest.mark.parametrize(("text", "said"), WRONG.items())
def test_wrong_value_is_said_with_its_place(text, said, written):
    environment = written(text)
    found = wrong(environment)
    assert found.startswith(environment["STOIC_CONFIG"])
    assert said in found


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ('headers = {"X Team" = "a"}', "providers.openai.headers.X Team: no header has such a name"),
        (
            'headers = {"Authorization" = "a"}',
            "providers.openai.headers.Authorization: the request has that header itself",
        ),
        ('header_variables = {"x-api-key" = "A"}', "providers.openai.header_variables.x-api-key: the request has that"),
        ('headers = {"x-a" = "a", "X-A" = "b"}', "providers.openai.headers.X-A is given twice; remove one"),
        (
            'headers = {"x-a" = "a"}\nheader_variables = {"X-A" = "A"}',
            "providers.openai.header_variables.X-A is given twice",
        ),
        ('headers = {"x-a" = "canary\\r\\nx: y"}', "providers.openai.headers.x-a holds what no header may hold"),
        ('headers = {"x-a" = ""}', "providers.openai.headers.x-a holds what no header may hold"),
        ('headers = {"x-a" = 7}', "providers.openai.headers"),
    ],
)
def test_header_that_cannot_be_sent_is_said_with_its_place_and_without_its_value(headers, said, written):
    found = wrong(written(f"[providers.openai]\n{headers}"))
    assert said in found
    assert "canary" not in found


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_key_in_a_file_that_others_may_read_is_refused_without_showing_it(mode, written):
    said = wrong(written('[providers.openai]\nkey = "sk-file"', mode))
    assert "others may read it; run chmod 600" in said
    assert "sk-file" not in said


def test_proxy_with_a_password_in_a_file_that_others_may_read_is_refused_without_showing_it(written):
    text = '[network]\nproxy = "http://me:canary@proxy:3128"'
    said = wrong(written(text, 0o644))
    assert "holds a proxy with its password and others may read it; run chmod 600" in said
    assert "canary" not in said
    assert read_configuration(written(text, 0o600)).network.proxy
    assert read_configuration(written('[network]\nproxy = "http://proxy:3128"', 0o644)).network.proxy


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_key_in_a_file_of_its_owner_alone_is_taken(mode, written):
    assert read_configuration(written('[providers.openai]\nkey = "sk-file"', mode)).providers["openai"].key == "sk-file"


def test_file_without_a_key_may_be_read_by_anybody(written):
    assert read_configuration(written('models = ["a:b"]', 0o644)).models == ["a:b"]


def test_folder_in_the_files_place_is_said(tmp_path):
    assert "cannot be read (Is a directory)" in wrong({"STOIC_CONFIG": str(tmp_path)})
