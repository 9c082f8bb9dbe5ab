"""From `PROVIDER:NAME` to a connection: which wire, which URL, which key, which proxy."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from stoic.configuration import is_header_value
from stoic.credentials import Secret
from stoic.errors import ConfigurationError
from stoic.models.addresses import azure_base_url, check_base_url
from stoic.models.entries import ProviderEntry
from stoic.models.parameters import parameters_of
from stoic.models.providers import PROVIDERS, near_names
from stoic.models.windows import context_window_tokens
from stoic.ports import Clock, Connection, Provider, Renderer
from stoic.prices import price_of
from stoic.records import Json, Record
from stoic.sampling import Sampling
from stoic.settings import Access, Settings
from stoic.wire import chat, gemini, messages, responses
from stoic.wire.chat_decoding import ChatDecoder
from stoic.wire.chat_dialects import DialectRenderer
from stoic.wire.gemini import GeminiRenderer
from stoic.wire.gemini_decoding import GeminiDecoder
from stoic.wire.messages import MessagesRenderer
from stoic.wire.messages_decoding import MessagesDecoder
from stoic.wire.own import API, OwnModel, OwnProvider, OwnRenderer
from stoic.wire.responses import ResponsesRenderer
from stoic.wire.responses_decoding import ResponsesDecoder

if TYPE_CHECKING:
    from stoic.wire.transport import HttpProvider, HttpSettings

DECODERS = {
    messages.API: MessagesDecoder,
    responses.API: ResponsesDecoder,
    gemini.API: GeminiDecoder,
    chat.API: ChatDecoder,
}
"""How answers are read, by API."""


class _Api(Record, frozen=True):
    """How one API's requests are addressed, signed and rendered."""

    endpoint: Callable[[str, str], str]
    headers: Callable[[str | None], dict[str, str]]
    renderer: Callable[[ProviderEntry, str], Renderer]


class Connector:
    """Makes connections from model names; all over one HTTP client, or two when a proxy leads to some of them only."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        *,
        provider: Provider | None = None,
        simulated: bool = False,
        own: Mapping[str, OwnModel] | None = None,
    ) -> None:
        """Remember how to connect.

        Args:
            settings: base URLs, keys, proxy
            clock: the clock of deadlines
            provider: another client than the HTTP ones
            simulated: say of every connection that its provider is simulated
            own: functions that ask models of providers of their own, by the provider's name

        Raises:
            ConfigurationError: one of them has the name of a provider that is known
        """
        self._settings = settings
        self._clock = clock
        self._given = provider
        self._clients: dict[HttpSettings, HttpProvider] = {}
        self._simulated = simulated
        self._own = {name: OwnProvider(ask, clock) for name, ask in (own or {}).items()}
        taken = next((name for name in self._own if settings.entry(name) is not None or not name.isidentifier()), None)
        if taken is not None:
            raise ConfigurationError(
                f"providers: {taken!r} is a provider already, or no name; use another word of letters and digits"
            )

    def __call__(self, model: str) -> Connection:
        """Return the connection of `PROVIDER:NAME`.

        Raises:
            ConfigurationError: no such provider, no name, no usable base URL, or a key is missing
        """
        provider, _, own_name = model.partition(":")
        if provider in self._own and own_name:
            return self._own_connection(model, provider, own_name)
        entry, name = self._entry(model)
        access = self._settings.access.get(entry.name, Access())
        base_url = self._settings.base_urls.get(model) or access.base_url or entry.base_url
        if base_url is None:
            raise ConfigurationError(f"model {model}: no base URL. Set {_either(entry.url_variables)} or --base-url")
        check_base_url(base_url)
        if access.key is None and entry.needs_key and base_url.rstrip("/") == (entry.base_url or base_url):
            raise ConfigurationError(f"model {model}: no key. {_key_remedy(entry)}")
        api = _APIS[entry.api]
        url = _url(entry, api, base_url, name, access.version)
        secret = _secret_headers(model, access)
        own = self._settings.sampling

        def express(sampling: Sampling) -> dict[str, Json]:
            return parameters_of(entry, name, sampling.or_else(own))

        return Connection(
            provider=entry.name,
            api=entry.api,
            model=name,
            url=url,
            headers={**access.headers, **secret, **_credential_headers(entry, api, access)},
            renderer=api.renderer(entry, name),
            send=self._given or self._client(url),
            secrets=tuple(secret.values()),
            credential=_fingerprint(access, secret),
            credential_from=credential_place(entry, access),
            simulated=self._simulated,
            price=price_of(entry.name, name),
            express=express,
            context_window_tokens=self._settings.context_windows_tokens.get(model)
            or context_window_tokens(entry.name, name),
        )

    def _own_connection(self, model: str, provider: str, name: str) -> Connection:
        own = self._settings.sampling
        return Connection(
            provider=provider,
            api=API,
            model=name,
            url="",
            headers={},
            renderer=OwnRenderer(),
            send=self._own[provider],
            simulated=self._simulated,
            express=lambda sampling: sampling.or_else(own).named(),
            context_window_tokens=self._settings.context_windows_tokens.get(model),
        )

    def _entry(self, model: str) -> tuple[ProviderEntry, str]:
        provider, _, name = model.partition(":")
        entry = self._settings.entry(provider)
        if entry is not None and name:
            return entry, name
        if entry is not None:
            raise ConfigurationError(f"model {model!r}: the name after {provider}: is missing; write {provider}:NAME")
        if not name:
            raise ConfigurationError(
                f"model {model!r}: write PROVIDER:NAME, such as openai:{model or 'NAME'}; `stoic config` lists the providers"
            )
        near = near_names(provider, [*self._settings.providers, *PROVIDERS])
        hint = f"did you mean {' or '.join(f'{each}:{name}' for each in near)}?" if near else "write PROVIDER:NAME"
        raise ConfigurationError(
            f"model {model!r}: there is no provider {provider!r}; {hint} (`stoic config` lists the providers)"
        )

    def _client(self, url: str) -> "HttpProvider":
        """Return the HTTP client for a URL; the proxy and the certificates are looked at when they are needed only."""
        from stoic.wire.transport import HttpProvider, HttpSettings  # noqa: PLC0415 -- HTTP and TLS, for senders only

        proxy_url, ca_file = way_to(url, self._settings)
        wanted = HttpSettings(proxy_url=proxy_url, ca_file=ca_file)
        if wanted not in self._clients:
            self._clients[wanted] = HttpProvider(self._clock, DECODERS, wanted)
        return self._clients[wanted]


def credential_place(entry: ProviderEntry, access: Access) -> str:
    """Return the variable or file that holds a provider's credential, or would; empty: it has none."""
    names = entry.key_variables or tuple(access.header_variables.values())
    return access.key_from or _either(tuple(f"${name}" for name in names))


