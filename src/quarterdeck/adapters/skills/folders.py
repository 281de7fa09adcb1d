"""Skills from folders: those that come with us, the user's, and those of a workspace, which anyone may have written.

Every step goes down by descriptor and follows no link, so that a folder of a stranger shows its own files or nothing.
"""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from quarterdeck.adapters.skills.frontmatter import Malformed, read_skill
from quarterdeck.engine.skills import matching
from quarterdeck.events.run import SkillActivated
from quarterdeck.kernel.skills import Origin, Skill
from quarterdeck.ports import Site

FILE = "SKILL.md"
OF_WORKSPACE = (".quarterdeck", "skills")
BUILT_IN = Path(__file__).with_name("builtin")
MOST = 100  # skills of one level
LARGEST = 128 * 1024  # bytes of a SKILL.md
KEPT = 1000  # files remembered
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Shelf:
    """What was found, and a sentence for each folder that is no skill."""

    skills: tuple[Skill, ...] = ()
    troubles: tuple[str, ...] = ()


_Stamp = tuple[int, int, int, int]
_Read = Skill | str


class SkillFolders:
    """Files are read again only when they changed. `user` is the user's own folder of skills; it need not be there."""

    def __init__(self, user: Path | None = None) -> None:
        self._user = user
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int, Origin], tuple[_Stamp, str, _Read]] = OrderedDict()

    async def find(self, site: Site) -> tuple[Skill, ...]:
        return (await asyncio.to_thread(self.look, site.workspace)).skills

    async def skill(self, site: Site, message: str) -> SkillActivated | None:
        """The one that plainly fits what somebody says here, if any does."""
        fitting = matching(await self.find(site), message)
        return SkillActivated(fitting[0].name, fitting[0].description, fitting[0].origin) if fitting else None

    def look(self, workspace: str | None = None) -> Shelf:
        """A name that is taken goes first to the user, then to us, and to a workspace only where it is free."""
        found: dict[str, Skill] = {}
        troubles: list[str] = []
        for origin, shown, read in self._levels(workspace):
            if isinstance(read, str):
                troubles.append(f"The skill {shown} is left out: {read}.")
            elif read.name not in found:
                found[read.name] = read
            elif origin == "workspace":
                troubles.append(f"The skill {shown} is left out: a skill of that name is there already.")
        return Shelf(tuple(found[name] for name in sorted(found)), tuple(troubles))

    def _levels(self, workspace: str | None) -> Iterator[tuple[Origin, str, _Read]]:
        if self._user is not None:
            yield from self._level("user", self._user)
        yield from self._level("built_in", BUILT_IN)
        if workspace and Path(workspace).is_absolute():
            yield from self._level("workspace", Path(workspace), *OF_WORKSPACE)

    def _level(self, origin: Origin, root: Path, *below: str) -> Iterator[tuple[Origin, str, _Read]]:
        shown = root.joinpath(*below)
        try:
            folder = _opened(root, *below)
        except FileNotFoundError:
            return
        except OSError as error:
            yield origin, str(shown), f"it is no folder that can be opened ({error.strerror})"
            return
        try:
            names = sorted(_folders(folder))
            for name in names[:MOST]:
                yield origin, str(shown / name), self._one(folder, name, origin)
            if len(names) > MOST:
                yield origin, str(shown), f"it holds more than {MOST} skills, and the rest is not read"
        finally:
            os.close(folder)

    def _one(self, folder: int, name: str, origin: Origin) -> _Read:
        try:
            inner = os.open(name, _FOLDER, dir_fd=folder)
        except OSError as error:
            return f"its folder cannot be opened ({error.strerror})"
        try:
            file = os.open(FILE, _FILE, dir_fd=inner)
        except OSError as error:
            return f"its {FILE} cannot be opened, or is a link ({error.strerror})"
        finally:
            os.close(inner)
        try:
            return self._file(file, name, origin)
        except OSError as error:
            return f"its {FILE} cannot be read ({error.strerror})"
        finally:
            os.close(file)

    def _file(self, file: int, name: str, origin: Origin) -> _Read:
        seen = os.fstat(file)
        if not stat.S_ISREG(seen.st_mode):
            return f"its {FILE} is no file"
        key = (seen.st_dev, seen.st_ino, origin)
        stamp = (seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_nlink)
        with self._lock:
            known = self._kept.get(key)
        if known is not None and known[:2] == (stamp, name):
            return known[2]
        read = _read(file, name, origin)
        with self._lock:
            self._kept[key] = (stamp, name, read)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return read


def _read(file: int, name: str, origin: Origin) -> _Read:
    data = b""
    while len(data) <= LARGEST and (more := os.read(file, LARGEST + 1 - len(data))):
        data += more
    if len(data) > LARGEST:
        return f"its {FILE} is larger than {LARGEST:,} bytes"
    try:
        return read_skill(data.decode("utf-8"), origin, name)
    except UnicodeDecodeError:
        return f"its {FILE} is not UTF-8"
    except Malformed as why:
        return str(why)


def _folders(folder: int) -> list[str]:
    """Names of what may be skills. Those that begin with a dot are not meant, nor are plain files."""
    found: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(".") and (entry.is_symlink() or entry.is_dir(follow_symlinks=False)):
                found.append(entry.name)
            if len(found) > MOST:
                break
    return found


def _opened(root: Path, *below: str) -> int:
    """The folder below `root`, which itself may be reached by a link; nothing further down may."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in below:
        try:
            inner = os.open(name, _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder
