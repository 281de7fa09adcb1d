"""A fold keeps one stream's state level with the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby
from typing import Generic, TypeVar, cast

from quarterdeck.events.base import Event
from quarterdeck.events.run import ContentStreamed, ReasoningStreamed
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of

S = TypeVar("S")


class Fold(Generic[S]):
    def __init__(self, log: Log, name: StreamName, empty: S, evolve: Callable[[S, Event], S], after: int = 0) -> None:
        self.state, self._evolve = empty, evolve
        self._cursor = log.follow(name, after)

    @property
    def name(self) -> StreamName:
        return self._cursor.name

    @property
    def seq(self) -> int:
        return self._cursor.seq

    async def catch_up(self) -> S:
        while rows := await self._cursor.ready():
            for event in merged(map(event_of, rows)):
                self.state = self._evolve(self.state, event)
        return self.state


def merged(events: Iterable[Event]) -> Iterator[Event]:
    """The same events with neighbouring deltas of an attempt made one: a fold over them comes to the same, sooner."""
    for kind, group in groupby(events, _delta_of):
        if kind is None:
            yield from group
        else:
            first, *rest = cast("list[ContentStreamed | ReasoningStreamed]", list(group))
            texts = chain.from_iterable(delta.texts for delta in (first, *rest))
            yield first if not rest else type(first)(first.attempt, tuple(texts))


def _delta_of(event: Event) -> tuple[str, int] | None:
    if isinstance(event, ContentStreamed | ReasoningStreamed):
        return event.KIND, event.attempt
    return None
