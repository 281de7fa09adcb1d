"""A stream of server-sent events: a cursor on one side, a socket on the other, and nothing in between.

What is written was committed before. A heartbeat carries the head, so that a client knows whether it missed anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from quarterdeck.events.run import RunFinished, RunWaiting
from quarterdeck.events.team import TeamRunFinished
from quarterdeck.log.cursor import Cursor, Gap
from quarterdeck.ports import Row

BEAT_S = 15.0
AGE_S = 3600.0  # after which a quiet stream is asked to come back, give or take a tenth, so that not all come at once
LOOK_S = 0.005
PIECE = 64 * 1024  # what is written at once, and so what a reader that stops reading costs
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
]
RETRY = b"retry: 1000\n\n"
END = b"event: end\ndata: {}\n\n"
RESTS = b'event: end\ndata: {"waiting": true}\n\n'
ENDS = frozenset({RunFinished.KIND, TeamRunFinished.KIND})
TO_REST = ENDS | {RunWaiting.KIND}
DRAINING = b'event: draining\ndata: {"code": 4503, "retry_ms": 1000}\n\n'


@dataclass(frozen=True, slots=True)
class Manner:
    """How a stream speaks of itself: that it ends, that it rests, that the server goes, that it is still there."""

    end: bytes = END
    rests: bytes = RESTS
    draining: bytes = DRAINING
    beat: bytes = b'event: hb\ndata: {"head": %d}\n\n'


PLAIN = Manner()
# Where the type of each event stands in its data as well, and the run's own last event is the last there is.
TYPED = Manner(
    end=b"",
    rests=b'event: rests\ndata: {"type": "rests"}\n\n',
    draining=b'event: draining\ndata: {"type": "draining", "code": 4503, "retry_ms": 1000}\n\n',
    beat=b'event: hb\ndata: {"type": "hb", "head": %d}\n\n',
)


class Door(Protocol):
    """How a row looks at one door."""

    def frames(self, row: Row) -> bytes: ...


class Nudged(Protocol):
    """Somebody who waits for a run, and can be made to look up."""

    def nudge(self) -> None: ...


class CarriedOut(Protocol):
    """A stream that is carried out when all that led to it has returned."""

    async def carry_out(self, receive: Receive, send: Send) -> None: ...


class OpenStreams:
    """Who waits for runs at one server, to tell them when it drains."""

    def __init__(self) -> None:
        self.draining = False
        self._told = False
        self._streams: set[Nudged] = set()

    def add(self, stream: Nudged) -> Callable[[], None]:
        self._streams.add(stream)
        if self._told:
            stream.nudge()
        return lambda: self._streams.discard(stream)

    def drain(self) -> None:
        self.draining = self._told = True
        for stream in tuple(self._streams):
            stream.nudge()

    def __len__(self) -> int:
        return len(self._streams)


LATER = "quarterdeck.later"


class EventStream(Response):
    """A response that ends with an event of one of the kinds in `last`: the end of the run, or also where it rests.

    It is carried out by whoever put a list under `LATER` in the scope, when all that led to it has returned: an open
    stream then holds no routing, no validation and no exception handling in memory, and passes none of it per frame.
    """

    def __init__(
        self,
        cursor: Cursor,
        door: Door,
        streams: OpenStreams,
        *,
        last: frozenset[str],
        opening: bytes = b"",
        manner: Manner = PLAIN,
    ) -> None:
        self._manner = manner
        self._cursor, self._door, self._open, self._last, self._opening = cursor, door, streams, last, opening
        self._lead = RETRY
        self._old_at = asyncio.get_running_loop().time() + AGE_S * random.uniform(0.9, 1.1)  # noqa: S311 - no secret
        self.status_code, self.background = 200, None
        self._timer: asyncio.TimerHandle | None = None

    def nudge(self) -> None:
        self._cursor.nudge()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (later := scope.get(LATER)) is None:
            await self.carry_out(receive, send)
        else:
            later.append(self)

    async def carry_out(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        if self._opening:
            await send({"type": "http.response.body", "body": self._led(self._opening), "more_body": True})
        close = self._open.add(self)
        self._arm()
        try:
            await self._pump(receive, send)
        finally:
            close()
            if self._timer is not None:
                self._timer.cancel()

    async def _pump(self, receive: Receive, send: Send) -> None:
        while True:
            try:
                rows = await self._cursor.rows()
            except Gap:  # trimmed under its eyes: it comes back, and is told the gap
                return
            if rows:
                ended = rows[-1].kind in self._last
                body = self._door.frames(rows[0]) if len(rows) == 1 else await self._told(rows, send)
                if len(body) > PIECE:
                    body = await self._sent_but_last(body, send)
                if ended:
                    body += self._manner.end if rows[-1].kind in ENDS else self._manner.rests
            else:
                body, ended = await self._silence(receive)
            await send({"type": "http.response.body", "body": self._led(body), "more_body": not ended})
            if ended:
                return
            del rows, body  # a stream that waits holds nothing of what it said

    def _led(self, body: bytes) -> bytes:
        """The first that is written says how soon to come back after a broken connection."""
        if self._lead:
            body, self._lead = self._lead + body, b""
        return body

    async def _told(self, rows: Sequence[Row], send: Send) -> bytes:
        """The rows' frames. What is more than a piece is sent on the way: a slow reader holds no more than that."""
        frames, gathered, size = self._door.frames, list[bytes](), 0
        for row in rows:
            gathered.append(body := frames(row))
            size += len(body)
            if size > PIECE:
                last = await self._sent_but_last(b"".join(gathered), send)
                gathered, size = [last], len(last)
        return b"".join(gathered)

    async def _sent_but_last(self, body: bytes, send: Send) -> bytes:
        """Send all but the last piece, which is returned."""
        body, begin = self._led(body), 0
        while len(body) - begin > PIECE:
            await send({"type": "http.response.body", "body": body[begin : begin + PIECE], "more_body": True})
            begin += PIECE
        return body[begin:]

    async def _silence(self, receive: Receive) -> tuple[bytes, bool]:
        """What to say when there is nothing to tell: that we are going, or that we are still here."""
        if self._open.draining or asyncio.get_running_loop().time() > self._old_at:
            return self._manner.draining, True
        if await left(receive):
            return b"", True
        return self._manner.beat % self._cursor.seq, False

    def _arm(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(BEAT_S, self._beat)

    def _beat(self) -> None:
        self._cursor.nudge()
        self._arm()


async def left(receive: Receive) -> bool:
    """Whether the client is gone. Asked now and then: a task that waits for it would weigh more than the stream."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LOOK_S):
            while (await receive())["type"] != "http.disconnect":
                pass
            return True
    return False
