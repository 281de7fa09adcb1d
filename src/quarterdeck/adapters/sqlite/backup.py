"""A whole, consistent copy of the database, made while everything goes on: also from a process beside the server."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import apsw

from quarterdeck.kernel.errors import StorageBroken, StorageFull, Unavailable

BUSY_MS = 5000


def backup(database: Path, target: Path) -> None:
    """Copy a database that a server may be using. Takes no lock and writes nothing but the copy."""
    if not database.is_file():
        raise Unavailable(f"There is no database at {database} yet.", code="no_database")
    try:
        with contextlib.closing(read_only(database)) as reader:
            copy_into(reader, target)
    except apsw.Error as error:
        raise StorageBroken(f"{database} cannot be read: {error}.") from None


def read_only(database: Path) -> apsw.Connection:
    """A connection that cannot write to the database. Not `query_only`, which forbids writing a copy as well."""
    reader = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    reader.set_busy_timeout(BUSY_MS)
    return reader


def copy_into(reader: apsw.Connection, target: Path) -> None:
    """Within one read transaction. The name appears when the copy is whole and on the disk, and not before."""
    if target.exists():
        raise Unavailable(f"{target} is there already; name a file that is not.", code="backup_exists")
    partial = target.with_name(target.name + ".partial")
    try:
        partial.unlink(missing_ok=True)
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        reader.execute("VACUUM INTO ?", (str(partial),))
        sync(partial)
        partial.rename(target)
        sync(target.parent)
    except OSError as error:
        raise Unavailable(f"{target} cannot be written: {error.strerror}.", code="backup_unwritable") from None
    except apsw.FullError:
        raise StorageFull(f"The disk that {target} would be on is full.") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's names, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
