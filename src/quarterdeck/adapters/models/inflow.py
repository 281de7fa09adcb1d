"""From a thread that calls back to a coroutine that waits: everything that gathered since it last looked, at once."""

from __future__ import annotations

import asyncio
import threading
from collections import deque


class Inflow:
    """One reply on its way from a thread into the event loop that made this."""

    __slots__ = ("_failure", "_finished", "_items", "_ready", "_roused", "deaf", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.deaf = False
        self._items: deque[object] = deque()
        self._ready = asyncio.Event()
        self._roused = False
        self._finished = False
        self._failure: Exception | None = None

    def put(self, item: object) -> bool:
        """Called in the thread. True means: stop, nobody listens, the loop is gone or the program ends."""
        self._items.append(item)
        self._rouse()
        return self.deaf or not threading.main_thread().is_alive()

    def finish(self, failure: Exception | None = None) -> None:
        """Called once in the thread, or by whoever ends the reply from outside."""
        self._failure = self._failure or failure
        self._finished = True
        self._roused = False
        self._rouse()

    def close(self) -> None:
        self.deaf = True

    async def gathered(self) -> list[object]:
        """What has come since the last time; empty when there will be no more."""
        while True:
            # In this order: whatever is put after the flag falls rouses us again.
            self._ready.clear()
            self._roused = False
            finished = self._finished
            items = [self._items.popleft() for _ in range(len(self._items))]
            if items:
                return items
            if finished:
                break
            await self._ready.wait()
        if self._failure is not None:
            self.deaf = True
            raise self._failure
        return []

    def _rouse(self) -> None:
        if self._roused or self.deaf:
            return
        self._roused = True
        try:
            self.loop.call_soon_threadsafe(self._ready.set)
        except RuntimeError:
            self.deaf = True  # the loop is closed
