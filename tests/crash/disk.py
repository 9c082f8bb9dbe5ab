"""A disk under SQLite that remembers every write and sync, so that the power can be cut at any moment afterwards.

What a power cut may do is what SQLite's own documentation allows it to do (https://www.sqlite.org/atomiccommit.html, section 2;
https://www.sqlite.org/psow.html; https://www.sqlite.org/c3ref/c_iocap_atomic.html):

- What was written to a file since its last sync is there, or not, sector by sector of 512 bytes and in any order; what was written
  before is there. A later write to the same bytes is never undone by an earlier one.
- The sector that was being written is torn: it has the first bytes of the new content, or the last, and old ones besides.
- A file that has grown may have its new length without its new content: garbage is there instead (no SAFE_APPEND).
- A file that was created, deleted or shortened since the last sync of its folder, or of itself, may be as it was before. A
  journal or WAL that is new takes its folder along with its first sync; so does the system's own VFS, which is underneath.
- With POWERSAFE_OVERWRITE, which the system's VFS claims and the store therefore relies on, bytes beside those that were written
  stay as they were. Without it, the disk says so, and a torn sector of 4,096 bytes is garbage also beside them.
- A sync that fails leaves of what it should have synced what the disk has got to; the rest is lost for good and counts as clean,
  as under Linux: no later sync brings it to the disk.

The `-shm` file is no file of this disk: SQLite makes it anew when the first connection opens the database.
"""

import contextlib
import functools
from collections import defaultdict
from collections.abc import Callable, Generator
from pathlib import Path
from typing import NamedTuple

import apsw

from stoic.testing.simulation import Dice

SECTOR_BYTES = 512
_NAME = "watched"
_CLAIMED_BYTES = 4096
"""Of a sector, as the disk says; the largest that may be torn without POWERSAFE_OVERWRITE."""
_JOURNALS = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL
_SHARES = (0, 10, 50, 90, 100)
"""Percent of the unsynced sectors of a file that survive a cut; one of them for each file and cut."""

Files = dict[str, bytes]
"""The content of a folder, by name."""
Fault = Callable[[str, str], int | None]
"""From what is done (`read`, `write`, `sync`, `truncate`, `delete`, `open`) and to which file, to SQLite's code of the failure."""


class Wrote(NamedTuple):
    """Bytes were written to a file."""

    file: int
    offset: int
    data: bytes


class Resized(NamedTuple):
    """A file was shortened."""

    file: int
    size_bytes: int


class Synced(NamedTuple):
    """A file's content reached the disk, and maybe the names in its folder."""

    file: int
    folder: bool


class FailedToSync(NamedTuple):
    """A file's content should have reached the disk."""

    file: int


class Named(NamedTuple):
    """A name began to stand for a file, or (None) for none."""

    name: str
    file: int | None


class FolderSynced(NamedTuple):
    """The names of the folder reached the disk."""


Event = Wrote | Resized | Synced | FailedToSync | Named | FolderSynced


class Disk:
    """One folder's files as they were at the beginning, and everything that happened to them since, in order."""

    def __init__(
        self,
        folder: Path,
        files: Files | None = None,
        *,
        powersafe_overwrite: bool = True,
        claims_it: bool | None = None,
    ) -> None:
        """Put the files into the folder.

        Args:
            folder: an empty one
            files: what the folder holds at the beginning, all of it synced
            powersafe_overwrite: whether a torn sector harms only what was written
            claims_it: whether SQLite is told so; default the truth
        """
        self.folder = folder
        self.powersafe_overwrite = powersafe_overwrite
        self.claims_it = powersafe_overwrite if claims_it is None else claims_it
        self.begin: dict[str, tuple[int, bytes]] = {}
        self.events: list[Event] = []
        self.fault: Fault | None = None
        self._names: dict[str, int] = {}
        self._kinds: dict[int, str] = {}
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in (files or {}).items():
            (folder / name).write_bytes(content)
            self.begin[name] = (self._add(name), content)

    @property
    def moment(self) -> int:
        """How much has happened so far."""
        return len(self.events)

    def place(self, moment: int) -> str:
        """Say what was just about to happen at a moment."""
        if moment == self.moment:
            return "at the end"
        event = self.events[moment]
        if isinstance(event, Named | FolderSynced):
            return "at a name"
        what = "writing" if isinstance(event, Wrote) else "shortening" if isinstance(event, Resized) else "syncing"
        return f"{what} the {self._kinds[event.file]}"

    @contextlib.contextmanager
    def mounted(self) -> Generator[None]:
        """Have this process open its databases on this disk; those of other folders go straight through."""
        disks = _vfs().disks
        disks[self.folder] = self
        apsw.set_default_vfs(_NAME)
        try:
            yield
        finally:
            del disks[self.folder]
            if not disks:
                apsw.set_default_vfs(_vfs().base)

    def may_fail(self, what: str, name: str) -> None:
        """Raise the failure that is to happen now, if one is.

        apsw lets it through as an exception also where SQLite itself would go on without a word: in a checkpoint after a commit,
        and when a connection is closed. So a commit may seem to fail that was made, and a disk has to work when it is closed.
        """
        code = self.fault(what, name) if self.fault is not None else None
        if code is not None:
            error = apsw.exception_for(code)
            error.args = (f"the {what} of {name} failed",)
            raise error

    def opened(self, name: str) -> int:
        """Return the file of a name, which was opened and is there now; one that is new is not known to its folder."""
        if name not in self._names:
            self.events.append(Named(name, self._add(name)))
        return self._names[name]

    def deleted(self, name: str, *, folder: bool) -> None:
        """Note that a name is gone."""
        if self._names.pop(name, None) is not None:
            self.events.append(Named(name, None))
        if folder:
            self.events.append(FolderSynced())

    def _add(self, name: str) -> int:
        file = self._names[name] = len(self._kinds) + 1
        self._kinds[file] = "WAL" if name.endswith("-wal") else "journal" if name.endswith("-journal") else "database"
        return file


