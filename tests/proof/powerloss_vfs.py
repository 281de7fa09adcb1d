"""A disk whose power can be cut: what was not synced is lost, torn or reordered, as a real one may do.

Files live in memory. A file has an image that is safe, and writes that wait for a sync. When the power goes, each
512-byte piece of every waiting write is kept or lost by chance, and each waiting change of a file's length or of the
folder as well. Then nothing works any more until the power is back. `onto_disk` writes what survived to real files.
"""

# ruff: noqa: N802 - the methods have the names that SQLite gives them
from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import apsw

PIECE = 512


class PowerLost(apsw.IOError):
    """Every call of a disk without power."""


class Blob:
    """One file: its safe image, the image as the process sees it, and the writes between the two."""

    def __init__(self) -> None:
        self.safe = bytearray()
        self.seen = bytearray()
        self.waiting: list[tuple[int, bytes | None]] = []
        self.listed = False  # whether the folder is known to name it

    def write(self, offset: int, data: bytes) -> None:
        _put(self.seen, offset, data)
        self.waiting.append((offset, data))

    def truncate(self, size: int) -> None:
        del self.seen[size:]
        self.waiting.append((size, None))

    def sync(self) -> None:
        self.safe[:] = self.seen
        self.waiting.clear()

    def survive(self, chance: random.Random) -> None:
        """The power went: any of the waiting pieces may have reached the disk, in any order."""
        mood = chance.random()  # how much of the cache was written: nothing, some or nearly all of it
        likely = 0.0 if mood < 0.15 else 0.97 if mood > 0.85 else mood
        pieces = [piece for offset, data in self.waiting for piece in _pieces(offset, data)]
        if chance.random() < 0.3:
            chance.shuffle(pieces)
        for offset, data in pieces:
            if chance.random() >= likely:
                continue
            if data is None:
                del self.safe[offset:]
            else:
                _put(self.safe, offset, data)
        self.seen[:], self.listed = self.safe, True
        self.waiting.clear()


class Disk(apsw.VFS):
    """`lasts` is how many writes, syncs and deletions there are before the power goes; None is for ever."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self.name, self.chance, self.calls = name, chance, 0
        self.lasts: int | None = None
        self.blobs: dict[str, Blob] = {}
        self.gone: dict[str, Blob] = {}
        self.dark = False
        super().__init__(name, "")

    def spend(self) -> None:
        """One more change of the disk, unless the power goes first."""
        self.calls += 1
        if self.lasts is not None and self.calls > self.lasts:
            self.dark = True
        self.need_power()

    def need_power(self) -> None:
        if self.dark:
            raise PowerLost

    def sync_folder(self) -> None:
        self.gone.clear()
        for blob in self.blobs.values():
            blob.listed = True

    def power_on(self, lasts: int | None) -> None:
        """The power is back, for as long as it lasts; files are as the outage left them."""
        found, self.blobs, self.gone = {**self.gone, **self.blobs}, {}, {}
        for path, blob in found.items():
            if blob.listed or self.chance.random() < 0.5:
                blob.survive(self.chance)
                self.blobs[path] = blob
        self.dark, self.lasts = False, None if lasts is None else self.calls + lasts

    def onto_disk(self, folder: Path) -> None:
        for path, blob in self.blobs.items():
            (folder / Path(path).name).write_bytes(blob.safe)

    def xFullPathname(self, name: str) -> str:
        return name

    def xAccess(self, path: str, flags: int) -> bool:
        self.need_power()
        return path in self.blobs

    def xDelete(self, path: str, sync_folder: bool) -> None:
        self.spend()
        blob = self.blobs.pop(path, None)
        if blob is None:
            raise apsw.exception_for(apsw.SQLITE_IOERR_DELETE_NOENT)
        if not sync_folder and self.chance.random() < 0.5:
            self.gone[path] = blob  # the folder still names it if the power goes now

    def xOpen(self, name: Any, flags: list[int]) -> _Open:
        self.need_power()
        path = "" if name is None else str(name.filename() if isinstance(name, apsw.URIFilename) else name)
        blob = Blob() if not path else self.blobs.setdefault(path, Blob())
        if path:
            self.gone.pop(path, None)
            Path(path).touch()
        flags[1] = flags[0]
        return _Open(self, blob, bool(flags[0] & (apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL)))

    def xSleep(self, microseconds: int) -> int:
        return microseconds

    def xCurrentTimeInt64(self) -> int:
        return 210866760000000 + 2_000_000_000_000

    def xCurrentTime(self) -> float:
        return 2_460_000.5

    def xRandomness(self, count: int) -> bytes:
        return self.chance.randbytes(count)

    def xGetLastError(self) -> tuple[int, str]:
        return 0, ""


class _Open:
    def __init__(self, disk: Disk, blob: Blob, journal: bool) -> None:
        self._disk, self._blob, self._journal = disk, blob, journal

    def xRead(self, amount: int, offset: int) -> bytes:
        self._disk.need_power()
        return bytes(self._blob.seen[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:
        if self._disk.lasts is not None and self._disk.calls == self._disk.lasts:
            self._blob.waiting.append((offset, data))  # the write during which the power goes may be half there
        self._disk.spend()
        self._blob.write(offset, data)

    def xTruncate(self, size: int) -> None:
        self._disk.spend()
        self._blob.truncate(size)

    def xSync(self, flags: int) -> None:
        self._disk.spend()
        self._blob.sync()
        if self._journal and not self._blob.listed:
            self._disk.sync_folder()  # as SQLite does with the first sync of a new journal
        self._blob.listed = True

    def xFileSize(self) -> int:
        self._disk.need_power()
        return len(self._blob.seen)

    def xFileControl(self, op: int, pointer: int) -> bool:
        return False

    def xSectorSize(self) -> int:
        return 4096

    def xDeviceCharacteristics(self) -> int:
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE  # as SQLite assumes of every disk by default

    def xLock(self, level: int) -> None: ...

    def xUnlock(self, level: int) -> None: ...

    def xCheckReservedLock(self) -> bool:
        return False

    def xClose(self) -> None: ...


def _put(image: bytearray, offset: int, data: bytes) -> None:
    if len(image) < offset:
        image.extend(bytes(offset - len(image)))
    image[offset : offset + len(data)] = data


def _pieces(offset: int, data: bytes | None) -> list[tuple[int, bytes | None]]:
    """A write as the disk does it: sector by sector."""
    if data is None:
        return [(offset, None)]
    found: list[tuple[int, bytes | None]] = []
    begin = 0
    while begin < len(data):
        end = min(len(data), begin + PIECE - (offset + begin) % PIECE)
        found.append((offset + begin, data[begin:end]))
        begin = end
    return found
