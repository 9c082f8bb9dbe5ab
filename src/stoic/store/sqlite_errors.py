"""What an error of SQLite means to the person who runs the program: one line, and what to do."""

import apsw
import msgspec

from stoic.errors import StoreError
from stoic.store.encoding import DamagedValueError

_DAMAGED = "the file is damaged; restore a copy, or save what is left with `sqlite3 FILE .recover`"
_MEANINGS: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.BusyError, "another process kept it locked for too long; find it with `lsof` and try again"),
    (apsw.LockedError, "another process kept it locked for too long; find it with `lsof` and try again"),
    (apsw.FullError, "the disk is full; free some space and try again"),
    (apsw.ReadOnlyError, "it is read-only; make the file and its folder writable, or name another with $STOIC_DB"),
    (apsw.PermissionsError, "it may not be written; check its owner and mode, or name another with $STOIC_DB"),
    (apsw.CantOpenError, "it cannot be opened; check that its folder exists and is writable"),
    (apsw.NotADBError, "it is no SQLite database; move it away or name another file with $STOIC_DB"),
    (apsw.CorruptError, _DAMAGED),
    (apsw.IOError, "reading or writing failed; check the disk"),
)
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, DamagedValueError)
"""What is raised for a stored value that is none of ours."""


def damage_text(path: str, what: object) -> str:
    """Return what to say of a value of the log that cannot be read.

    Args:
        path: The database file.
        what: What is wrong with which value.
    """
    return f"{path}: {_DAMAGED} ({what})"


def damage_error(path: str, error: Exception) -> StoreError:
    """Return the error to raise for a value of the log that cannot be read.

    Args:
        path: The database file.
        error: What its decoder said; kept as the cause.
    """
    result = StoreError(damage_text(path, error))
    result.__cause__ = error
    return result


def store_error(path: str, error: apsw.Error, *, at_commit: bool = False) -> StoreError:
    """Return the error to raise for an error of SQLite.

    Args:
        path: The database file.
        error: What SQLite said; kept as the cause.
        at_commit: Whether everything had been written when it happened.
    """
    meaning = next((meaning for kind, meaning in _MEANINGS if isinstance(error, kind)), "SQLite failed")
    # What could not be synced stands in the WAL, whole, until the next transaction takes its place.
    may_return = at_commit and isinstance(error, apsw.IOError)
    stored = "it is not stored, but a crash now may bring it back" if may_return else "nothing was stored"
    result = StoreError(f"{path}: {meaning} (SQLite: {error}); {stored}")
    result.__cause__ = error
    return result
