"""The tools that change a file: `file_write` and `file_edit`. They ask, and show the difference that they will make.

A permission is bound to what the file held when it was asked for and to what it will hold. So a file that changed in
between is left alone, and after a crash one look tells whether it was written.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Generic, Protocol, TypeVar

from quarterdeck.adapters.tools.arguments import LONGEST_TEXT, Says, read, written
from quarterdeck.adapters.tools.beneath import (
    ABSENT,
    Place,
    identity,
    locate,
    parent,
    protected,
    read_whole,
)
from quarterdeck.adapters.tools.bounded import cut, decoded
from quarterdeck.adapters.tools.difference import difference
from quarterdeck.adapters.tools.tool import Say, spec_of
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.parts import ToolCall, ToolSpec
from quarterdeck.ports import Deed, Done, Site, Weighed

LARGEST_FILE = 4 << 20
NEW_FILE = 0o644


@dataclass(frozen=True, slots=True)
class WriteFile:
    path: Annotated[str, Says("the file, relative to the workspace", least=1)]
    content: Annotated[str, Says("all that it will hold", most=LONGEST_TEXT)]


@dataclass(frozen=True, slots=True)
class EditFile:
    path: Annotated[str, Says("the file, relative to the workspace", least=1)]
    old: Annotated[str, Says("the text to replace, exactly as it stands there", least=1)]
    new: Annotated[str, Says("the text to put in its place")]
    count: Annotated[int, Says("how often it must occur; each is replaced", least=1, most=10_000)] = 1


class _Pathed(Protocol):
    @property
    def path(self) -> str: ...


A = TypeVar("A", WriteFile, EditFile)


@dataclass(frozen=True, slots=True)
class _Change:
    """What a file holds and would hold. `status` is of the file that is there, None where there is none."""

    place: Place
    before: bytes
    after: bytes
    status: os.stat_result | None

    @property
    def bound(self) -> Mapping[str, str]:
        return {
            "path": self.place.real,
            "before": ABSENT if self.status is None else _digest(self.before),
            "after": _digest(self.after),
        }

    @property
    def diff(self) -> str:
        name = self.place.shown
        if self.status is None and not self.after:
            return f"{name} becomes a new, empty file."
        if _strange(self.before) and not _strange(self.after):
            now = f"{len(self.before):,} bytes, sha256 {_digest(self.before)}"
            return f"{name} is not text now ({now}); it becomes:\n{_text(self.after)}"
        return difference(name, _text(self.before), _text(self.after)) or f"{name} stays as it is."


class Writing(Generic[A]):
    """A tool that gives one file a new content, all at once or not at all."""

    def __init__(self, name: str, says: str, takes: type[A], revise: Callable[[A, bytes | None], bytes]) -> None:
        self.spec: ToolSpec = spec_of(name, says, takes, "probeable")
        self._takes: type[A] = takes
        self._revise: Callable[[A, bytes | None], bytes] = revise

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:
        asked = read(self._takes, call.arguments)
        change = await asyncio.to_thread(self._change, site, asked)
        diff = await asyncio.to_thread(lambda: change.diff)
        place = change.place
        return Weighed(
            "medium" if place.inside else "high",
            "file_write" if place.inside else "file_outside_workspace",
            "probeable",
            written(asked),
            f"{self.spec.name} {place.shown}\n{diff}",
            "it changes a file" if place.inside else f"{place.shown} is outside the workspace {site.workspace}",
            change.bound,
        )

    async def use(self, deed: Deed, say: Say) -> Done:  # noqa: ARG002 - it speaks once, at the end
        asked = read(self._takes, deed.weighed.arguments)
        # A thread cannot be stopped in the middle, so a cancelled write is either whole or not there.
        return await asyncio.to_thread(self._write, deed, asked)

    async def probe(self, deed: Deed) -> Done | None:
        asked = read(self._takes, deed.weighed.arguments)
        return await asyncio.to_thread(_probe, deed, asked)

    def _change(self, site: Site, asked: A) -> _Change:
        place, before, status = _present(site, asked)
        return _Change(place, before, self._revise(asked, None if status is None else before), status)

    def _write(self, deed: Deed, asked: A) -> Done:
        place, before, status = _present(deed.site, asked)
        present = {"path": place.real, "before": ABSENT if status is None else _digest(before)}
        if any(deed.weighed.bound.get(name) != value for name, value in present.items()):
            raise ToolFailed(
                f"{place.shown!r} changed since it was asked about, so it was left alone. Look at it again."
            )
        change = _Change(place, before, self._revise(asked, None if status is None else before), status)
        if deed.weighed.bound.get("after") != _digest(change.after):
            raise ToolFailed(f"{place.shown!r} would not become what was asked about, so it was left alone.")
        _put(change, deed.key)
        return _done(change.place, change.after, change.diff)


def _present(site: Site, asked: _Pathed) -> tuple[Place, bytes, os.stat_result | None]:
    """What stands at a place that may be written to. Raises `ToolFailed` for one that may not."""
    place = locate(site.workspace, asked.path)
    if (part := protected(place)) is not None:
        raise ToolFailed(f"{place.shown!r} is in the protected folder {part!r}; no tool writes there.")
    if identity(place) == ABSENT:
        return place, b"", None
    before, status = read_whole(place, LARGEST_FILE)
    if status.st_nlink > 1:
        raise ToolFailed(
            f"{place.shown!r} has {status.st_nlink} names (hard links), perhaps one outside; it is not written."
        )
    return place, before, status


def _put(change: _Change, key: str) -> None:
    """Write beside it, make it last, and put it in its place in one step."""
    with parent(change.place, make=True) as (folder, name):
        # The same call tried again finds, and clears away, what it left behind.
        draft = f".{hashlib.sha256(f'{key} {name}'.encode('utf-8', 'replace')).hexdigest()[:24]}.quarterdeck-draft"
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        try:
            _draft(change, draft, folder)
            _unmoved(change, name, folder)
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        except OSError as error:
            raise ToolFailed(f"{change.place.shown!r} could not be written: {error.strerror}.") from None
        finally:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)


def _draft(change: _Change, draft: str, folder: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(draft, flags, 0o600, dir_fd=folder)
    try:
        rest = memoryview(change.after)
        while rest:
            rest = rest[os.write(fd, rest) :]
        if change.status is not None:
            with suppress(PermissionError):
                os.fchown(fd, change.status.st_uid, change.status.st_gid)
        os.fchmod(fd, change.status.st_mode & 0o777 if change.status else NEW_FILE)
        os.fsync(fd)
    finally:
        os.close(fd)


def _unmoved(change: _Change, name: str, folder: int) -> None:
    """One more look, right before: the very file that was read is still there, or there is still none."""
    try:
        now = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        now = None
    if _mark(now) != _mark(change.status):
        raise ToolFailed(
            f"{change.place.shown!r} changed while it was written, so it was left alone. Look at it again."
        )


def _mark(status: os.stat_result | None) -> tuple[int, ...]:
    return () if status is None else (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_nlink)


def _probe(deed: Deed, asked: WriteFile | EditFile) -> Done | None:
    bound = deed.weighed.bound
    place = locate(deed.site.workspace, asked.path)
    if place.real != bound.get("path") or identity(place) == ABSENT:
        return None
    content, _ = read_whole(place, LARGEST_FILE)
    if _digest(content) != bound.get("after"):
        return None
    return _done(place, content, "")


def _done(place: Place, content: bytes, diff: str) -> Done:
    digest = _digest(content)
    return Done(cut(f"{place.shown} now holds {len(content):,} bytes.\n{diff}".rstrip("\n")), digest=digest)


def _strange(data: bytes) -> bool:
    return b"\0" in data or decoded(data) is None


def _text(data: bytes) -> str:
    """With a byte that is no text written as its number."""
    return data.decode("utf-8", "backslashreplace")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def rewrite(asked: WriteFile, before: bytes | None) -> bytes:  # noqa: ARG001 - all of it is replaced
    return asked.content.encode("utf-8")


def replace(asked: EditFile, before: bytes | None) -> bytes:
    """Exact replacement. Bytes, so that what is not touched stays as it is, whatever ends its lines."""
    if before is None:
        raise ToolFailed(f"{asked.path!r} is not there; file_write makes a new file.")
    old, new = asked.old.encode("utf-8"), asked.new.encode("utf-8")
    found = before.count(old)
    if found == 0:
        raise ToolFailed(f"The text 'old' does not occur in {asked.path!r}; it must match exactly, blanks and all.")
    if found != asked.count:
        raise ToolFailed(
            f"The text 'old' occurs {found:,} times in {asked.path!r}, not {asked.count:,}; "
            "give more of what is around it, or the right 'count'."
        )
    return before.replace(old, new)


def writing_tools() -> tuple[Writing[WriteFile], Writing[EditFile]]:
    return (
        Writing("file_write", "Write a whole file, new or not.", WriteFile, rewrite),
        Writing("file_edit", "Replace a text in a file by another, exactly.", EditFile, replace),
    )
