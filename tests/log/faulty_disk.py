"""A disk that fails on demand: SQLite's own way to the files, with faults switched on and off while it is used."""

# ruff: noqa: N802 - the methods have the names that SQLite gives them
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw

FAULTS = {"full": apsw.SQLITE_FULL, "sync": apsw.SQLITE_IOERR_FSYNC, "write": apsw.SQLITE_IOERR_WRITE}


class FaultyDisk(apsw.VFS):
    """`fault` is what happens to the next write or sync of a write-ahead log, until it is taken away."""

    def __init__(self, name: str) -> None:
        self.fault: str | None = None
        self.struck = 0
        super().__init__(name, "unix")

    def xOpen(self, name: Any, flags: list[int]) -> _File:
        return _File(self, name, flags)

    def strike(self, *faults: str) -> None:
        if self.fault in faults:
            self.struck += 1
            raise apsw.exception_for(FAULTS[self.fault])


class _File(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, name: Any, flags: list[int]) -> None:
        self._disk, self._wal = disk, bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        if self._wal:
            self._disk.strike("full", "write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        if self._wal:
            self._disk.strike("sync")
        super().xSync(flags)


@contextmanager
def faulty_disk() -> Iterator[FaultyDisk]:
    """Everything that is opened meanwhile lies on this disk."""
    before = apsw.vfs_names()[0]
    disk = FaultyDisk("faulty")
    apsw.set_default_vfs("faulty")
    try:
        yield disk
    finally:
        apsw.set_default_vfs(before)
        disk.unregister()
