"""What has changed, as hints: whoever hears one reads what it is about. Nothing is kept for a listener but names.

A hint carries no data and has no place; a listener that comes back reads everything once, and has missed nothing.
"""

from __future__ import annotations

import asyncio

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from quarterdeck.kernel.ids import TenantId
from quarterdeck.log.doorbell import News
from quarterdeck.log.log import Log
from quarterdeck.server.sse import BEAT_S, DRAINING, HEADERS, LATER, RETRY, OpenStreams, left

MOST_NAMES = 200
PAUSE_S = 0.1  # a burst of changes is one hint


class NewsStream(Response):
    """`event: news` with the names of the streams that have gone on; too many of them are told as all."""

    def __init__(self, log: Log, streams: OpenStreams, tenant: TenantId | None) -> None:
        """Of one tenant, or of all."""
        self._log, self._open, self._tenant = log, streams, tenant
        self._names: set[str] = set()
        self._rung = asyncio.Event()
        self.status_code, self.background = 200, None

    def nudge(self) -> None:
        self._rung.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (later := scope.get(LATER)) is None:
            await self.carry_out(receive, send)
        else:
            later.append(self)

    async def carry_out(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": RETRY + b"event: hello\ndata: {}\n\n", "more_body": True})
        leave, close = self._log.listen(self._heard), self._open.add(self)
        try:
            await self._tell(receive, send)
        finally:
            close()
            leave()

    def _heard(self, news: News) -> None:
        for name, _ in news:
            if (self._tenant is None or name.tenant == self._tenant) and len(self._names) <= MOST_NAMES:
                self._names.add(str(name))
        if self._names:
            self._rung.set()

    async def _tell(self, receive: Receive, send: Send) -> None:
        while True:
            body = await self._next()
            if self._open.draining:
                await send({"type": "http.response.body", "body": DRAINING, "more_body": False})
                return
            if not body and await left(receive):
                return
            await send({"type": "http.response.body", "body": body or b"event: hb\ndata: {}\n\n", "more_body": True})

    async def _next(self) -> bytes:
        try:
            async with asyncio.timeout(BEAT_S):
                await self._rung.wait()
        except TimeoutError:
            return b""
        if not self._open.draining:
            await asyncio.sleep(PAUSE_S)
        self._rung.clear()
        names, self._names = self._names, set()
        told = {"all": True} if len(names) > MOST_NAMES else {"streams": sorted(names)}
        return b"event: news\ndata: %b\n\n" % orjson.dumps(told)
