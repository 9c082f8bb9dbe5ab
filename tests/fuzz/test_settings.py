"""The configuration file and the variables take anything: settings, or one line that says what is wrong and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.processes import Bench
from tests.fuzz.hostile import broken_bytes, hostile_texts
from tests.fuzz.volume import ending, examples

from stoic.credentials import Credentials
from stoic.errors import ConfigurationError
from stoic.settings import Settings, read_settings

WHOLE = b"""
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
max_tokens = 1_000
temperature = 0.5
reasoning_effort = "low"

[network]
proxy = "http://proxy.example:3128"
no_proxy = ["example.org"]
ca_file = "/somewhere/ca.pem"

[limits]
deadline_seconds = 60
compact_at_share = 0.8
sends_at_once = 3
asks_again = "ask"

[notices]
budget_per_day = 3
channels = [{type = "webhook", url = "https://a.example", secret_variable = "S"}]

[context_windows]
"vllm:mine" = 32768
"""
PIECES = [b"nan", b"inf", b"-inf", b"1e400", b"9" * 25, b"9" * 5_000, b"0x" + b"f" * 5_000, b"[" * 20_000, b"{a=" * 5_000, b"a." * 20_000, b"a." * 900, b"a." * 1_950, b'"\\u0000"', b'"""', b"'", b"1979-05-27T07:32:00Z", b"25:00:00", b"[[providers]]\n", b"[a.b.c]\n", b"\n= 1\n", b"x" * 50_000 + b" = 1\n", b'"' + b"k" * 5_000 + b'" = 1\n', b"\xff", b"\xef\xbb\xbf", b"\r", b"\x00", b"#", b"true", b"[]", b"{}", b'""', b"-1", b"0"]  # fmt: skip
SECTIONS = {
    "": ["models", "database", "modles"],
    "providers.openai": ["api", "base_url", "key_variable", "key", "api_version", "x"],
    "providers.gate": ["api", "base_url", "key"],
    'providers.""': ["api", "base_url"],
    "parameters": ["max_tokens", "temperature", "reasoning_effort"],
    "network": ["proxy", "no_proxy", "ca_file"],
    "limits": ["deadline_seconds", "compact_at_share", "sends_at_once", "asks_again"],
    "notices": ["budget_per_day", "channels"],
    "context_windows": ['"vllm:mine"', '""'],
}
LITERALS = st.sampled_from(["true", "0", "-1", "3", "0.5", "nan", "inf", "-inf", "1e308", "1e400", "9" * 25, "9" * 4_000, "9" * 5_000, "[]", "{}", "[[]]", "[{}]", "['']", "[1]", "''", "'a'", "'openai:a'", "['openai:a']", '"\\u0000"', '"a\\u0000b"', '"\\n"', "'http://x'", "'~nobody-here/x'", "'" + "x" * 3_000 + "'", "1979-05-27", "[{type = 'webhook'}]", "[{type = 'apprise', url = ''}]"])  # fmt: skip
FILES = st.lists(
    st.sampled_from([(section, key) for section, keys in SECTIONS.items() for key in keys]).flatmap(
        lambda place: LITERALS.map(lambda value: (*place, value))
    ),
    max_size=5,
    unique_by=lambda entry: entry[:2],
)
VARIABLES = ("STOIC_MODEL", "STOIC_DB", "STOIC_MAX_TOKENS", "STOIC_TEMPERATURE", "STOIC_EFFORT", "STOIC_PROXY", "NO_PROXY", "STOIC_CA_FILE", "STOIC_DEADLINE_SECONDS", "STOIC_COMPACT_AT_SHARE", "STOIC_SENDS_AT_ONCE", "STOIC_ASKS_AGAIN", "STOIC_NOTICES_PER_DAY", "OLLAMA_HOST", "OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "AZURE_OPENAI_ENDPOINT", "XDG_DATA_HOME", "XDG_CONFIG_HOME")  # fmt: skip
NUMBERS = ["0", "-1", "1", "1.5", "nan", "inf", "-inf", "1e308", "1e400", "9" * 25, "9" * 5_000, "٣", "0x10", "1_000", " 1 ", "http://[::1", "http://x:99999", "~", "~nobody-here/x", ",,", "a:b"]  # fmt: skip


def toml(entries):
    """Return a configuration file that says these things, those of no section first."""
    lines = []
    for section in sorted({section for section, *_ in entries}):
        lines += [f"[{section}]"] if section else []
        lines += [f"{key} = {value}" for where, key, value in entries if where == section]
    return "\n".join(lines).encode()


def check(folder, data, **variables):
    """Check that what the file and the variables say is read, or refused in one line."""
    path = folder / "config.toml"
    path.write_bytes(data)
    path.chmod(0o600)
    try:
        with ending():
            found = read_settings({"HOME": str(folder), "STOIC_CONFIG": str(path), **variables})
    except ConfigurationError as error:
        said = str(error)
        assert len(said.splitlines()) == 1
        assert len(said) < 1_500 + len(str(path))
        return None
    assert isinstance(found, Settings)
    return found


def test_any_bytes_as_configuration_are_read_or_refused_in_one_line(tmp_path):
    @examples(100)
    @given(broken_bytes([WHOLE], PIECES))
    def run(data):
        check(tmp_path, data)

    run()


def test_any_values_in_the_configuration_are_read_or_refused_in_one_line(tmp_path):
    @examples(150)
    @given(FILES)
    def run(entries):
        check(tmp_path, toml(entries))

    run()


def test_any_variables_are_read_or_refused_in_one_line(tmp_path):
    texts = st.sampled_from(NUMBERS) | hostile_texts(NUMBERS).map(lambda text: text.replace("\0", ""))

    @examples(100)
    @given(st.dictionaries(st.sampled_from(VARIABLES), texts, max_size=4))
    def run(variables):
        check(tmp_path, WHOLE, **variables)

    run()


# ---- found by the above -------------------------------------------------------------------------

REFUSED = {
    "a number of 5,000 digits": (b"[parameters]\nmax_tokens = " + b"9" * 5_000, "has a number that is too long"),
    "arrays in arrays": (b"models = " + b"[" * 20_000, "is nested too deep"),
    "tables in tables": (b"[" + b"a." * 1_500 + b"a]\n", "is nested too deep"),
    "a key of 20,000 parts": (b"a." * 20_000 + b"a = 1", "has more than 2000 dots"),
    "more than a configuration holds": (b"# \n" * 400_000, "is larger than 1,000,000 bytes"),
    "a path with NUL": (b'database = "a\\u0000b"', "database holds a NUL character"),
    "a NUL in a list": (b'[network]\nno_proxy = ["a", "\\u0000"]', "network.no_proxy[1] holds a NUL character"),
    "a time without end": (b"[limits]\ndeadline_seconds = inf", "limits.deadline_seconds is inf, which no setting is"),
    "a time that is no number": (b"[limits]\ndeadline_seconds = nan", "limits.deadline_seconds is nan"),
    "a count beyond any store's": (b"[notices]\nbudget_per_day = " + b"9" * 4_000, "notices.budget_per_day is 999"),
    "a long key": (b"k" * 100_000 + b" = 1", "is no key of the configuration"),
    "a long value": (b"[parameters]\nreasoning_effort = '" + b"x" * 100_000 + b"'", "it must be one of none, minimal"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_configuration_that_no_setting_can_be_is_refused_in_one_short_line(tmp_path, what):
    data, said = REFUSED[what]
    path = tmp_path / "config.toml"
    path.write_bytes(data)
    with pytest.raises(ConfigurationError) as refused, ending():
        read_settings({"HOME": str(tmp_path), "STOIC_CONFIG": str(path)})
    assert said in str(refused.value)
    assert str(refused.value).startswith(str(path))
    assert len(str(refused.value).splitlines()) == 1
    assert len(str(refused.value)) < 500 + len(str(path))


def test_configuration_without_end_is_refused():
    with pytest.raises(ConfigurationError, match="larger than 1,000,000 bytes"), ending():
        read_settings({"STOIC_CONFIG": "/dev/zero"})


def test_proxy_of_a_million_colons_is_looked_at_in_a_moment(tmp_path):
    path = tmp_path / "config.toml"
    path.write_bytes(b"[network]\nproxy = 'http://" + b":" * 900_000 + b"'")
    path.chmod(0o644)
    with ending(cpu_seconds=20):
        assert read_settings({"STOIC_CONFIG": str(path), "HOME": str(tmp_path)}).https_proxy_url
    path.write_bytes(b"[network]\nproxy = 'http://a:b:" + b":" * 100_000 + b"@host'")
    with pytest.raises(ConfigurationError, match="holds a proxy with its password"), ending(cpu_seconds=20):
        read_settings({"STOIC_CONFIG": str(path), "HOME": str(tmp_path)})


@pytest.mark.parametrize("piece", ["a", "a.", "http:", "http://", "://", "a://:", "a:", "@", "-"])
def test_variable_of_megabytes_is_searched_for_a_password_in_a_moment(piece):
    values = {"LONG": piece * (1_000_000 // len(piece))}
    with ending(cpu_seconds=20):
        assert Credentials().stripped(values) == values
        assert Credentials().stripped({"LONG": f"{values['LONG']} HTTP+x://a:b@c"}) == {}


VARIABLE_REFUSED = {
    "STOIC_MAX_TOKENS": ("9" * 5_000, "larger than any setting"),
    "STOIC_SENDS_AT_ONCE": ("9" * 17, "larger than any setting"),
    "STOIC_DEADLINE_SECONDS": ("1e300", "larger than any setting"),
    "STOIC_CONFIG": ("~nobody-here/x", "nobody has such a home"),
}


@pytest.mark.parametrize("name", VARIABLE_REFUSED)
def test_variable_that_no_setting_can_be_is_refused_in_one_short_line(tmp_path, name):
    value, said = VARIABLE_REFUSED[name]
    with pytest.raises(ConfigurationError) as refused:
        read_settings({"HOME": str(tmp_path), name: value})
    assert f"${name} is " in str(refused.value)
    assert said in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("command", ["config", "doctor", "threads"])
def test_command_refuses_such_a_configuration_without_a_traceback(tmp_path, command):
    data, said = REFUSED["a number of 5,000 digits"]
    path = tmp_path / "config.toml"
    path.write_bytes(data)
    done = Bench(tmp_path).stoic(command, STOIC_CONFIG=str(path))
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stdout + done.stderr
    assert said in done.stdout + done.stderr
