"""An event loop in a thread of its own, so that the terminal's thread can wait for keys and signals."""

from __future__ import annotations

import asyncio
import queue
import signal
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import aclosing, contextmanager
from enum import Enum
from types import FrameType
from typing import Any, TypeAlias, TypeVar

from quarterdeck.client import Told

T = TypeVar("T")


class Turn(Enum):
    INTERRUPTED = "somebody pressed Ctrl-C"
    OVER = "there is nothing more"


Item: TypeAlias = Told | Turn | Exception


class Backstage:
    def __enter__(self) -> Backstage:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="quarterdeck-backstage", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._cleared())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def begin(self, work: Coroutine[Any, Any, Any]) -> None:
        """Without waiting for what it comes to."""
        asyncio.run_coroutine_threadsafe(work, self._loop)

    @contextmanager
    def told(self, source: AsyncGenerator[Told, None]) -> Iterator[Iterator[Item]]:
        """What the source yields, with a Ctrl-C among it as it came, instead of an exception in the middle of a line.

        The last item is `OVER`, or what went wrong.
        """
        items: queue.SimpleQueue[Item] = queue.SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(_poured(source, items), self._loop)

        def interrupted(_: int, __: FrameType | None) -> None:
            items.put(Turn.INTERRUPTED)

        before = signal.signal(signal.SIGINT, interrupted)
        try:
            yield iter(items.get, None)
        finally:
            signal.signal(signal.SIGINT, before)
            future.cancel()

    async def _cleared(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()


async def _poured(source: AsyncGenerator[Told, None], items: queue.SimpleQueue[Item]) -> None:
    try:
        async with aclosing(source):
            async for told in source:
                items.put(told)
        items.put(Turn.OVER)
    except Exception as error:  # noqa: BLE001 - it is raised again where somebody waits for it
        items.put(error)
