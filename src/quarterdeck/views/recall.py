"""What is remembered, found again: an index in memory for each tenant, level with the log whenever it is asked."""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from quarterdeck.engine.memory import MOST
from quarterdeck.engine.recall import Hit, Index, fused, mostly_english
from quarterdeck.events import memory as ev
from quarterdeck.kernel.ids import StreamName, TenantId, experience_stream, memory_stream
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Embedder, Query, Row, Table
from quarterdeck.views.memory import LESSONS, MEMORIES

TENANTS = 64  # whose indexes are kept at hand
PAGE = 500
EMBEDDED = 32  # texts that a question may wait for until their meaning is known; the others follow with the next

logger = logging.getLogger("quarterdeck.views")

Line: TypeAlias = dict[str, Any]
Fits: TypeAlias = Callable[[Line], bool]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory, or a lesson, that may be about what was asked."""

    id: str
    text: str
    score: float
    memory_type: str = "note"
    scope: str = "global"
    importance: float = 0.5


class Recall:
    """May be used from any event loop. Holds copies of texts, and lets go of each when it is next asked after the
    text was forgotten."""

    def __init__(self, log: Log, embedder: Embedder | None = None) -> None:
        self._log, self._embedder = log, embedder
        self._books: OrderedDict[StreamName, _Book] = OrderedDict()
        self._lock = threading.Lock()

    async def candidates(
        self,
        tenant: TenantId,
        query: str,
        workspace: str | None = None,
        conversation: str | None = None,
        limit: int = 8,
    ) -> tuple[Candidate, ...]:
        """What a run may be told: global memories, those of this very workspace, those of this conversation. Tainted
        ones only once a person accepted them."""
        here = placed(workspace)

        def fits(line: Line) -> bool:
            return line["state"] == "active" and reaches(line, here, conversation)

        return await self.search(tenant, query, fits, limit)

    async def search(self, tenant: TenantId, query: str, fits: Fits, limit: int = 8) -> tuple[Candidate, ...]:
        return await self._found(MEMORIES, memory_stream(tenant), query, fits, limit)

    async def lessons(self, tenant: TenantId, query: str, limit: int = 3) -> tuple[Candidate, ...]:
        """Lessons that a person accepted."""
        stream = experience_stream(tenant)
        return await self._found(LESSONS, stream, query, lambda line: line["state"] == "accepted", limit)

    async def _found(self, table: Table, name: StreamName, query: str, fits: Fits, limit: int) -> tuple[Candidate, ...]:
        book = self._book(table, name)
        await book.level(self._log)
        if self._embedder is None or not mostly_english(query):
            return tuple(_candidate(line, hit) for line, hit in book.search(query, limit, fits))
        said = [hit for _, hit in book.search(query, MOST, fits)]
        try:
            near = await self._near(book, query, fits, self._embedder)
        except Exception as error:  # noqa: BLE001 - whatever befell the model of meanings, words are still there
            logger.warning("recall goes by words alone: %s: %s", type(error).__name__, error)
            return tuple(_candidate(line, hit) for hit in said[:limit] if (line := book.line(hit.id)))
        return tuple(_candidate(line, hit) for hit in fused(said, near, limit) if (line := book.line(hit.id)))

    async def _near(self, book: _Book, query: str, fits: Fits, embedder: Embedder) -> dict[str, float]:
        wanted = book.unknown(EMBEDDED)
        asked, *vectors = await embedder.vectors([query, *wanted.values()])
        book.known(wanted, vectors)
        theirs = book.vectors(fits)
        return dict(zip(theirs, embedder.near(asked, list(theirs.values())), strict=True))

    def _book(self, table: Table, name: StreamName) -> _Book:
        with self._lock:
            book = self._books.get(name)
            if book is None:
                book = self._books[name] = _Book(table, name)
            self._books.move_to_end(name)
            while len(self._books) > TENANTS:
                self._books.popitem(last=False)
            return book


def placed(workspace: str | None) -> str | None:
    """A workspace by the one name it is known by: absolute and without links."""
    return os.path.realpath(workspace) if workspace else None


def reaches(line: Line, workspace: str | None, conversation: str | None) -> bool:
    """Whether the scope of a memory holds this workspace, or this conversation."""
    if line["scope"] == "workspace":
        return workspace is not None and line["workspace"] == workspace
    if line["scope"] == "conversation":
        return conversation is not None and line["conversation"] == conversation
    return True


class _Book:
    """One stream's lines and their index. What changed is learned from the stream, and how it stands now from the
    table, which is never behind it."""

    def __init__(self, table: Table, name: StreamName) -> None:
        self._table, self._name = table, name
        self._lock = threading.Lock()
        self._lines: dict[str, Line] = {}
        self._index = Index()
        self._vectors: dict[str, bytes] = {}
        self._seq = -1  # nothing was read yet

    async def level(self, log: Log) -> None:
        if self._seq < 0:
            await self._begin(log)
        while rows := await log.read(self._name, begun := self._seq):
            touched = dict.fromkeys(ident for row in rows if (ident := _touched(row)) is not None)
            lines = {i: await log.get(self._table, tenant=self._name.tenant, id=i) for i in touched}
            self._take(lines, begun, rows[-1].last)

    async def _begin(self, log: Log) -> None:
        state = await log.look(self._name)
        lines: dict[str, Line | None] = {}
        after = None
        while page := await log.find(Query(self._table, {"tenant": self._name.tenant}, "id", after=after, limit=PAGE)):
            after = page[-1]["id"]
            lines |= {line["id"]: line for line in page}
        self._take(lines, -1, 0 if state is None else state.head)

    def _take(self, lines: dict[str, Line | None], begun: int, seq: int) -> None:
        """Unless somebody else was quicker: then what we know may be older than what is here."""
        with self._lock:
            if self._seq != begun:
                return
            for ident, line in lines.items():
                if line is None:
                    self._drop(ident)
                else:
                    self._vectors.pop(ident, None)
                    self._lines[ident] = line
                    self._index.put(ident, line["text"], line.get("importance", 0.5))
            while len(self._index) > MOST:
                self._drop(self._index.least())
            self._seq = seq

    def _drop(self, ident: str) -> None:
        self._lines.pop(ident, None)
        self._vectors.pop(ident, None)
        self._index.drop(ident)

    def search(self, query: str, limit: int, fits: Fits) -> list[tuple[Line, Hit]]:
        with self._lock:
            hits = self._index.search(query, limit, lambda ident: fits(self._lines[ident]))
            return [(self._lines[hit.id], hit) for hit in hits]

    def line(self, ident: str) -> Line | None:
        return self._lines.get(ident)

    def unknown(self, most: int) -> dict[str, str]:
        """Texts whose meaning is not known yet, the latest first."""
        with self._lock:
            missing = sorted(self._lines.keys() - self._vectors.keys(), reverse=True)[:most]
            return {ident: self._lines[ident]["text"] for ident in missing}

    def known(self, texts: Mapping[str, str], vectors: Sequence[bytes]) -> None:
        """Unless the text was changed or forgotten meanwhile."""
        with self._lock:
            for (ident, text), vector in zip(texts.items(), vectors, strict=True):
                if ident in self._lines and self._lines[ident]["text"] == text:
                    self._vectors[ident] = vector

    def vectors(self, fits: Fits) -> dict[str, bytes]:
        with self._lock:
            return {ident: vector for ident, vector in self._vectors.items() if fits(self._lines[ident])}


def _touched(row: Row) -> str | None:
    """The memory or lesson whose line is another one since this row."""
    event = event_of(row)
    if isinstance(event, ev.MemoryStored | ev.MemoryEdited | ev.MemoryAccepted | ev.MemoryForgotten):
        return event.id
    if isinstance(event, ev.LessonProposed | ev.LessonAccepted | ev.LessonRejected | ev.LessonForgotten):
        return event.id
    return None


def _candidate(line: Line, hit: Hit) -> Candidate:
    known = {name: line[name] for name in ("memory_type", "scope", "importance") if name in line}
    return Candidate(line["id"], line["text"], hit.score, **known)
