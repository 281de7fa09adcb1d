"""The outgoing side of one client: frames that are bytes already, and whether it takes more."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

import orjson
from starlette.types import Scope as AsgiScope
from starlette.types import Send

from quarterdeck.server.websocket.connection import HIGH_WATER, WIRE, WebSocket
from quarterdeck.server.websocket.frames import payloads, text

# Whether coming back is of any use, by the code a connection is closed with.
PASSING = frozenset({1011, 1012, 4408, 4429, 4503})


class Wire(Protocol):
    """A socket as the hub knows it."""

    @property
    def writable(self) -> bool: ...

    @property
    def heard_at(self) -> float:
        """When anything last came from it, by the loop's clock."""

    @property
    def held(self) -> bool: ...

    def write(self, frames: bytes) -> None: ...

    def close(self, code: int, reason: bytes = b"") -> None: ...

    def ping(self) -> None: ...

    def widen(self, limit: int) -> None: ...

    def hold(self, *, on: bool) -> None: ...


class Line:
    """What the hub says to one client. `open` ends when either side parts."""

    __slots__ = ("_waiters", "open", "wire")

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.open = True
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def writable(self) -> bool:
        return self.wire.writable

    def write(self, frames: bytes) -> None:
        self.wire.write(frames)

    def tell(self, kind: str, data: Mapping[str, Any], ref: object = None) -> None:
        told = {"type": kind, "data": data} if ref is None else {"type": kind, "ref": ref, "data": data}
        self.write(text(orjson.dumps(told)))

    def part(self, code: int, why: str, **more: object) -> None:
        """Say why in the close frame, and whether coming back is of any use."""
        reason = {"code": why, "fatal": code not in PASSING, **more}
        self.wire.close(code, orjson.dumps(reason))

    async def drained(self) -> None:
        """Wait until it takes more, or is gone."""
        while self.open and not self.wire.writable:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def gone(self) -> None:
        self.open = False
        self.wake()


class AsgiWire:
    """A wire over plain ASGI, for servers that are not ours and for in-process clients."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._frames: list[bytes] = []
        self._size = 0
        self._closing: tuple[int, bytes] | None = None
        self._task: asyncio.Task[None] | None = None
        self.writable, self.held = True, False
        self.drained: Line | None = None

    @property
    def heard_at(self) -> float:
        """Whoever serves it looks after dead connections."""
        return self._loop.time()

    def write(self, frames: bytes) -> None:
        self._frames.append(frames)
        self._size += len(frames)
        self.writable = self._size < HIGH_WATER
        self._start()

    def close(self, code: int, reason: bytes = b"") -> None:
        self._closing = self._closing or (code, reason)
        self._start()

    def ping(self) -> None:
        """As above."""

    def widen(self, limit: int) -> None:
        """As above."""

    def hold(self, *, on: bool) -> None:
        self.held = on

    def _start(self) -> None:
        if self._task is None:
            self._task = self._loop.create_task(self._pass_on())

    async def _pass_on(self) -> None:
        while self._frames:
            frames, self._frames, self._size = self._frames, [], 0
            for payload in payloads(b"".join(frames)):
                await self._send({"type": "websocket.send", "text": payload.decode()})
            self.writable = True
            if self.drained is not None:
                self.drained.wake()
        if self._closing is not None:
            code, reason = self._closing
            await self._send({"type": "websocket.close", "code": code, "reason": reason.decode()})
            return
        self._task = None


def line_of(scope: AsgiScope, send: Send) -> Line:
    """The socket itself where it is ours, else one over ASGI."""
    socket = scope.get("extensions", {}).get(WIRE)
    if isinstance(socket, WebSocket):
        line = Line(socket)
        socket.drained = line.wake
        return line
    wire = AsgiWire(send)
    line = wire.drained = Line(wire)
    return line
