"""Base URLs as people and SDKs write them, made into ones that requests can be sent to."""

import re
from urllib.parse import quote, urlsplit, urlunsplit

from stoic.errors import ConfigurationError

_OLLAMA_PORT = 11434
_CLASSIC_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?")
_HARMLESS = re.compile(r"[a-z]+://[\w.:/\[\]-]*|[\w.-]+:\d+[\w./-]*|localhost[\w./-]*")
_LOOPBACK = "127.0.0.1"
_QUERIES = {"", "alt=sse"}
"""What may stand behind the question mark of a whole URL; anything else may be a credential, and a URL is kept and shown."""


def check_base_url(base_url: str) -> None:
    """Check that a base URL can be used; one that may hold a credential is not repeated in the error.

    Raises:
        ConfigurationError: it is not http or https, has no host, or holds a user name, a password or a query
    """
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable, parts = False, urlsplit("")
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError(
            "the base URL holds a user name or password; take it out and give the key by its variable"
        )
    if parts.query not in _QUERIES or parts.fragment:
        raise ConfigurationError(
            "the base URL goes on after its path with ? or #; take that out, and give a key or a version by its variable"
        )
    if not usable:
        shown = f" {base_url!r}" if _HARMLESS.fullmatch(base_url) else ""
        raise ConfigurationError(f"base URL{shown} is none; write it like http://127.0.0.1:8000/v1")


def with_version_path(base_url: str, version_path: str) -> str:
    """Return a base URL with a version path if it has no path at all, as the provider's own SDK does it."""
    bare = "://" in base_url and not base_url.partition("://")[2].partition("/")[2]
    return base_url.rstrip("/") + version_path if bare else base_url


def ollama_base_url(host: str) -> str:
    """Return the base URL that `$OLLAMA_HOST` means.

    It may be a host, a port, both, or a URL; `0.0.0.0`, where a server listens, becomes this machine:
    https://docs.ollama.com/faq and https://github.com/ollama/ollama/blob/main/envconfig/config.go.
    """
    scheme, separator, rest = host.partition("://")
    place = rest if separator else host
    address, slash, path = place.partition("/")
    name, colon, port = address.rpartition(":") if re.search(r":\d*$", address) else (address, "", "")
    standard = {"http": "80", "https": "443"}.get(scheme, str(_OLLAMA_PORT)) if separator else str(_OLLAMA_PORT)
    name = _LOOPBACK if name in {"", "0.0.0.0", "[::]"} else name  # noqa: S104 -- replaced, not listened on
    return f"{scheme if separator else 'http'}://{name}:{port if colon and port else standard}{slash}{path}"


def azure_base_url(endpoint: str, model: str, version: str | None) -> tuple[str, str]:
    """Return base URL and query of an Azure OpenAI deployment.

    Without a version, or with a word such as `preview`, the `v1` API is meant, which takes the deployment's name as the
    model; a dated version means the classic one: https://learn.microsoft.com/en-us/azure/ai-foundry/openai/api-version-lifecycle.

    Args:
        endpoint: `https://NAME.openai.azure.com`, or a base URL that has `/openai/` in it already
        model: the deployment's name
        version: `$OPENAI_API_VERSION`
    """
    base = endpoint.rstrip("/")
    if version is not None and _CLASSIC_VERSION.fullmatch(version):
        if "/openai/" not in base:
            base = f"{base.removesuffix('/openai')}/openai/deployments/{quote(model, safe='')}"
        return base, f"?api-version={version}"
    if "/openai/" not in base:
        base = f"{base.removesuffix('/openai')}/openai/v1"
    return base, f"?api-version={quote(version)}" if version and version not in {"v1", "latest"} else ""


def shown_url(url: str) -> str:
    """Return a URL without its user part and query, where credentials may stand."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "(not a URL)"
    name = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, name + port, parts.path, "", "")) if host else "(not a URL)"
