"""The part of an apsw connection that the store uses, with types that hold on every Python we support.

apsw's own stubs need `collections.abc.Buffer` of Python 3.12.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import apsw

_STATEMENT_CACHE_SIZE = 64

Values = tuple[Any, ...]
"""One row of a result, or the bindings of a statement."""


class Cursor(Protocol):
    """The result of one execution."""

    def fetchone(self) -> Values | None:
        """Return the next row; None: there is none."""
        ...

    def fetchall(self) -> list[Values]:
        """Return all rows that are left."""
        ...

    def __iter__(self) -> Iterator[Values]: ...


class Connection(Protocol):
    """One connection, used by one thread at a time."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def execute(self, statements: str, bindings: Sequence[Any] | None = None, /) -> Cursor:
        """Run one statement, or several without bindings."""
        ...

    def executemany(self, statements: str, sequenceofbindings: Iterable[Sequence[Any]], /) -> Cursor:
        """Run one statement for each of the bindings."""
        ...

    def pragma(self, name: str, /) -> Any:
        """Read a pragma."""
        ...

    def changes(self) -> int:
        """Return how many rows the last statement changed."""
        ...

    def readonly(self, name: str, /) -> bool:
        """Tell whether the database of that schema name cannot be written."""
        ...

    def set_busy_timeout(self, milliseconds: int, /) -> None:
        """Set how long to wait for other connections' locks."""
        ...

    def close(self) -> None:
        """Close; an open transaction is rolled back."""
        ...


def open_connection(path: Path) -> Connection:
    """Open an existing file. Raises apsw.Error."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_EXRESCODE
    return cast("Connection", apsw.Connection(str(path), flags=flags, statementcachesize=_STATEMENT_CACHE_SIZE))