def way_to(url: str, settings: Settings) -> tuple[str | None, str | None]:
    """Return the proxy that leads to a URL and the file of the certificates to trust there, as far as settings name any.

    Raises:
        ConfigurationError: there is no such file
    """
    secure, host = urlsplit(url).scheme == "https", urlsplit(url).hostname or ""
    proxy = settings.https_proxy_url if secure else settings.http_proxy_url
    return None if _is_exempt(host, settings.no_proxy) else proxy, _ca_file(settings.ca_file) if secure else None


def _url(entry: ProviderEntry, api: _Api, base_url: str, name: str, version: str | None) -> str:
    if not entry.version_variables:
        return api.endpoint(base_url, name)
    base, query = azure_base_url(base_url, name, version)
    return api.endpoint(base, name) + query


def _credential_headers(entry: ProviderEntry, api: _Api, access: Access) -> dict[str, str]:
    key = _plain(access)
    if entry.version_variables and not access.bearer:
        return {"api-key": key} if key else {}
    if access.bearer and key:
        return {**api.headers(None), "authorization": f"Bearer {key}"}
    return api.headers(key)


def _secret_headers(model: str, access: Access) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, secret in access.secret_headers.items():
        variable = access.header_variables[name]
        if secret is None:
            raise ConfigurationError(f"model {model}: no value for the header {name}. Set {variable}")
        if not is_header_value(secret.reveal()):
            raise ConfigurationError(f"${variable}, for the header {name}, holds what no header may hold; set it anew")
        found[name] = secret.reveal()
    return found


def _fingerprint(access: Access, secret: Mapping[str, str]) -> str:
    """Return what tells whether the key, or a secret header, was replaced."""
    parts = [access.key.reveal()] if access.key else []
    return Secret("\n".join([*parts, *secret.values()])).fingerprint if parts or secret else ""


def _plain(access: Access) -> str | None:
    if access.key is None:
        return None
    value = access.key.reveal()
    if not value.isascii() or not value.isprintable() or " " in value:
        raise ConfigurationError(f"the key of {access.key_from} holds characters that no key has; set it anew")
    return value


def _key_remedy(entry: ProviderEntry) -> str:
    variables = entry.key_variables + entry.bearer_variables
    where = f", or point {_either(entry.url_variables)} (or --base-url) at another server" if entry.base_url else ""
    return f"Set {_either(variables)}{where}"


def _either(variables: tuple[str, ...]) -> str:
    return " or ".join(variables)


def _is_exempt(host: str, no_proxy: list[str]) -> bool:
    """Tell whether a host is one that the proxy is not asked for: named itself, or below a named domain."""
    names = [name.lower().removeprefix("*").lstrip(".") for name in no_proxy]
    return any(name in {"", host} or host.endswith(f".{name}") for name in names)


def _ca_file(path: str | None) -> str | None:
    if path is not None and not Path(path).is_file():
        raise ConfigurationError(
            f"the CA file {path} is not there; correct STOIC_CA_FILE, SSL_CERT_FILE or network.ca_file"
        )
    return path


def _chat_renderer(entry: ProviderEntry, model: str) -> Renderer:
    if entry.asks_for_usage and not entry.replays_thinking:
        return chat
    return DialectRenderer(
        provider=entry.name,
        model=model,
        asks_for_usage=entry.asks_for_usage,
        replays_thinking=entry.replays_thinking,
    )


_APIS: dict[str, _Api] = {
    messages.API: _Api(
        endpoint=lambda base, _: messages.endpoint(base),
        headers=messages.auth_headers,
        renderer=lambda entry, model: MessagesRenderer(provider=entry.name, model=model),
    ),
    responses.API: _Api(
        endpoint=lambda base, _: responses.endpoint(base),
        headers=responses.auth_headers,
        renderer=lambda entry, model: ResponsesRenderer(provider=entry.name, model=model),
    ),
    gemini.API: _Api(
        endpoint=gemini.endpoint,
        headers=gemini.auth_headers,
        renderer=lambda entry, model: GeminiRenderer(provider=entry.name, model=model),
    ),
    chat.API: _Api(
        endpoint=lambda base, _: chat.endpoint(base),
        headers=chat.auth_headers,
        renderer=_chat_renderer,
    ),
}
