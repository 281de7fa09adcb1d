"""An event loop in a thread of its own, so that the terminal's thread can wait for keys and signals."""

from __future__ import annotations

import asyncio
import queue
import signal
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from enum import Enum
from types import FrameType
from typing import Any, TypeAlias, TypeVar

from quarterdeck.cli.keyboard import Keyboard, Typed
from quarterdeck.client import Told
from quarterdeck.kernel.errors import Problem

T = TypeVar("T")


class Turn(Enum):
    INTERRUPTED = "somebody pressed Ctrl-C"
    LEFT = "somebody pressed Ctrl-D"
    OVER = "there is nothing more"


@dataclass(frozen=True, slots=True)
class Came:
    """What was begun meanwhile has come to something. `tell` is for the terminal's thread to call."""

    tell: Callable[[], None]


Item: TypeAlias = Told | Typed | Came | Turn | Exception


class Backstage:
    def __enter__(self) -> Backstage:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="quarterdeck-backstage", daemon=True)
        self._thread.start()
        self._items: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._begun = 0
        self._keyboard: Keyboard | None = None
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

    def meanwhile(self, work: Coroutine[Any, Any, T], then: Callable[[T | Problem], None]) -> None:
        """Begin it within `told`; what it comes to is an item there, and `then` is called with it."""
        self._begun += 1
        items = self._items

        async def work_and_tell() -> None:
            came: T | Exception
            try:
                came = await work
            except Exception as error:  # noqa: BLE001 - it is told where somebody waits for it
                came = error
            items.put(Came(lambda: _tell(came, then)))

        asyncio.run_coroutine_threadsafe(work_and_tell(), self._loop)

    @contextmanager
    def told(self, source: AsyncGenerator[Told, None], keyboard: Keyboard | None = None) -> Iterator[Iterator[Item]]:
        """What the source yields; among it, as it came, a Ctrl-C, instead of an exception in the middle of a line, and
        the lines that were typed.

        The last item is `OVER`, or what went wrong.
        """
        items = self._items = queue.SimpleQueue()
        self._begun, self._keyboard = 0, keyboard
        before = signal.signal(signal.SIGINT, self._interrupted)
        if keyboard is not None:
            self.run(keyboard.listen(lambda typed: items.put(Turn.LEFT if typed is None else typed)))
        future = asyncio.run_coroutine_threadsafe(_poured(source, items, keyboard), self._loop)
        try:
            yield self._till_over(items)
        finally:
            signal.signal(signal.SIGINT, before)
            future.cancel()
            if keyboard is not None:
                self.run(keyboard.leave())

    @contextmanager
    def hushed(self) -> Iterator[None]:
        """Within `told`: the keyboard is the caller's alone, and Ctrl-C an exception again."""
        assert self._keyboard is not None
        self.run(self._keyboard.rest())
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, self._interrupted)
            self.run(self._keyboard.go_on())

    def turn(self, turn: Turn) -> None:
        """As if it had come by itself."""
        self._items.put(turn)

    def _interrupted(self, _: int, __: FrameType | None) -> None:
        self.turn(Turn.INTERRUPTED)

    def _till_over(self, items: queue.SimpleQueue[Item]) -> Iterator[Item]:
        """All items; what was begun meanwhile is waited for before the last one."""
        last: Item | None = None
        while last is None or self._begun:
            item = items.get()
            self._begun -= isinstance(item, Came)
            if item is Turn.OVER or isinstance(item, Exception):
                last = item
            else:
                yield item
        yield last

    async def _cleared(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()


def _tell(came: T | Exception, then: Callable[[T | Problem], None]) -> None:
    if isinstance(came, Exception) and not isinstance(came, Problem):
        raise came
    then(came)


async def _poured(
    source: AsyncGenerator[Told, None], items: queue.SimpleQueue[Item], keyboard: Keyboard | None
) -> None:
    end: Turn | Exception = Turn.OVER
    try:
        async with aclosing(source):
            async for told in source:
                items.put(told)
    except Exception as error:  # noqa: BLE001 - it is raised again where somebody waits for it
        end = error
    if keyboard is not None:  # what is typed from here on is for whoever reads next
        await keyboard.leave()
    items.put(end)