class PowerCut:
    """Tells what is left of a disk; cuts are asked for in the order of their moments."""

    def __init__(self, disk: Disk, dice: Dice, *, torn_percent: int = 5, ignores_syncs: bool = False) -> None:
        """Begin where the disk began.

        Args:
            disk: what happened
            dice: decide what survives
            torn_percent: how many of the sectors that reach the disk do so in pieces
            ignores_syncs: whether a sync does nothing, as on a disk that lies: what such a cut leaves must be found wanting
        """
        self._disk = disk
        self._dice = dice
        self._torn_percent = torn_percent
        self._ignores_syncs = ignores_syncs
        self._moment = 0
        self._contents: dict[int, bytes] = defaultdict(bytes, disk.begin.values())
        self._pending: dict[int, list[Wrote | Resized]] = defaultdict(list)
        self._names: dict[str, int] = {name: file for name, (file, _) in disk.begin.items()}
        self._renamed: list[Named] = []

    def at(self, moment: int) -> Files:
        """Return the files that are left when the power is cut at a moment."""
        for event in self._disk.events[self._moment : moment]:
            self._pass(event)
        self._moment = moment
        names = dict(self._names)
        for name in dict.fromkeys(each.name for each in self._renamed):
            steps = [each.file for each in self._renamed if each.name == name]
            reached = self._dice.below(len(steps) + 1)
            if reached:
                _lead(names, name, steps[reached - 1])
        return {name: self._left(file) for name, file in names.items()}

    def _pass(self, event: Event) -> None:
        match event:
            case Wrote() | Resized():
                self._pending[event.file].append(event)
            case Named():
                self._renamed.append(event)
            case FailedToSync():
                self._contents[event.file] = self._left(event.file)
                self._pending[event.file].clear()
            case Synced() if not self._ignores_syncs:
                self._contents[event.file] = _all_done(self._contents[event.file], self._pending.pop(event.file, []))
                if event.folder:
                    self._sync_folder()
            case FolderSynced() if not self._ignores_syncs:
                self._sync_folder()
            case _:
                pass

    def _sync_folder(self) -> None:
        for each in self._renamed:
            _lead(self._names, each.name, each.file)
        self._renamed.clear()

    def _left(self, file: int) -> bytes:
        """Return what is left of a file's content."""
        before, pending = self._contents[file], self._pending[file]
        if not pending:
            return before
        dice, image = self._dice, bytearray(before)
        in_order, reached = dice.chance(25), dice.below(len(pending))
        share = dice.pick(_SHARES)
        for number, event in enumerate(pending):
            percent = share if not in_order else 100 if number < reached else 50 if number == reached else 0
            if isinstance(event, Wrote):
                self._write(image, event, percent)
            elif dice.chance(percent):
                del image[event.size_bytes :]
        return bytes(self._with_length(image, len(before), pending))

    def _write(self, image: bytearray, event: Wrote, percent: int) -> None:
        """Bring some sectors of a write to the disk, one of them in pieces maybe."""
        begin, end = event.offset, event.offset + len(event.data)
        for sector in range(begin // SECTOR_BYTES, (end + SECTOR_BYTES - 1) // SECTOR_BYTES):
            first, last = max(begin, sector * SECTOR_BYTES), min(end, (sector + 1) * SECTOR_BYTES)
            if not self._dice.chance(percent):
                continue
            torn = self._dice.chance(self._torn_percent)
            if torn and not self._disk.powersafe_overwrite:
                around = sector * SECTOR_BYTES // _CLAIMED_BYTES * _CLAIMED_BYTES
                self._put(image, around, self._garbage(min(_CLAIMED_BYTES, max(len(image), last) - around)))
                continue
            if torn:
                cut = first + self._dice.below(last - first)
                first, last = self._dice.pick(((first, cut), (cut, last)))
            self._put(image, first, event.data[first - begin : last - begin])

    def _put(self, image: bytearray, offset: int, data: bytes) -> None:
        if data and offset > len(image):
            image += self._garbage(offset - len(image))
        image[offset : offset + len(data)] = data

    def _with_length(self, image: bytearray, before: int, pending: list[Wrote | Resized]) -> bytearray:
        """Let the file have a length that it had meanwhile: what it has grown by may be missing, or be there as garbage."""
        ends = [each.offset + len(each.data) for each in pending if isinstance(each, Wrote)]
        what = self._dice.below(4)
        if what == 0:
            return image[:before]
        if what == 1:
            image += self._garbage(max(ends, default=0) - len(image))
        return image

    def _garbage(self, length: int) -> bytes:
        if length <= 0:
            return b""
        if self._dice.chance(50):
            return bytes(length)
        word = self._dice.below(1 << 64).to_bytes(8)
        return (word * (length // 8 + 1))[:length]


@functools.cache
def _vfs() -> "_Vfs":
    """Return the one there is: it has to outlive every connection that was opened through it."""
    return _Vfs()


class _Vfs(apsw.VFS):
    """Opens files as the system does, those in the folders of mounted disks watched."""

    def __init__(self) -> None:
        self.disks: dict[Path, Disk] = {}
        self.base = apsw.vfs_names()[0]
        super().__init__(_NAME, self.base)

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        path = Path(name.filename() if isinstance(name, apsw.URIFilename) else name or "")
        disk = self.disks.get(path.parent)
        if disk is None:
            return apsw.VFSFile(self.base, name, flags)
        disk.may_fail("open", path.name)
        return _File(disk, self.base, path.name, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's name
        path = Path(filename)
        disk = self.disks.get(path.parent)
        if disk is not None:
            disk.may_fail("delete", path.name)
        super().xDelete(filename, syncdir)
        if disk is not None:
            disk.deleted(path.name, folder=syncdir)


class _File(apsw.VFSFile):
    """A real file whose writes and syncs are noted; locks and shared memory are the system's."""

    def __init__(
        self, disk: Disk, base: str, short_name: str, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__(base, name, flags)
        self._disk = disk
        self._name = short_name
        self._file = disk.opened(short_name)
        self._takes_folder_along = bool(flags[0] & _JOURNALS and flags[0] & apsw.SQLITE_OPEN_CREATE)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 - SQLite's name
        self._disk.may_fail("read", self._name)
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        try:
            self._disk.may_fail("write", self._name)
        except apsw.Error:
            self._write(data[: len(data) // 2], offset)  # a disk is full in the middle of something
            raise
        self._write(data, offset)

    def _write(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._disk.events.append(Wrote(self._file, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.may_fail("truncate", self._name)
        super().xTruncate(newsize)
        self._disk.events.append(Resized(self._file, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        try:
            self._disk.may_fail("sync", self._name)
        except apsw.Error:
            self._disk.events.append(FailedToSync(self._file))
            raise
        # The files underneath are never left behind by a real power cut, so nobody waits for a real disk.
        self._disk.events.append(Synced(self._file, self._takes_folder_along))
        self._takes_folder_along = False

    def xSectorSize(self) -> int:  # noqa: N802 - SQLite's name
        return _CLAIMED_BYTES

    def xDeviceCharacteristics(self) -> int:  # noqa: N802 - SQLite's name
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE if self._disk.claims_it else 0


def _all_done(before: bytes, pending: list[Wrote | Resized]) -> bytes:
    """Return a file's content with all that was done to it."""
    image = bytearray(before)
    for event in pending:
        if isinstance(event, Wrote):
            image += bytes(max(event.offset - len(image), 0))
            image[event.offset : event.offset + len(event.data)] = event.data
        else:
            del image[event.size_bytes :]
    return bytes(image)


def _lead(names: dict[str, int], name: str, file: int | None) -> None:
    """Let a name stand for a file, or for none."""
    if file is None:
        names.pop(name, None)
    else:
        names[name] = file
