"""Channels from the configuration file: what they need, and what is said where it is missing."""

import sys

import pytest

from stoic.configuration import read_configuration
from stoic.core.notice_forms import BUDGET_PER_DAY
from stoic.errors import ConfigurationError
from stoic.notifying import connect_channels
from stoic.settings import read_settings
from stoic.testing import FakeClock

HOOK = 'type = "webhook"\nurl = "https://hooks.example/x"\nsecret_variable = "HOOK_SECRET"'


@pytest.fixture
def environment(tmp_path):
    """Return a function that writes a file of these channels and returns the environment that names it."""

    def write(*channels, mode=0o600, more="", **variables):
        path = tmp_path / "config.toml"
        path.write_text(f"[notices]\n{more}\n" + "".join(f"[[notices.channels]]\n{each}\n" for each in channels))
        path.chmod(mode)
        return {"STOIC_CONFIG": str(path), "HOME": str(tmp_path), **variables}

    return write


def wrong(environment):
    """Return what is wrong with the channels of an environment."""
    with pytest.raises(ConfigurationError) as caught:
        connect_channels(read_settings(environment), FakeClock())
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{environment['STOIC_CONFIG']}: ")


def test_channels_are_made_with_secrets_from_the_environment(environment):
    mail = 'type = "apprise"\nurl_variable = "MAIL_URL"'
    given = environment(HOOK, mail, HOOK_SECRET="s", MAIL_URL="mailto://user:word@example.org")
    first, second = connect_channels(read_settings(given), FakeClock())
    assert first.name.startswith("webhook hooks.example ")
    assert second.name.startswith("apprise mailto ")
    assert "word" not in second.name


def test_the_budget_is_the_variables_then_the_files_then_twenty(environment):
    given = environment(more="budget_per_day = 5")
    settings = read_settings(given)
    assert (settings.notices_per_day, settings.sources["notices_per_day"]) == (5, given["STOIC_CONFIG"])
    assert read_settings({**given, "STOIC_NOTICES_PER_DAY": "0"}).notices_per_day == 0
    assert read_settings({"HOME": given["HOME"]}).notices_per_day == BUDGET_PER_DAY


@pytest.mark.parametrize(
    ("channel", "said"),
    [
        (HOOK.replace("url =", "ulr ="), "notices.channels[0].ulr is no key of the configuration; did you mean url?"),
        (
            'type = "pigeon"\nurl = "x"',
            "notices.channels[0].type: 'pigeon' is none of webhook, apprise; correct it there",
        ),
        (HOOK + '\nurl_variable = "U"', "notices.channels[0] needs either url or url_variable; correct it there"),
        ('type = "apprise"', "notices.channels[0] needs either url or url_variable; correct it there"),
        ('type = "webhook"\nurl = "https://x.example"', "notices.channels[0].secret_variable is missing"),
        ('type = "apprise"\nurl = "x://y"\nsecret_variable = "S"', "only a webhook is signed; remove it"),
        (HOOK.replace("https", "ftp"), "notices.channels[0]: its url is none of a web server"),
        (HOOK.replace("hooks.example", "[1"), "notices.channels[0]: its url is none of a web server"),
        ('type = "apprise"\nurl = "token"', "notices.channels[0]: its url is none"),
    ],
)
def test_what_cannot_be_is_one_line_with_its_place(environment, channel, said):
    assert said in wrong(environment(channel, HOOK_SECRET="s"))


def test_a_table_of_the_wrong_shape_is_one_line(environment, tmp_path):
    path = tmp_path / "config.toml"
    for text, said in (("notices = 1", "notices: Expected"), ("[notices]\nchannels = 1", "notices.channels: Expected")):
        path.write_text(text)
        with pytest.raises(ConfigurationError, match=said):
            read_configuration({"STOIC_CONFIG": str(path)})
    path.write_text("[notices]\nchannels = [1]")
    with pytest.raises(ConfigurationError, match=r"notices.channels\[0\]: Expected"):
        read_configuration({"STOIC_CONFIG": str(path)})


def test_a_budget_below_zero_is_wrong(environment):
    assert (
        wrong(environment(more="budget_per_day = -1")) == "notices.budget_per_day must not be below 0; correct it there"
    )


def test_a_variable_that_is_not_set_is_missed_only_by_who_needs_the_channel(environment):
    given = environment(HOOK)
    assert read_settings(given).notice_channels[0].secret is None
    assert wrong(given) == (
        "notices.channels[0]: the environment variable HOOK_SECRET is not set; set it or name another"
    )
    named = environment('type = "apprise"\nurl_variable = "MAIL_URL"')
    assert "MAIL_URL is not set" in wrong(named)


def test_one_url_twice_is_wrong(environment):
    assert wrong(environment(HOOK, HOOK, HOOK_SECRET="s")) == (
        "notices.channels[1] has the url of another one; remove it"
    )


def test_a_library_that_is_not_installed_is_said_with_the_remedy(environment, monkeypatch):
    monkeypatch.setitem(sys.modules, "apprise", None)
    assert wrong(environment('type = "apprise"\nurl = "json://x/"')) == (
        "notices.channels[0] needs the library apprise, which is not installed: pip install 'stoic[notify]'"
    )


def test_an_apprise_url_in_a_file_that_others_may_read_is_refused(environment):
    channel = 'type = "apprise"\nurl = "json://user:word@x/"'
    said = wrong(environment(channel, mode=0o644))
    assert "holds an apprise url, which has credentials in it, and others may read it; run chmod 600" in said
    assert "word" not in said
    assert connect_channels(read_settings(environment(HOOK, mode=0o644, HOOK_SECRET="s")), FakeClock())
