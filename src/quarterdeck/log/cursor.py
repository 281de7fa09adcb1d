"""A reader is a cursor: a place in a stream that moves forward one step at a time, from memory or from the store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.doorbell import Doorbell
from quarterdeck.log.rows import cut
from quarterdeck.ports import Row, StreamState

PAGE_BYTES = 128 * 1024  # what one reader that catches up has in hand at a time


class Gap(Exception):
    """The places asked for are below the stream's floor. Whoever reads on does so from a snapshot."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__(f"places {first} to {last} are gone")
        self.first, self.last = first, last


class Source(Protocol):
    """What a cursor needs of the log."""

    def recent(self, name: StreamName, after: int) -> list[Row] | None: ...

    async def read(self, name: StreamName, after: int = 0, limit: int = ..., size: int | None = ...) -> list[Row]: ...

    async def look(self, name: StreamName) -> StreamState | None: ...


class Cursor:
    """Reads `seq > cursor`. There is no queue: a reader that stops reading costs nothing and may go on at any time."""

    __slots__ = ("_bell", "_nudged", "_source", "_waiter", "name", "seq")

    def __init__(self, source: Source, bell: Doorbell, name: StreamName, after: int) -> None:
        self._source, self._bell, self.name, self.seq = source, bell, name, after
        self._waiter: asyncio.Future[None] | None = None
        self._nudged = False

    async def rows(self) -> Sequence[Row]:
        """What comes next: at once if there is something, else when there is. Nothing only after a `nudge`."""
        while True:
            # Written out rather than handed on: this is done for every watcher of every commit.
            found = self._source.recent(self.name, self.seq)
            if found is None:
                found = await self._stored()
            if found:
                return self._stepped(found)
            waiter = self._bell.wait_for(self.name)
            if self._nudged:
                self._bell.leave(self.name, waiter)
                self._nudged = False
                return ()
            self._waiter = waiter
            try:
                missed = self._source.recent(self.name, self.seq)  # committed just before the bell was hung up
                if missed is None:
                    missed = await self._source.read(self.name, self.seq, 1)
                if not missed:
                    await waiter
            finally:
                self._waiter = None
                self._bell.leave(self.name, waiter)

    async def ready(self) -> Sequence[Row]:
        """What is there now."""
        found = self._source.recent(self.name, self.seq)
        if found is None:
            found = await self._stored()
        return self._stepped(found) if found else ()

    def _stepped(self, found: list[Row]) -> list[Row]:
        found[0] = cut(found[0], self.seq)
        if found[0].first > self.seq + 1:
            raise Gap(self.seq + 1, found[0].first - 1)
        for row in found:
            if row.first != self.seq + 1:
                raise AssertionError(f"{self.name} steps from {self.seq} to {row.first}")
            self.seq = row.last
        return found

    async def _stored(self) -> list[Row]:
        return await self._source.read(self.name, self.seq, size=PAGE_BYTES) or await self._nothing()

    async def _nothing(self) -> list[Row]:
        """The store has nothing behind this place: it is the head, unless all that came after it was trimmed."""
        state = await self._source.look(self.name)
        if state is not None and state.floor > self.seq:
            raise Gap(self.seq + 1, state.floor)
        return []

    def nudge(self) -> None:
        """Make `rows` return, with nothing if there is nothing."""
        self._nudged = True
        if self._waiter is not None and not self._waiter.done():
            self._bell.leave(self.name, self._waiter)
            self._waiter.set_result(None)
