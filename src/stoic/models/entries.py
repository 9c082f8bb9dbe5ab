"""What one line of the table of providers says."""

from typing import Literal

from stoic.records import Record

ApiName = Literal["messages", "responses", "generate", "chat"]
"""The APIs there are wires for: Anthropic Messages, OpenAI Responses, Gemini generateContent, Chat Completions."""


class ProviderEntry(Record, frozen=True):
    """One provider: where it is, whose variables name its key, and how its API differs from the one it is compatible with."""

    name: str
    """As in `PROVIDER:NAME`."""
    api: ApiName
    base_url: str | None
    """Where requests go unless a variable or the configuration says otherwise; None: one must."""
    source: str
    """A public page that says so."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold the key, the first one set counts."""
    url_variables: tuple[str, ...] = ()
    """Environment variables that may hold the base URL, the first one set counts."""
    version_path: str = ""
    """Added to a given base URL that has no path, where the provider's own SDK adds it."""
    default_model: str | None = None
    """Taken when nobody names a model and this provider's key is the first one found."""
    needs_key: bool = True
    """Whether the default base URL refuses requests without a key."""
    bearer_variables: tuple[str, ...] = ()
    """Environment variables that may hold a token that goes into `Authorization: Bearer` instead of the API's own header."""
    header_variables: tuple[tuple[str, str], ...] = ()
    """Environment variables whose value is sent as a header: (variable, header)."""
    version_variables: tuple[str, ...] = ()
    """Environment variables that may hold the API's version (Azure)."""
    asks_for_usage: bool = True
    """Whether `stream_options` may be sent; some refuse it and tell the usage anyway."""
    replays_thinking: bool = False
    """Whether replies with calls are refused later unless their thinking comes back as `reasoning_content`."""
