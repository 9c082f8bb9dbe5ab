"""Credentials that are marks: planted wherever stoic may take one from, and looked for wherever they could come out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stoic.models.providers import PROVIDERS

MARK = "canary"

KEYS = sorted({name for entry in PROVIDERS.values() for name in entry.key_variables + entry.bearer_variables})
"""Every environment variable that may hold a provider's key."""

_CONFIGURATION = """\
[providers.gate]
api = "chat"
base_url = "http://127.0.0.1:9/v1"
key_variable = "GATE_CREDENTIAL"

[providers.together]
key = "canary-of-the-file-0123456789"

[[notices.channels]]
type = "webhook"
url_variable = "HOOK_ADDRESS"
secret_variable = "HOOK_SIGNATURE"

[[notices.channels]]
type = "apprise"
url_variable = "PAGER_ADDRESS"
"""


def value_of(name: str) -> str:
    """Return the credential that a variable holds."""
    return f"{MARK}-{name.lower().replace('_', '-')}-0123456789"


def plant(folder: Path, hook: str) -> dict[str, Any]:
    """Return an environment full of credentials, for a command that runs in a folder.

    Args:
        folder: where the configuration file is written
        hook: the base URL of a web server that takes notices
    """
    path = folder / "config.toml"
    path.write_text(_CONFIGURATION, encoding="utf-8")
    path.chmod(0o600)
    planted = {name: value_of(name) for name in [*KEYS, "GATE_CREDENTIAL", "HOOK_SIGNATURE"]}
    return planted | {
        "STOIC_CONFIG": str(path),
        "HOOK_ADDRESS": f"{hook}/services/{value_of('HOOK_ADDRESS')}",
        "PAGER_ADDRESS": f"json://pager:{value_of('PAGER_ADDRESS')}@127.0.0.1:9/notify",
        "HTTPS_PROXY": f"http://me:{value_of('HTTPS_PROXY')}@127.0.0.1:9",
        "DATABASE_URL": f"postgresql://me:{value_of('DATABASE_URL')}@127.0.0.1:9/db",
        "MY_BACKUP": value_of("OPENAI_API_KEY"),
        "MY_CLIENT": f"--key {value_of('GATE_CREDENTIAL')} --fast",
        "DEPLOY_PASSPHRASE": value_of("DEPLOY_PASSPHRASE"),
        "TOKEN": value_of("TOKEN"),
    }


def traces(folder: Path, *besides: Path) -> Iterator[str]:
    """Yield every file below a folder that holds a mark, besides some."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path not in besides and MARK.encode() in path.read_bytes():
            yield str(path.relative_to(folder))
