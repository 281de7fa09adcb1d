"""What tests of the log share: a clock with hands, a shelf that opens one log again and again, short ways to speak."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.events.base import Event
from quarterdeck.events.run import ContentStreamed, RunFinished, RunRequested
from quarterdeck.events.talk import MessageAdded
from quarterdeck.kernel.ids import StreamName, TenantId
from quarterdeck.log.cursor import Cursor
from quarterdeck.log.entries import Appended, Claim, Entry, Producer
from quarterdeck.log.log import Log
from quarterdeck.log.memory import MemoryStore, MemoryTables
from quarterdeck.log.rows import event_of, recorded
from quarterdeck.ports import Row, Store
from quarterdeck.views.tables import TABLES, VIEWS

PATIENCE_S = 20.0
TENANT = TenantId("local")
TALK = StreamName(TENANT, "conversation", "talk")
RUN = StreamName(TENANT, "run", "r1")
END = RunFinished("completed", "done")
REQUEST = RunRequested("talk", "hello")

T = TypeVar("T")


class HandClock:
    """The time of the day as it is, and a steady time that a test moves by hand."""

    def __init__(self) -> None:
        self.hand = 0.0

    def now(self) -> float:
        return time.time()

    def steady(self) -> float:
        return self.hand


class Shelf:
    """One store that is opened, closed and opened again, as a restart does. Memory is kept over a restart here."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.path, self.clock = kind, folder / "log.db", HandClock()
        self._memory: MemoryStore | None = None
        self._open: Log | None = None
        self.store: Store

    def open(self, **options: Any) -> Log:
        self.close()
        self.store = self._found()
        self._open = Log(self.store, self.clock, TABLES, VIEWS, **options)
        return self._open

    def close(self) -> None:
        if self._open is not None:
            self._open.close_now()
            self._open = None

    def _found(self) -> Store:
        if self.kind == "sqlite":
            return SqliteStore(self.path)
        if self._memory is None:
            self._memory = MemoryStore()
        return self._memory


def stream(key: str, kind: str = "conversation", tenant: str = "local") -> StreamName:
    return StreamName(TenantId(tenant), kind, key)


def said(text: object) -> MessageAdded:
    return MessageAdded("user", str(text))


def entry(name: StreamName, *texts: object, **more: Any) -> Entry:
    return Entry(name, tuple(map(said, texts)), **more)


async def say(log: Log, name: StreamName, *texts: object, **more: Any) -> tuple[int, int]:
    return (await log.append(entry(name, *texts, **more))).places[0]


def claim(name: StreamName, worker: str, epoch: int, *texts: object) -> Entry:
    return entry(name, *(texts or (f"{worker} took it",)), claim=Claim(worker, epoch))


def numbered(name: StreamName, seq: int, *texts: object, epoch: int = 1, who: str = "p") -> Entry:
    return entry(name, *(texts or (seq,)), producer=Producer(who, epoch, seq))


def events_of(rows: Iterable[Row]) -> list[Event]:
    return [event_of(row) for row in rows]


def texts_of(rows: Iterable[Row]) -> list[str]:
    """What was said or streamed, one text for each place."""
    found: list[str] = []
    for event in events_of(rows):
        if isinstance(event, ContentStreamed):
            found += event.texts
        elif isinstance(event, MessageAdded):
            found.append(event.content)
        else:
            found += [event.KIND] * event.span
    return found


async def everything(log: Log, name: StreamName) -> list[Row]:
    """All rows from the store itself, whatever memory holds."""
    state = await log.look(name)
    return [] if state is None else stored_rows(log._store, name)


def stored_rows(store: Store, name: StreamName) -> list[Row]:
    state = store.stream(name)
    return [] if state is None else store.rows(state, state.floor, 10**6)


def gapless(rows: Sequence[Row], after: int = 0) -> bool:
    for row in rows:
        if row.first != after + 1 or row.last < row.first:
            return False
        after = row.last
    return True


async def read_to(cursor: Cursor, seq: int) -> list[Row]:
    """Follow until the place is reached; never longer than patience lasts."""
    found: list[Row] = []
    async with asyncio.timeout(PATIENCE_S):
        while cursor.seq < seq:
            found += await cursor.rows()
    return found


async def soon(awaited: Awaitable[T]) -> T:
    async with asyncio.timeout(PATIENCE_S):
        return await awaited


def on_loops_of_their_own(count: int, act: Callable[[int], Awaitable[T]]) -> list[T]:
    """Run `act(0)`, `act(1)`, … at once, each on its own thread and event loop."""

    async def acted(number: int) -> T:
        return await soon(act(number))

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(lambda number: asyncio.run(acted(number)), range(count)))


def rebuilt(store: Store) -> dict[str, list[dict[str, Any]]]:
    """The read models as the whole log, read once from its beginning, gives them."""
    tables = MemoryTables()
    tables.prepare(TABLES)
    for state, row in store.scan():
        fact = recorded(state.name, row)
        for view in VIEWS:
            tables.apply(view.apply(fact))
    return tables.everything()


def kept(store: Store) -> dict[str, list[dict[str, Any]]]:
    """The read models as the store holds them."""
    if isinstance(store, MemoryStore):
        return store._tables.everything()
    assert isinstance(store, SqliteStore)
    return {
        table.name: sorted(
            (
                dict(zip(table.columns, line, strict=True))
                for line in store._reader().execute(f"SELECT {', '.join(table.columns)} FROM view_{table.name}")
            ),
            key=repr,
        )
        for table in TABLES
    }


def first_places(answers: Iterable[Appended]) -> list[int]:
    return [answer.places[0][0] for answer in answers]
