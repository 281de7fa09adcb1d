"""One loop's doorbell: the committing thread rings it after a commit, and whoever waits on a stream wakes.

It carries no data. A reader that is woken reads the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from quarterdeck.kernel.ids import StreamName
from quarterdeck.ports import Row

News: TypeAlias = Sequence[tuple[StreamName, Row]]
Listener: TypeAlias = Callable[[News], None]


class Doorbell:
    """Belongs to one event loop; only `ring` may be called from elsewhere."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiters: dict[StreamName, list[asyncio.Future[None]]] = {}
        self.listeners: list[Listener] = []

    def wait_for(self, name: StreamName) -> asyncio.Future[None]:
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.setdefault(name, []).append(waiter)
        return waiter

    def leave(self, name: StreamName, waiter: asyncio.Future[None]) -> None:
        """One that was rung for hangs here no more, and is not looked for among a thousand others."""
        waiters = self._waiters.get(name)
        if waiters is None or (waiter.done() and not waiter.cancelled()) or waiter not in waiters:
            return
        waiters.remove(waiter)
        if not waiters:
            del self._waiters[name]

    def ring(self, touched: Iterable[StreamName], news: News, then: Sequence[Callable[[], None]]) -> bool:
        """Called by the committing thread. False where the loop is gone for good."""
        awaited = [name for name in touched if name in self._waiters]
        if not awaited and not then and not (news and self.listeners):
            return not self._loop.is_closed()
        try:
            self._loop.call_soon_threadsafe(self._rung, awaited, news, then)
        except RuntimeError:  # the loop was closed
            return False
        return True

    def _rung(self, awaited: Sequence[StreamName], news: News, then: Sequence[Callable[[], None]]) -> None:
        for act in then:
            act()
        for name in awaited:
            for waiter in self._waiters.pop(name, ()):
                if not waiter.done():
                    waiter.set_result(None)
        if news:
            for listener in tuple(self.listeners):
                listener(news)
