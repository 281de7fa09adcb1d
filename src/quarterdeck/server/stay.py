"""How long an answer may go on: for as long as what its reader is known by is good."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message, Send
from starlette.types import Scope as AsgiScope

from quarterdeck.kernel.errors import NotKnown
from quarterdeck.kernel.scope import Scope
from quarterdeck.server import problems
from quarterdeck.server.access import Access

EVENT_STREAM = b"text/event-stream"
# To a reader of events whose token ended: coming back is of no use without another.
GONE = b'event: signed_out\ndata: {"code": 4401}\n\n'


async def lasting(
    access: Access, scope: Scope, carry: Callable[[Send], Awaitable[None]], asgi: AsgiScope, send: Send
) -> None:
    """Carry an answer out until it is whole or the token ends: then one that has not begun is refused, and a stream of
    events ends between two of them. An answer of any other kind is short, and goes on to its end."""
    if scope.shown is None or asgi["type"] != "http":
        await carry(send)
        return
    limit = asyncio.timeout(None)
    stay = _Stay(send, limit)
    leave = access.until(scope, stay.end)
    try:
        async with limit:
            await carry(stay.send)
    except TimeoutError:
        if not limit.expired():
            raise
        await stay.say_goodbye(asgi)
    finally:
        leave()


class _Stay:
    """Sees how far an answer has come."""

    def __init__(self, send: Send, limit: asyncio.Timeout) -> None:
        self._send, self._limit = send, limit
        self._ended = self._started = self._streams = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            self._streams = any(
                name == b"content-type" and value.startswith(EVENT_STREAM) for name, value in message["headers"]
            )
            self._cut()
        await self._send(message)

    def end(self) -> None:
        self._ended = True
        self._cut()

    def _cut(self) -> None:
        if self._ended and (self._streams or not self._started):
            self._limit.reschedule(0)

    async def say_goodbye(self, asgi: AsgiScope) -> None:
        if self._started:
            await self._send({"type": "http.response.body", "body": GONE, "more_body": False})
        else:
            ended = NotKnown("Your token has ended meanwhile; sign in again.", code="token_ended")
            await problems.of(ended)(asgi, _nothing_more, self._send)


async def _nothing_more() -> Message:
    return {"type": "http.disconnect"}
