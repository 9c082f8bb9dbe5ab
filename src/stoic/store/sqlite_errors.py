"""What an error of SQLite means to the person who runs the program: one line, and what to do."""

import apsw

from stoic.errors import StoreError

_MEANINGS: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.BusyError, "another process kept it locked for too long; find it with `lsof` and try again"),
    (apsw.LockedError, "another process kept it locked for too long; find it with `lsof` and try again"),
    (apsw.FullError, "the disk is full; free some space and try again"),
    (apsw.ReadOnlyError, "it is read-only; make the file and its folder writable, or name another with $STOIC_DB"),
    (apsw.PermissionsError, "it may not be written; check its owner and mode, or name another with $STOIC_DB"),
    (apsw.CantOpenError, "it cannot be opened; check that its folder exists and is writable"),
    (apsw.NotADBError, "it is no SQLite database; move it away or name another file with $STOIC_DB"),
    (apsw.CorruptError, "the file is damaged; restore a copy, or save what is left with `sqlite3 FILE .recover`"),
    (apsw.IOError, "reading or writing failed; check the disk"),
)


def store_error(path: str, error: apsw.Error) -> StoreError:
    """Return the error to raise for an error of SQLite.

    Args:
        path: The database file.
        error: What SQLite said; kept as the cause.
    """
    meaning = next((meaning for kind, meaning in _MEANINGS if isinstance(error, kind)), "SQLite failed")
    result = StoreError(f"{path}: {meaning} (SQLite: {error}); nothing was stored")
    result.__cause__ = error
    return result
