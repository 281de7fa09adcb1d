"""Moments that hardly ever come by themselves, brought about on purpose."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from logroom import TALK, Shelf, everything, say, soon, texts_of
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.cursor import Cursor
from quarterdeck.log.log import Log
from quarterdeck.log.verify import troubles
from quarterdeck.ports import Row, StreamState


@pytest.fixture(params=["memory", "sqlite"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf(request.param, tmp_path)
    yield shelf
    shelf.close()


class Late:
    """A log in which something is committed just after a reader found nothing, and before it began to wait."""

    def __init__(self, log: Log, source: str) -> None:
        self._log, self._source, self._struck = log, source, False

    def recent(self, name: StreamName, after: int) -> list[Row] | None:
        if self._source == "store":
            return None
        found = self._log.recent(name, after)
        if not self._struck:
            self._struck = True
            with ThreadPoolExecutor(1) as thread:  # this loop stands still meanwhile, as it does within one step
                thread.submit(asyncio.run, say(self._log, TALK, "late")).result()
        return found

    async def read(self, name: StreamName, after: int = 0, limit: int = 500, size: int | None = None) -> list[Row]:
        found = await self._log.read(name, after, limit, size)
        if not self._struck:
            self._struck = True
            await say(self._log, TALK, "late")
        return found

    async def look(self, name: StreamName) -> StreamState | None:
        return await self._log.look(name)


@pytest.mark.parametrize("source", ["memory", "store"])
async def test_what_is_committed_between_looking_and_waiting_wakes_the_reader(shelf: Shelf, source: str) -> None:
    log = shelf.open()
    await say(log, TALK, "early")
    cursor = Cursor(Late(log, source), log._bell(), TALK, 1)
    assert texts_of(await soon(cursor.rows())) == ["late"]
    assert cursor.seq == 2


async def test_a_stream_that_is_trimmed_while_it_is_verified_is_in_order(shelf: Shelf) -> None:
    log = shelf.open()
    await say(log, TALK, *range(10))
    before = list(shelf.store.streams())
    await log.trim(TALK, 4, b"snap")
    shelf.store.streams = lambda: iter(before)  # type: ignore[method-assign]
    assert troubles(shelf.store) == []


async def test_a_nudge_while_the_store_is_read_ends_the_waiting(shelf: Shelf) -> None:
    log = shelf.open()
    await say(log, TALK, "a")
    again = shelf.open()
    cursor = again.follow(TALK, 1)
    waiting = asyncio.ensure_future(cursor.rows())
    for _ in range(3):  # somewhere on its way to the store and back
        await asyncio.sleep(0)
    cursor.nudge()
    assert not await soon(waiting)


async def test_who_stops_waiting_for_an_answer_does_not_undo_it(shelf: Shelf) -> None:
    log = shelf.open()
    for number in range(30):
        asking = asyncio.ensure_future(say(log, TALK, number))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    await say(log, TALK, "last")
    assert texts_of(await everything(log, TALK)) == [*(str(n) for n in range(30)), "last"]
    assert await log.verify() == []
