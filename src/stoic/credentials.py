"""A credential as a value that does not show itself."""

import hashlib

_DIGEST_BYTES = 6


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
