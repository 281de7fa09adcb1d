"""The tools that look at files: `file_read`, `list_dir`, `search_files`. Inside the workspace they just run."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Generic, Protocol, TypeVar

from quarterdeck.adapters.tools.arguments import Says, read, written
from quarterdeck.adapters.tools.beneath import FOLDER, Place, identity, kind, locate, opened, read_part, regular
from quarterdeck.adapters.tools.bounded import MOST_TEXT, cut, decoded, more, unfinished
from quarterdeck.adapters.tools.search import SearchFiles, search
from quarterdeck.adapters.tools.tool import Say, spec_of
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.parts import ToolCall, ToolSpec
from quarterdeck.ports import Deed, Done, Site, Weighed

MOST_NAMES = 2_000
MOST_SEEN = 100_000
OUTSIDE = "file_outside_workspace"


@dataclass(frozen=True, slots=True)
class ReadFile:
    path: Annotated[str, Says("the file, relative to the workspace", least=1)]
    offset: Annotated[int, Says("the byte to begin with", least=0, most=1 << 62)] = 0
    limit: Annotated[int, Says("read at most so many bytes", least=1, most=MOST_TEXT)] = MOST_TEXT


@dataclass(frozen=True, slots=True)
class ListFolder:
    path: Annotated[str, Says("the folder, relative to the workspace")] = "."


class _Pathed(Protocol):
    @property
    def path(self) -> str: ...


A = TypeVar("A", ReadFile, ListFolder, SearchFiles)


class Reading(Generic[A]):
    """A tool that looks at a place and changes nothing. A place outside the workspace asks first."""

    def __init__(self, name: str, says: str, takes: type[A], look: Callable[[Place, A], str]) -> None:
        self.spec: ToolSpec = spec_of(name, says, takes, "pure")
        self._takes: type[A] = takes
        self._look: Callable[[Place, A], str] = look

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:
        asked = read(self._takes, call.arguments)
        place, thing = await asyncio.to_thread(_seen, site, asked)
        arguments = written(asked)
        if place.inside:
            return Weighed("low", "file_read", "pure", arguments, f"{self.spec.name} {place.shown}")
        return Weighed(
            "medium",
            OUTSIDE,
            "pure",
            arguments,
            f"{self.spec.name} {place.shown}",
            f"{place.shown} is outside the workspace {site.workspace}",
            {"path": place.real, "identity": thing},
        )

    async def use(self, deed: Deed, say: Say) -> Done:  # noqa: ARG002 - it speaks once, at the end
        asked = read(self._takes, deed.weighed.arguments)
        place, thing = await asyncio.to_thread(_seen, deed.site, asked)
        agreed(deed, place, thing)
        text = await asyncio.to_thread(self._look, place, asked)
        return Done(text, digest=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())

    async def probe(self, deed: Deed) -> Done | None:  # noqa: ARG002 - it left nothing behind
        return None


def agreed(deed: Deed, place: Place, thing: str) -> None:
    """A place inside needs no word; one outside must be the very thing that was asked about."""
    bound = deed.weighed.bound
    if not place.inside and (bound.get("path"), bound.get("identity")) != (place.real, thing):
        raise ToolFailed(
            f"{place.shown!r} is not what it was when it was asked about, so it was left alone. Ask again."
        )


def _seen(site: Site, asked: _Pathed) -> tuple[Place, str]:
    place = locate(site.workspace, asked.path)
    return place, "" if place.inside else identity(place)


def read_file(place: Place, asked: ReadFile) -> str:
    with regular(place) as (fd, seen):
        data = read_part(fd, asked.offset, asked.limit)
        rest = max(0, seen.st_size - asked.offset - len(data))
    text = decoded(data)
    if text is None:
        return f"{place.shown} is not text: {seen.st_size:,} bytes, beginning with {data[:16].hex(' ')}."
    if rest:
        going = unfinished(data)
        where = asked.offset + len(data) - going
        return f"{text}\n{more(rest + going)}; go on with offset {where}"
    if not data and asked.offset:
        return f"{place.shown} has {seen.st_size:,} bytes; there is nothing at {asked.offset:,}."
    return text


def list_folder(place: Place, asked: ListFolder) -> str:  # noqa: ARG001 - the place says it all
    with opened(place, FOLDER) as fd, os.scandir(fd) as entries:
        seen = sorted(islice(entries, MOST_SEEN), key=lambda entry: entry.name)
        further = sum(1 for _ in islice(entries, MOST_SEEN))
        lines = [_entry(entry) for entry in seen[:MOST_NAMES]]
    hidden = len(seen) - len(lines) + further
    if hidden:
        lines.append(more(hidden, "entries") + (" at least" if further == MOST_SEEN else ""))
    return cut("\n".join(lines)) if lines else f"{place.shown} is empty."


def _entry(entry: os.DirEntry[str]) -> str:
    name = entry.name.encode("utf-8", "replace").decode()
    try:
        seen = entry.stat(follow_symlinks=False)
    except OSError:  # it went away while we looked
        return name
    if stat.S_ISDIR(seen.st_mode):
        return f"{name}/"
    if stat.S_ISREG(seen.st_mode):
        return f"{name} ({seen.st_size:,} bytes)"
    return f"{name} ({kind(seen.st_mode)})"


def reading_tools() -> tuple[Reading[ReadFile], Reading[ListFolder], Reading[SearchFiles]]:
    return (
        Reading("file_read", "Read a text file, or a part of it.", ReadFile, read_file),
        Reading("list_dir", "List what is in a folder.", ListFolder, list_folder),
        Reading(
            "search_files",
            "Find a literal text in the files of a folder and of those below it, or find files by name.",
            SearchFiles,
            search,
        ),
    )
