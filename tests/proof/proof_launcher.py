"""Start the server so that it is killed (-9) from within at one exact point: `proof_launcher.py POINT serve …`.

before:KIND:N   the N-th commit that holds an event of KIND is about to be made
after:KIND:N    it is on the disk, and nobody has been told
unsynced:KIND   its bytes are written, and not synced
synced:KIND     they are synced, and the commit has not returned
copying:N       a checkpoint has copied N pages
copied:N        a checkpoint is about to sync the database for the N-th time
restarting:N    the write-ahead log is about to begin anew for the N-th time
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import apsw

from quarterdeck.adapters.sqlite import store
from quarterdeck.cli import main

FEW_PAGES = 16
SYSTEM = apsw.vfs_names()[0]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Count:
    """Down to the moment."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            die()


class Disk(apsw.VFS):
    """The usual way to the disk, watched."""

    def __init__(self, watch: Any) -> None:
        super().__init__("watched", SYSTEM, makedefault=True)
        self._watch = watch

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's word
        return WatchedFile(name, flags, self._watch)


class WatchedFile(apsw.VFSFile):
    def __init__(self, name: Any, flags: list[int], watch: Any) -> None:
        super().__init__(SYSTEM, name, flags)
        path = name if isinstance(name, str) or name is None else name.filename()
        self._kind = "wal" if str(path).endswith("-wal") else "db"
        self._watch = watch

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._watch("write", self._kind, offset)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._watch("sync", self._kind, 0)
        super().xSync(flags)
        self._watch("synced", self._kind, 0)


def around_commits(kind: str, before: Any, after: Any) -> None:
    commit = store.SqliteStore.commit

    def watched(self: store.SqliteStore, batch: Any) -> None:
        holds = any(row.kind == kind for _, row in batch.rows)
        if holds:
            before()
        commit(self, batch)
        if holds:
            after()

    store.SqliteStore.commit = watched  # type: ignore[method-assign]


def nothing() -> None: ...


def arm(point: str) -> None:
    name, _, rest = point.partition(":")
    what, _, nth = rest.partition(":")
    if name == "before":
        around_commits(what, Count(int(nth or 1)), nothing)
    elif name == "after":
        around_commits(what, nothing, Count(int(nth or 1)))
    elif name in {"unsynced", "synced"}:
        arm_sync("sync" if name == "unsynced" else "synced", what)
    else:
        arm_checkpoint(name, Count(int(what)))


def arm_sync(act: str, kind: str) -> None:
    within: list[bool] = []

    def watch(did: str, file: str, _: int) -> None:
        if within and (did, file) == (act, "wal"):
            die()

    def began() -> None:
        within.append(True)

    around_commits(kind, began, within.clear)
    disks.append(Disk(watch))


def arm_checkpoint(name: str, count: Count) -> None:
    """With a short write-ahead log, so that there are checkpoints."""
    apsw.connection_hooks.append(lambda connection: connection.wal_autocheckpoint(FEW_PAGES))
    begun: list[bool] = []

    def watch(did: str, file: str, offset: int) -> None:
        if did == "write" and file == "wal" and offset == 0:
            if begun and name == "restarting":
                count()
            begun.append(True)
        elif begun and file == "db" and ((name, did) in {("copying", "write"), ("copied", "sync")}):
            count()

    disks.append(Disk(watch))


disks: list[Disk] = []

if __name__ == "__main__":
    arm(sys.argv[1])
    main(sys.argv[2:])
