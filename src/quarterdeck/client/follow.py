"""Following one run to its end, over as many connections as it takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from urllib.parse import quote

import aiohttp

from quarterdeck.client.backoff import SHORTEST_S, Backoff
from quarterdeck.client.frames import FrameReader
from quarterdeck.client.http import BROKEN, Http
from quarterdeck.client.stream import Draining, Missed, Over, Reading, Told
from quarterdeck.client.trouble import Passing, Refused

SILENCE_S = 40.0
BEHIND_S = 5.0
MOST_MISSES = 5


@dataclass(frozen=True, slots=True)
class Ask:
    """A request that starts a run: the same bytes under the same key start it once, however often they are sent."""

    body: bytes
    key: str


@dataclass(frozen=True, slots=True)
class Patience:
    """`out_of_touch_s`: how long without a word from any server before giving up. `first_wait_s`: the most that is
    waited before the first new try; it doubles from there."""

    silence_s: float = SILENCE_S
    behind_s: float = BEHIND_S
    out_of_touch_s: float = 60.0
    first_wait_s: float = SHORTEST_S


class Following:
    """`told` yields every event once and in order; `task` is known as soon as the first has come.

    `place` is where its stream is, with the task's id in the place of `{}`."""

    def __init__(
        self,
        http: Http,
        what: Ask | str,
        reading: Reading,
        begin: str,
        patience: Patience,
        place: str = "/v1/tasks/{}/stream",
    ) -> None:
        self._place = place
        self._http, self._reading, self._begin, self._patience = http, reading, begin, patience
        self._ask = what if isinstance(what, Ask) else None
        self.task = what if isinstance(what, str) else None
        self._backoff = Backoff(patience.first_wait_s)
        self._heard_at = time.monotonic()
        self._misses = 0

    async def told(self) -> AsyncGenerator[Told, None]:
        while True:
            asked: float | None = None
            try:
                async with aclosing(self._connection()) as connection:
                    async for told in connection:
                        yield told
            except Over:
                return
            except Draining as draining:
                asked = draining.retry_s
            except Missed as missed:
                self._missed(missed)
            except Passing as passing:
                self._bear(passing.refused)
                asked = passing.retry_after
            except BROKEN as error:
                self._bear(self._http.unreachable(error))
            await asyncio.sleep(self._backoff.next(asked))

    def _bear(self, trouble: Exception) -> None:
        if time.monotonic() - self._heard_at > self._patience.out_of_touch_s:
            raise trouble from None

    def _missed(self, missed: Missed) -> None:
        """A loss on the way heals with a new connection; one that does not is the server's, and is told."""
        self._misses += 1
        if self._misses > MOST_MISSES:
            raise Refused(f"The server leaves out a part of the run: {missed}.", code="stream_gap") from None

    async def _connection(self) -> AsyncGenerator[Told, None]:
        frames = FrameReader()
        async with self._opened() as response:
            if response.status == 204:
                raise Over
            while True:
                limit = self._patience.behind_s if self._reading.behind else self._patience.silence_s
                async with asyncio.timeout(limit):
                    data = await response.content.readany()
                if not data:
                    return
                for frame in frames.feed(data):
                    self._heard()
                    told = self._reading.take(frame)
                    if told is not None:
                        self._misses = 0
                        self.task = self.task or told.data.get("task_id")
                        yield told

    def _heard(self) -> None:
        self._heard_at = time.monotonic()
        self._backoff.worked()

    def _opened(self) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        accept = {"accept": "text/event-stream"}
        if self.task is None:
            assert self._ask is not None
            headers = {**accept, "content-type": "application/json", "idempotency-key": self._ask.key}
            return self._http.open("POST", "/v1/chat/stream", headers=headers, data=self._ask.body)
        cursor = self._reading.cursor
        headers = accept if cursor is None else {**accept, "last-event-id": cursor}
        params = {"from": self._begin} if cursor is None else {}
        return self._http.open("GET", self._place.format(quote(self.task, safe="")), headers=headers, params=params)
