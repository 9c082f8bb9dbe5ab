"""Opens a database file: creates it for its owner alone, refuses what is not ours, migrates it."""

import fcntl
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from stoic.errors import SchemaTooNewError, StoreError
from stoic.store.connection import Connection, open_connection

APPLICATION_ID = 0x53544F49
"""`STOI` in the file's header: what tells our databases from others."""

BUSY_TIMEOUT_MS = 10_000
"""How long to wait for other processes' transactions before giving up."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO

_MIGRATIONS = Path(__file__).parent / "migrations"


def create_file(path: Path) -> None:
    """Create the file (mode 0600) and its folder (mode 0700) if they are missing; take others' access to one that is ours.

    SQLite gives the -wal and -shm files the mode of the database. An existing file is not opened: closing any
    descriptor of it would drop the locks that this process holds on it (SQLite, "How To Corrupt", 2.2).

    Raises:
        StoreError: It cannot be created.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        if path.is_file():
            _make_private(path)
            return
        blocker = path if path.exists() else path.parent
        raise StoreError(f"{blocker}: it is in the way of the database {path}; name another with $STOIC_DB") from None
    except OSError as error:
        raise StoreError(
            f"{path}: it cannot be created ({error.strerror}); make its folder writable or name another with $STOIC_DB"
        ) from error
    os.fchmod(descriptor, 0o600)
    os.close(descriptor)


def _make_private(path: Path) -> None:
    """Take everybody else's access to a database of this user; another user's is shared as that one decided."""
    for each in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with suppress(OSError):  # not there, or on a disk without modes
            found = each.stat()
            if found.st_uid == os.geteuid() and found.st_mode & _OTHERS:
                each.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)


def connect(path: Path, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> Connection:
    """Open a connection to an existing file, set up for durable writes. Raises apsw.Error."""
    connection = open_connection(path)
    try:
        connection.set_busy_timeout(busy_timeout_ms)
        # A commit is on the disk when it returns; on macOS only with F_FULLFSYNC.
        connection.execute("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON")
        # Savepoint journals in memory, never in a temporary file.
        connection.execute("PRAGMA temp_store = MEMORY")
    except apsw.Error:
        connection.close()
        raise
    return connection


def connect_reader(path: Path, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> Connection:
    """Open a connection that cannot write. Raises apsw.Error."""
    connection = connect(path, busy_timeout_ms=busy_timeout_ms)
    connection.execute("PRAGMA query_only = ON")
    return connection


def migrate(connection: Connection, path: Path) -> None:
    """Bring the database to this version's schema; safe while other processes do the same.

    Raises:
        SchemaTooNewError: A newer stoic wrote it.
        StoreError: It is read-only, or not ours.
        apsw.Error: SQLite failed.
    """
    migrations = sorted(_MIGRATIONS.glob("*.sql"))
    # Read before anything is written: a foreign database stays as it was.
    _check_is_ours(connection, path)
    _check_version(connection, path, len(migrations))
    if connection.readonly("main"):
        raise StoreError(f"{path}: it is read-only; make the file writable or name another with $STOIC_DB")
    _use_wal(connection, path)
    for number, file in enumerate(migrations, 1):
        if _version(connection) < number:
            _apply(connection, path, number, file.read_text(encoding="utf-8"))


def _use_wal(connection: Connection, path: Path) -> None:
    """Switch a new file to WAL, one process at a time: two at once get SQLITE_BUSY, which no busy timeout covers."""
    if connection.pragma("journal_mode") == "wal":
        return
    try:
        with _locked_folder(path.parent):
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
    except OSError as error:
        raise StoreError(
            f"{path}: its folder cannot be locked ({error.strerror}); use a folder of your own on a local disk"
        ) from error


@contextmanager
def _locked_folder(folder: Path) -> Generator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _apply(connection: Connection, path: Path, number: int, sql: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Asked again under the lock: another process may have been faster.
        _check_is_ours(connection, path)
        if _version(connection) < number:
            connection.execute(sql)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _check_is_ours(connection: Connection, path: Path) -> None:
    # In this order: a process that fills the file in between marks it in the same transaction.
    is_empty = connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None
    application_id = connection.pragma("application_id")
    if application_id != APPLICATION_ID and not (is_empty and application_id == 0):
        raise StoreError(
            f"{path}: this SQLite database belongs to another program; nothing was written to it, name another file"
            " with $STOIC_DB"
        )


def _check_version(connection: Connection, path: Path, known: int) -> None:
    version = _version(connection)
    if version > known:
        raise SchemaTooNewError(
            f"{path}: a newer stoic wrote it (schema {version}, this one knows {known}); upgrade stoic to use it"
        )


def _version(connection: Connection) -> int:
    return connection.pragma("user_version")
