"""From the settings to the channels that notices go to."""

from importlib.util import find_spec
from urllib.parse import urlsplit

from stoic.connecting import way_to
from stoic.errors import ConfigurationError
from stoic.ports import Channel, Clock, Delta, Request
from stoic.records import Json
from stoic.settings import Secret, Settings
from stoic.wire.decoding import Decoded
from stoic.wire.sse import SseEvent

_ANSWER_LIMIT_BYTES = 64 * 1024
_SILENCE_SECONDS = 10.0


def connect_channels(settings: Settings, clock: Clock) -> list[Channel]:
    """Return the channels of the settings, each with a name of its own; nothing is opened or sent.

    Raises:
        ConfigurationError: a variable is not set, a URL is none, or a library is not installed
    """
    channels = list[Channel]()
    for number, channel in enumerate(settings.notice_channels):
        place = f"notices.channels[{number}]"
        url = _required(channel.url, place, channel.url_variable)
        if channel.type == "apprise":
            made = _apprise(url, place)
        else:
            secret = _required(channel.secret, place, channel.secret_variable)
            made = _webhook(url, secret, place, settings, clock)
        if any(made.name == each.name for each in channels):
            raise ConfigurationError(f"{place} has the url of another one; remove it")
        channels.append(made)
    return channels


def _webhook(url: Secret, secret: Secret, place: str, settings: Settings, clock: Clock) -> Channel:
    from stoic.channels.webhook import API, WebhookChannel  # noqa: PLC0415 -- HTTP, for those who have a webhook only
    from stoic.wire.transport import HttpProvider, HttpSettings  # noqa: PLC0415 -- likewise

    parts = _parts(url)
    if parts is None or parts[0] not in {"http", "https"}:
        raise ConfigurationError(f"{place}: its url is none of a web server; write it like https://example.org/hook")
    proxy_url, ca_file = way_to(url.reveal(), settings)
    limits = HttpSettings(
        proxy_url=proxy_url,
        ca_file=ca_file,
        idle_timeout_seconds=_SILENCE_SECONDS,
        answer_limit_bytes=_ANSWER_LIMIT_BYTES,
        error_body_limit_bytes=0,
    )
    client = HttpProvider(clock, {API: _Unread}, limits)
    return WebhookChannel(f"webhook {parts[1]} {url.fingerprint}", url, secret, client, clock)


def _apprise(url: Secret, place: str) -> Channel:
    from stoic.channels.apprise import AppriseChannel  # noqa: PLC0415 -- for those who have one only

    if find_spec("apprise") is None:
        raise ConfigurationError(
            f"{place} needs the library apprise, which is not installed: pip install 'stoic[notify]'"
        )
    parts = _parts(url)
    if parts is None:
        raise ConfigurationError(f"{place}: its url is none; write it like mailto://user:word@example.org")
    return AppriseChannel(f"apprise {parts[0]} {url.fingerprint}", url)


def _required(value: Secret | None, place: str, variable: str | None) -> Secret:
    if value is None:
        raise ConfigurationError(f"{place}: the environment variable {variable} is not set; set it or name another")
    return value


def _parts(url: Secret) -> tuple[str, str] | None:
    """Return scheme and host of a URL, which may be shown; None: it is none."""
    try:
        parts = urlsplit(url.reveal())
        host = parts.hostname or ""
    except ValueError:
        return None
    return (parts.scheme, host) if parts.scheme and parts.netloc else None


class _Unread:
    """Reads nothing of an answer: that there was one is enough."""

    ended = False

    def __init__(self, _request: Request, _on_delta: Delta) -> None:
        """Take what every decoder is given."""

    def event(self, event: SseEvent) -> None:
        """Leave an event of a stream."""

    def body(self, value: Json) -> None:
        """Leave a whole answer."""

    def result(self) -> Decoded:
        """Return that nothing was read."""
        return Decoded(parts=None)
