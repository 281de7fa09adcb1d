"""The data folder: ours alone while we run, on a disk that keeps its promises."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

from quarterdeck.kernel.errors import Unavailable

_OCTAL = re.compile(r"\\([0-7]{3})")  # how the system writes blanks in paths
# File systems whose locks or syncs cannot be relied on for a write-ahead log.
REMOTE = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.sshfs", "fuse.s3fs"}
)


class FolderLock:
    """An exclusive lock beside the database; the kernel drops it when the process is gone, however it went."""

    def __init__(self, database: Path) -> None:
        folder = database.parent
        _make(folder)
        refuse_remote(folder)
        self._path = database.with_name(database.name + ".lock")
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Unavailable(
                f"{self._path} cannot be opened: {error.strerror}. Choose another folder with --data-dir.",
                code="data_folder_unusable",
            ) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise Unavailable(
                f"Another Quarterdeck (process {holder}) is using {database}. Stop it, or choose another folder "
                "with --data-dir or QUARTERDECK_DATA_DIR.",
                code="data_folder_locked",
                extra={"process": holder},
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(
            f"The data folder {folder} cannot be made: {error.strerror}. Choose another with --data-dir.",
            code="data_folder_unusable",
        ) from None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise Unavailable(
            f"The data folder {folder} cannot be written to. Choose another with --data-dir.",
            code="data_folder_unusable",
        )


def refuse_remote(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> None:
    kind = file_system(folder, mounts)
    if kind in REMOTE:
        raise Unavailable(
            f"The data folder {folder} is on {kind}, whose locks and syncs cannot be relied on. Use a local disk.",
            code="data_folder_remote",
        )


def file_system(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str:
    """The type of the file system the folder is on; empty where the system does not say."""
    if not mounts.exists():
        return ""
    here, best, kind = folder.resolve(), -1, ""
    for line in mounts.read_text("utf-8", "surrogateescape").split("\n"):
        left, _, right = line.partition(" - ")
        if not right:
            continue
        point = Path(_OCTAL.sub(lambda found: chr(int(found[1], 8)), left.split()[4]))
        if here.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), right.split()[0]
    return kind
