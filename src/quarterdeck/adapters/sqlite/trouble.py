"""What SQLite complains of, said to people."""

from __future__ import annotations

from pathlib import Path

import apsw

from quarterdeck.kernel.errors import StorageBroken, StorageFull, Unavailable


def translated(error: apsw.Error, path: Path) -> Unavailable:
    if isinstance(error, apsw.FullError):
        return StorageFull(f"The disk that holds {path} is full. Free some room; reading goes on meanwhile.")
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return Unavailable(
            f"{path} is held by another program for too long. Close it and try again.", code="storage_busy"
        )
    return StorageBroken(
        f"{path} can no longer be written safely: {error}. Reading goes on; restart after checking the disk."
    )


def unopened(error: apsw.Error, path: Path) -> Unavailable:
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return StorageBroken(
            f"{path} is damaged, or is no database: {error}. Put a backup in its place with `quarterdeck restore`."
        )
    return translated(error, path)


def unread(error: Exception, path: Path) -> Unavailable:
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return translated(error, path)
    return StorageBroken(f"{path} cannot be read: {error}. Check the disk, and the log with `quarterdeck log verify`.")
