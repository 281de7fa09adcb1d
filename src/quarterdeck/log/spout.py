"""Where a model's text pours into the log: never waits, keeps order, and says when it is too far ahead."""

from __future__ import annotations

import asyncio
from typing import Literal, Protocol

from quarterdeck.kernel.ids import StreamName

DeltaKind = Literal["content", "reasoning"]
LONGEST_ROW = 1024  # deltas, or a few more


class Pour:
    """Deltas of one attempt that wait to be committed together; grows while its turn has not come."""

    __slots__ = ("attempt", "kind", "spout", "texts")

    def __init__(self, spout: Spout, kind: DeltaKind, attempt: int, texts: list[str]) -> None:
        self.spout, self.kind, self.attempt, self.texts = spout, kind, attempt, list(texts)

    def takes(self, spout: Spout, kind: DeltaKind, attempt: int) -> bool:
        """Whether more of these may go in with it. A row has a bound, since whoever reads it holds the whole of it."""
        mine = self.spout is spout and self.kind == kind and self.attempt == attempt
        return mine and len(self.texts) < LONGEST_ROW


class Sink(Protocol):
    def pour(self, spout: Spout, kind: DeltaKind, attempt: int, texts: list[str]) -> None: ...


class Spout:
    """One writer's way of pouring deltas into one stream under one claim."""

    __slots__ = ("_loop", "_poured", "_settled", "_sink", "_waiter", "actor", "cause", "error", "fence", "name")

    def __init__(self, sink: Sink, name: StreamName, *, fence: int, actor: str, cause: str | None) -> None:
        self._sink, self.name, self.fence, self.actor, self.cause = sink, name, fence, actor, cause
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._poured = 0  # counted on the loop alone
        self._settled = 0  # counted by the committing thread alone
        self.error: Exception | None = None

    def pour(self, kind: DeltaKind, attempt: int, texts: list[str]) -> None:
        """Queue deltas. Raises what befell earlier ones: a fence, a full disk."""
        if self.error is not None:
            raise self.error
        if texts:
            self._sink.pour(self, kind, attempt, texts)
            self._poured += len(texts)

    @property
    def waiting(self) -> int:
        """How many deltas are uncommitted."""
        return self._poured - self._settled

    async def below(self, limit: int) -> None:
        """Wait until no more than `limit` deltas are uncommitted."""
        while self.waiting > limit and self.error is None:
            self._waiter = self._loop.create_future()
            if self.waiting > limit and self.error is None:  # the committing thread may have been quicker
                await self._waiter
            self._waiter = None
        if self.error is not None:
            raise self.error

    def settled(self, count: int, error: Exception | None) -> bool:
        """Told by the committing thread; True if somebody waits for it."""
        self._settled += count
        self.error = self.error or error
        return self._waiter is not None

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop
