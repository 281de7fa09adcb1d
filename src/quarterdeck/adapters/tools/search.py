"""`search_files`: a literal text in many files, in bounded time. There are no patterns that could take for ever."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice
from typing import Annotated

from quarterdeck.adapters.tools.arguments import Says
from quarterdeck.adapters.tools.beneath import PROTECTED, Place, opened, read_part
from quarterdeck.adapters.tools.bounded import MOST_TEXT, cut, more
from quarterdeck.kernel.errors import ToolFailed

MOST_FOUND = 200
MOST_ENTRIES = 200_000
DEEPEST = 64
LARGEST_FILE = 4 << 20
LONGEST_LINE = 300
PATIENCE_S = 10.0
_QUIET = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class SearchFiles:
    pattern: Annotated[str, Says("the text to find, literally; empty to find files by name", most=1000)]
    path: Annotated[str, Says("the folder or file to search, relative to the workspace")] = "."
    names: Annotated[str, Says("only files whose name or path fits, such as *.py or src/*.md", most=100)] = ""
    ignore_case: Annotated[bool, Says("find it in capitals as well")] = False


@dataclass(slots=True)
class _Found:
    """What was found so far, and what was passed over."""

    until: float
    lines: list[str] = field(default_factory=list)
    entries: int = 0
    large: int = 0
    stopped: str = ""

    def full(self) -> bool:
        if len(self.lines) >= MOST_FOUND:
            self.stopped = f"… there may be more: stopped after {MOST_FOUND:,}"
        elif self.entries >= MOST_ENTRIES:
            self.stopped = f"… there may be more: stopped after {MOST_ENTRIES:,} files and folders"
        elif time.monotonic() > self.until:
            self.stopped = f"… there may be more: stopped after {PATIENCE_S:.0f} seconds"
        return bool(self.stopped)


def search(place: Place, asked: SearchFiles) -> str:
    if not asked.pattern and not asked.names:
        raise ToolFailed("The argument 'pattern' is empty: give a text to find, or 'names' to find files by name.")
    found = _Found(time.monotonic() + PATIENCE_S)
    with opened(place, _QUIET) as fd:
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            _folder(fd, "" if place.path == "." else f"{place.shown}/", asked, found, 0)
        elif stat.S_ISREG(mode):
            _file(fd, place.shown, asked, found)
        else:
            raise ToolFailed(f"{place.shown!r} is neither a folder nor a file.")
    lines = list(found.lines)
    if found.large:
        lines.append(f"({found.large:,} files larger than {LARGEST_FILE:,} bytes were not searched)")
    if found.stopped:
        lines.append(found.stopped)
    return cut("\n".join(lines), MOST_TEXT) if lines else "Nothing was found."


def _folder(fd: int, prefix: str, asked: SearchFiles, found: _Found, depth: int) -> None:
    """Each step down is by descriptor, so that a folder swapped for a link is passed over, not followed."""
    with os.scandir(fd) as entries:
        names = sorted(entry.name for entry in islice(entries, MOST_ENTRIES + 1))
    for name in names:
        found.entries += 1
        if found.full():
            return
        with suppress(OSError):  # gone, a link, or not ours to read
            below = os.open(name, _QUIET, dir_fd=fd)
            try:
                _entry(below, prefix + name, asked, found, depth)
            finally:
                os.close(below)


def _entry(fd: int, path: str, asked: SearchFiles, found: _Found, depth: int) -> None:
    mode = os.fstat(fd).st_mode
    name = path.rpartition("/")[2]
    if stat.S_ISDIR(mode):
        if name not in PROTECTED and depth < DEEPEST:
            _folder(fd, f"{path}/", asked, found, depth + 1)
    elif stat.S_ISREG(mode) and (not asked.names or fnmatchcase(name, asked.names) or fnmatchcase(path, asked.names)):
        _file(fd, path, asked, found)


def _file(fd: int, path: str, asked: SearchFiles, found: _Found) -> None:
    if not asked.pattern:
        found.lines.append(_plain(path))
        return
    data = read_part(fd, 0, LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        found.large += 1
    elif b"\0" not in data:
        for number, line in _matches(data.decode("utf-8", "replace"), asked):
            if found.full():
                return
            found.lines.append(_plain(f"{path}:{number}: {_short(line)}"))


def _matches(text: str, asked: SearchFiles) -> Iterator[tuple[int, str]]:
    wanted = asked.pattern.casefold() if asked.ignore_case else asked.pattern
    whole = text.casefold() if asked.ignore_case else text
    at = whole.find(wanted)
    if at < 0:
        return
    if "\n" in wanted:
        yield whole.count("\n", 0, at) + 1, wanted.split("\n")[0]
        return
    for number, line in enumerate(text.split("\n"), 1):
        if wanted in (line.casefold() if asked.ignore_case else line):
            yield number, line.rstrip("\r")


def _short(line: str) -> str:
    return (
        line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} {more(len(line) - LONGEST_LINE, 'characters')}"
    )


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
