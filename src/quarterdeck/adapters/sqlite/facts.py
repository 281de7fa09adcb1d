"""What can be said of the storage without opening it for good: for whoever looks whether everything is in order."""

from __future__ import annotations

import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import apsw

from quarterdeck.adapters.sqlite.folder import FolderLock, file_system
from quarterdeck.adapters.sqlite.store import OLDEST, SqliteStore, refuse_old
from quarterdeck.kernel.errors import Problem


@dataclass(frozen=True, slots=True)
class StorageFacts:
    """`holder` is the process that uses the folder now; `trouble` is why a server could not open it."""

    sqlite: str
    oldest: str
    database: Path
    file_system: str
    exists: bool
    bytes: int
    free_bytes: int
    holder: str | None
    trouble: str | None


def facts(database: Path) -> StorageFacts:
    """Opens a database that nobody uses, as a server would, and lets go of it; makes none where there is none."""
    folder = _nearest(database.parent)
    exists = database.is_file()
    holder = _holder(database)
    trouble = None
    try:
        refuse_old(apsw.sqlite_lib_version())
        if holder is None and exists:
            SqliteStore(database).close()
        elif holder is None:
            _try_folder(database, folder)
    except Problem as problem:
        trouble = problem.detail
    size = database.stat().st_size if exists else 0
    return StorageFacts(
        apsw.sqlite_lib_version(),
        ".".join(map(str, OLDEST)),
        database,
        file_system(folder) or "unknown",
        exists,
        size,
        shutil.disk_usage(folder).free,
        holder,
        trouble,
    )


def _try_folder(database: Path, nearest: Path) -> None:
    """Lock a folder that is there, without leaving anything behind; of one that is not, ask whether it can be made."""
    if nearest == database.parent:
        lock = database.with_name(database.name + ".lock")
        there = lock.exists()
        FolderLock(database).release()
        if not there:
            lock.unlink(missing_ok=True)
    elif not os.access(nearest, os.W_OK | os.X_OK):
        raise Problem(f"The data folder {database.parent} cannot be made: {nearest} cannot be written to.")


def _holder(database: Path) -> str | None:
    lock = database.with_name(database.name + ".lock")
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
    finally:
        os.close(descriptor)
    return None


def _nearest(folder: Path) -> Path:
    """The folder, or the closest one above it that is there."""
    return next(path for path in (folder, *folder.parents) if path.is_dir())
