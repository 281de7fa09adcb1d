"""Files by descriptor, beneath a folder: no link is followed, nothing but regular files is opened.

A path is first turned into its real place, with links followed by name only. What is then opened is that real place,
step by step and without following anything, so that whoever swaps a parent for a link in between is refused.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from quarterdeck.kernel.errors import ToolFailed

LONGEST_PATH = 4096
PROTECTED = (".git", ".quarterdeck")
NOT_FILES = ("/proc", "/dev", "/sys")
ABSENT = "absent"

_OPENAT2, _NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 437, 0x02, 0x04, 0x08
_PATIENT = 3  # the kernel asks to be asked again while somebody renames
_QUIET = os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
FOLDER = os.O_RDONLY | os.O_DIRECTORY


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: beneath the workspace (`inside`), or elsewhere, where `root` is `/`."""

    root: str
    path: str
    inside: bool

    @property
    def shown(self) -> str:
        return self.path if self.inside else f"/{self.path}"

    @property
    def real(self) -> str:
        return _absolute(self.root, self.path)


def locate(workspace: str, path: str) -> Place:
    """Where a path leads, seen from the workspace. Raises `ToolFailed` for what is no path of a file."""
    real = real_path(workspace, path)
    named = _absolute(workspace, path)
    if any(_beneath(each, folder) is not None for each in (named, real) for folder in NOT_FILES):
        raise ToolFailed(f"{path!r} is no file but a part of the system ({', '.join(NOT_FILES)}); it is not opened.")
    inside = _beneath(real, workspace)
    return (
        Place("/", real.lstrip("/") or ".", inside=False) if inside is None else Place(workspace, inside, inside=True)
    )


def real_path(workspace: str, path: str) -> str:
    """The real place of a path, by name. A NUL goes first: below, it would end the name early."""
    if "\0" in path:
        raise ToolFailed("A path cannot contain a NUL character.")
    try:
        long = len(os.fsencode(path)) > LONGEST_PATH
    except UnicodeEncodeError:
        raise ToolFailed("A path must be text that can be written as UTF-8.") from None
    if long:
        raise ToolFailed(f"A path can be at most {LONGEST_PATH:,} bytes long.")
    try:
        # pathlib raises for a loop of links, which is then not told from what is not there.
        return os.path.realpath(path if path.startswith("/") else f"{workspace}/{path}").replace("//", "/")
    except OSError as error:
        raise ToolFailed(f"{path!r} cannot be looked up: {error.strerror}.") from None


def protected(place: Place) -> str | None:
    """The part of a path that no tool may write to: what Git or we would obey."""
    return next((part for part in PurePosixPath(place.path).parts if part.casefold() in PROTECTED), None)


@contextmanager
def opened(place: Place, flags: int) -> Iterator[int]:
    """A descriptor of exactly this place, no link followed on the way."""
    fd = _open(place, flags)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def regular(place: Place) -> Iterator[tuple[int, os.stat_result]]:
    """A regular file, open for reading."""
    with opened(place, os.O_RDONLY) as fd:
        seen = os.fstat(fd)
        if not stat.S_ISREG(seen.st_mode):
            raise ToolFailed(f"{place.shown!r} is {kind(seen.st_mode)}, not a file.")
        yield fd, seen


def read_whole(place: Place, most: int) -> tuple[bytes, os.stat_result]:
    """All of a file that is no larger than `most`."""
    with regular(place) as (fd, seen):
        content = read_part(fd, 0, most + 1)
        if len(content) > most:
            raise ToolFailed(f"{place.shown!r} is larger than {most:,} bytes, which is too much to work on whole.")
        return content, seen


def read_part(fd: int, start: int, size: int) -> bytes:
    """At most `size` bytes, however the file changes meanwhile."""
    parts: list[bytes] = []
    while size > 0 and (part := os.pread(fd, min(size, 1 << 20), start)):
        parts.append(part)
        start, size = start + len(part), size - len(part)
    return b"".join(parts)


def identity(place: Place) -> str:
    """Which thing is there now: its device and inode, or that there is none."""
    try:
        seen = Path(place.real).lstat()
    except OSError:
        return ABSENT
    return f"{seen.st_dev}:{seen.st_ino}"


