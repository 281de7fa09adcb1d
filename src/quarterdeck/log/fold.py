"""A fold keeps one stream's state level with the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from quarterdeck.events.base import Event
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of

S = TypeVar("S")


class Fold(Generic[S]):
    def __init__(self, log: Log, name: StreamName, empty: S, evolve: Callable[[S, Event], S], after: int = 0) -> None:
        self.state, self._evolve = empty, evolve
        self._cursor = log.follow(name, after)

    @property
    def seq(self) -> int:
        return self._cursor.seq

    async def catch_up(self) -> S:
        while rows := await self._cursor.ready():
            for row in rows:
                self.state = self._evolve(self.state, event_of(row))
        return self.state
