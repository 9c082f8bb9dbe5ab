"""Credentials: one as a value that does not show itself, and all of them together, which child processes must not get."""

import hashlib
import re
from collections.abc import Iterable, Mapping

_DIGEST_BYTES = 6
_NAMES = re.compile(
    r"(?:.*_)?(?:(?:API)?KEYS?|SECRETS?|TOKENS?|PASSWORDS?|PASSWD|PASS|PASSPHRASE|PAT)|PGPASSWORD|MYSQL_PWD",
    re.IGNORECASE,
)
"""What variables are called that hold a credential, whoever reads them."""
_URL_WITH_PASSWORD = re.compile(r"(?<=[a-z0-9+.-])://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)
"""Of the scheme only the end is looked at: a search for its beginning takes time in the square of a long word."""
_SHORTEST = 8
"""A shorter credential is a word such as `none`, which other variables may hold too."""


class Secret:
    """A credential that does not show itself in a log, a trace or an error."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        """Hold the credential."""
        self._value = value

    def reveal(self) -> str:
        """Return the credential, for the one header that carries it."""
        return self._value

    @property
    def fingerprint(self) -> str:
        """A short hash: tells whether the credential was replaced, and nothing else."""
        return hashlib.blake2b(self._value.encode(errors="surrogateescape"), digest_size=_DIGEST_BYTES).hexdigest()

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self._value

    def __hash__(self) -> int:
        return hash(self._value)


class Credentials:
    """All that stoic itself uses as credentials; what it starts for a model finds none of it in its environment."""

    __slots__ = ("_values", "_variables")

    def __init__(self, variables: Iterable[str] = (), values: Iterable[Secret] = ()) -> None:
        """Take what is known of them.

        Args:
            variables: names of environment variables that may hold one
            values: those that were read, from a variable or from a file
        """
        self._variables = frozenset(name.upper() for name in variables)
        self._values = tuple(values)

    def stripped(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return an environment without variables that hold a credential: by their name, or by what they hold."""
        return {name: value for name, value in environment.items() if not self._is_one(name, value)}

    def _is_one(self, name: str, value: str) -> bool:
        if name.upper() in self._variables or _NAMES.fullmatch(name) or _URL_WITH_PASSWORD.search(value):
            return True
        known = [each.reveal() for each in self._values]
        return any(value == each or (len(each) >= _SHORTEST and each in value) for each in known if each)
