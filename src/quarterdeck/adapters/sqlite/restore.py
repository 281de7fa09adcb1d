"""Putting a copy in the place of the database: checked first, atomic, and nothing thrown away.

At every moment the data folder holds either the old database whole or the new one whole.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import apsw

from quarterdeck.adapters.sqlite import schema
from quarterdeck.adapters.sqlite.backup import copy_into, read_only, sync
from quarterdeck.adapters.sqlite.folder import FolderLock
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.kernel.errors import Invalid, StorageBroken, Unavailable
from quarterdeck.log.verify import troubles

MOST_TOLD = 5


@dataclass(frozen=True, slots=True)
class Restored:
    """What is there now: the log's new epoch, how many streams it holds, and where the replaced database is kept."""

    epoch: str
    streams: int
    kept: Path | None


def restore(database: Path, copy: Path) -> Restored:
    if not copy.is_file():
        raise Invalid(f"There is no file {copy}.", code="no_backup")
    if database.exists() and database.samefile(copy):
        raise Invalid(f"{copy} is the database itself; name a backup of it.", code="no_backup")
    lock = FolderLock(database)
    try:
        fresh = database.with_name(database.name + ".restoring")
        _clear(fresh)
        try:
            return _restored(database, copy, fresh)
        except apsw.Error as error:
            raise StorageBroken(f"{copy} cannot be restored: {error}. The database was left as it is.") from None
        finally:
            _clear(fresh)
    finally:
        lock.release()


def _restored(database: Path, copy: Path, fresh: Path) -> Restored:
    _take_over(copy, fresh)
    streams = _checked(copy, fresh)
    epoch = _new_epoch(fresh)
    sync(fresh)
    kept = _keep(database)
    fresh.replace(database)
    sync(database.parent)
    return Restored(epoch, streams, kept)


def _take_over(copy: Path, fresh: Path) -> None:
    """Bring the copy into the data folder, through SQLite, which sees every page of it."""
    try:
        with contextlib.closing(read_only(copy)) as reader:
            found = integrity(reader)
            known = 0 if found else reader.pragma("user_version")
            ours = not found and reader.execute("SELECT count(*) FROM sqlite_master WHERE name = 'stream'").get
            if not found and known and ours and known <= schema.VERSION:
                copy_into(reader, fresh)
    except apsw.NotADBError:
        raise Invalid(f"{copy} is no database.", code="no_backup") from None
    if found:
        raise StorageBroken(f"{copy} is damaged and was not restored: {_few(found)}")
    if not known or not ours:
        raise Invalid(f"{copy} is no backup of Quarterdeck.", code="no_backup")
    if known > schema.VERSION:
        raise Unavailable(
            f"{copy} was written by a later release (schema {known}). Upgrade Quarterdeck.", code="schema_too_new"
        )


def integrity(reader: apsw.Connection) -> list[str]:
    """What SQLite itself finds wrong with the file."""
    try:
        found = [str(line) for (line,) in reader.execute("PRAGMA integrity_check(20)")]
    except apsw.CorruptError as error:
        return [str(error)]
    return [] if found == ["ok"] else found


def examine(database: Path) -> list[str]:
    """What is wrong with the database as a file, before anything reads meaning into it."""
    try:
        with contextlib.closing(read_only(database)) as reader:
            return [f"The file is damaged: {line}" for line in integrity(reader)]
    except apsw.Error as error:
        return [f"The file cannot be read as a database: {error}."]


def _checked(copy: Path, fresh: Path) -> int:
    store = SqliteStore(fresh)
    try:
        if found := troubles(store):
            raise StorageBroken(f"{copy} is not what was written and was not restored: {_few(found)}")
        return sum(1 for _ in store.streams())
    finally:
        store.close()


def _new_epoch(fresh: Path) -> str:
    """Another incarnation of the log, so that a cursor into the past that is gone is told so."""
    epoch = secrets.token_hex(4)
    with contextlib.closing(apsw.Connection(str(fresh))) as writer:
        writer.pragma("synchronous", "FULL")
        writer.execute("UPDATE meta SET value = ? WHERE key = 'epoch'", (epoch,))
        writer.pragma("journal_mode", "delete")
    return epoch


def _keep(database: Path) -> Path | None:
    """Give the old database a second name, and clear its log away so that none meets the new one."""
    if not database.exists():
        _clear_log(database)
        return None
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    kept = next(
        name
        for number in range(1000)
        if not (name := database.with_name(f"{database.name}.before-{stamp}{f'-{number}' if number else ''}")).exists()
    )
    _fold_log(database)
    for end in ("", "-wal"):
        _second_name(Path(f"{database}{end}"), Path(f"{kept}{end}"))
    sync(database.parent)
    _clear_log(database)
    return kept


def _fold_log(database: Path) -> None:
    """Move what is only in the write-ahead log into the file. One too damaged for that is kept with its log."""
    with contextlib.suppress(apsw.Error), contextlib.closing(apsw.Connection(str(database))) as writer:
        writer.pragma("synchronous", "FULL")
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _second_name(old: Path, new: Path) -> None:
    if not old.exists():
        return
    try:
        os.link(old, new)
    except OSError:  # a file system without links
        shutil.copy2(old, new)
        sync(new)


def _clear_log(database: Path) -> None:
    for end in ("-wal", "-shm"):
        Path(f"{database}{end}").unlink(missing_ok=True)


def _clear(fresh: Path) -> None:
    _clear_log(fresh)
    for end in ("", ".lock", ".partial"):
        Path(f"{fresh}{end}").unlink(missing_ok=True)


def _few(found: list[str]) -> str:
    more = f" (and {len(found) - MOST_TOLD} more)" if len(found) > MOST_TOLD else ""
    return "; ".join(found[:MOST_TOLD]) + more + "."