def kind(mode: int) -> str:
    kinds = {
        stat.S_IFREG: "a file",
        stat.S_IFDIR: "a folder",
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")


@contextmanager
def parent(place: Place, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The folder that a file stands in, and the file's name in it. `make` makes the folders that are missing."""
    path = PurePosixPath(place.path)
    if not path.name or path.name == "..":
        raise ToolFailed(f"{place.shown!r} is a folder, not a file.")
    above = Place(place.root, str(path.parent), place.inside)
    if make:
        _make(above)
    with opened(above, FOLDER) as fd:
        yield fd, path.name


def _make(folder: Place) -> None:
    with opened(Place(folder.root, ".", folder.inside), FOLDER) as root:
        at = os.dup(root)
        try:
            for part in PurePosixPath(folder.path).parts:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=at)
                below = _step(at, part, FOLDER)
                os.close(at)
                at = below
        except OSError as error:
            raise _failed(folder, error) from None
        finally:
            os.close(at)


def _absolute(folder: str, path: str) -> str:
    """By name alone. Two slashes at the beginning mean the same as one here."""
    joined = path if path.startswith("/") else f"{folder}/{path}"
    return "/" + os.path.normpath(joined).lstrip("/")


def _beneath(path: str, folder: str) -> str | None:
    """A path as seen from a folder, or None if it is not in it."""
    if path == folder:
        return "."
    above = folder.rstrip("/") + "/"
    return path.removeprefix(above) if path.startswith(above) else None


def _open(place: Place, flags: int) -> int:
    try:
        root = os.open(place.root, FOLDER | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        raise ToolFailed(f"The folder {place.root!r} cannot be opened: {error.strerror}.") from None
    try:
        return _open_beneath(root, place.path, flags | _QUIET)
    except OSError as error:
        raise _failed(place, error) from None
    finally:
        os.close(root)


def _failed(place: Place, error: OSError) -> ToolFailed:
    said = {
        errno.ENOENT: "is not there",
        errno.ENOTDIR: "is not there: a part of its path is no folder",
        errno.ELOOP: "was swapped for a link while it was opened; links are not followed",
        errno.EXDEV: "leads out of its folder",
        errno.ENXIO: "is a socket or a pipe, not a file",
        errno.EACCES: "may not be opened by this user",
        errno.EPERM: "may not be opened by this user",
        errno.EISDIR: "is a folder, not a file",
    }
    return ToolFailed(f"{place.shown!r} {said.get(error.errno or 0, f'cannot be opened: {error.strerror}')}.")


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _open_beneath(root: int, path: str, flags: int) -> int:
    if _kernel_can():
        return _openat2(root, path, flags)
    return _walk(root, path, flags)


def _openat2(root: int, path: str, flags: int) -> int:
    if sys.platform != "linux":  # the number means another call elsewhere
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), path)
    how = _How(flags, 0, _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS)
    code = 0
    for _ in range(_PATIENT):
        fd = _LIBC.syscall(_OPENAT2, root, ctypes.c_char_p(os.fsencode(path)), ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return int(fd)
        code = ctypes.get_errno()
        if code != errno.EAGAIN:
            break
    raise OSError(code, os.strerror(code), path)


def _walk(root: int, path: str, flags: int) -> int:
    """The same without `openat2`: one step at a time, none of them a link."""
    *above, last = PurePosixPath(path).parts or (".",)
    at = os.dup(root)
    try:
        for part in above:
            below = _step(at, part, FOLDER)
            os.close(at)
            at = below
        return _step(at, last, flags)
    finally:
        os.close(at)


def _step(at: int, part: str, flags: int) -> int:
    if part == "..":
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), part)
    try:
        return os.open(part, flags | _QUIET | os.O_NOFOLLOW, dir_fd=at)
    except NotADirectoryError:
        # With O_DIRECTORY the kernel says of a link, too, that it is no folder.
        if stat.S_ISLNK(os.stat(part, dir_fd=at, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part) from None
        raise


_LIBC = ctypes.CDLL(None, use_errno=True)
_known: list[bool] = []


def _kernel_can() -> bool:
    """Whether `openat2` is there: Linux 5.6 and newer, where no filter forbids it."""
    if not _known:
        root = os.open("/", FOLDER | os.O_CLOEXEC)
        try:
            os.close(_openat2(root, ".", FOLDER | os.O_CLOEXEC))
            _known.append(True)
        except OSError:
            _known.append(False)
        finally:
            os.close(root)
    return _known[0]
