"""One WebSocket: the handshake, limits on what comes in, and bytes that go out as they are.

An application speaks ASGI with it. What writes many frames at once finds the socket itself in the scope, under `WIRE`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import logging
from collections import deque
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

import orjson
from starlette.types import ASGIApp

from quarterdeck.server.websocket.frames import PING, PONG, Broken, FrameParser, closing, framed, text

WIRE = "quarterdeck.wire"
FIRST_BYTES = 8 * 1024  # of a message of somebody who has not said who it is
HIGH_WATER = 64 * 1024
STALL_S = 20.0
LINGER_S = 1.0
MOST_WAITING = 32
MOST_CONTROL_PER_S = 30
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

logger = logging.getLogger("quarterdeck.server")


class Handshake(Exception):
    """The request asks for a WebSocket in a way that we do not take."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


def accept_key(method: str, http_version: str, headers: list[tuple[bytes, bytes]]) -> bytes:
    """The answer to the client's key, or `Handshake`."""
    if method != "GET" or http_version != "1.1":
        raise Handshake(400, "A WebSocket begins with a GET of HTTP/1.1.")
    if [value for name, value in headers if name == b"sec-websocket-version"] != [b"13"]:
        raise Handshake(426, "Send `Sec-WebSocket-Version: 13`.")
    keys = [value for name, value in headers if name == b"sec-websocket-key"]
    try:
        fine = len(keys) == 1 and len(base64.b64decode(keys[0], validate=True)) == 16
    except binascii.Error:
        fine = False
    if not fine:
        raise Handshake(400, "Send one `Sec-WebSocket-Key` of 16 bytes in base64.")
    return base64.b64encode(hashlib.sha1(keys[0] + _GUID, usedforsecurity=False).digest())


class WebSocket(asyncio.Protocol):
    """Takes a connection over from HTTP. `scope` is the application's; `gone` is told when it is over."""

    __slots__ = (
        "_accept",
        "_closed",
        "_control",
        "_control_since",
        "_loop",
        "_parser",
        "_paused_reading",
        "_pinged_at",
        "_response",
        "_stall_timer",
        "_stuck_at",
        "_transport",
        "_waiter",
        "_waiting",
        "drained",
        "gone",
        "heard_at",
        "held",
        "scope",
        "writable",
    )

    def __init__(self, transport: Any, scope: dict[str, Any], accept: bytes, gone: Callable[[WebSocket], None]) -> None:
        self._transport, self.scope, self._accept, self.gone = transport, scope, accept, gone
        self._loop = asyncio.get_running_loop()
        self._parser = FrameParser(FIRST_BYTES)
        self._waiting: deque[dict[str, Any]] = deque(({"type": "websocket.connect"},))
        self._waiter: asyncio.Future[None] | None = None
        self._closed: int | None = None
        self._response: int | None = None
        self._paused_reading = self.held = False
        self._control, self._control_since = 0, 0.0
        self._stall_timer: asyncio.TimerHandle | None = None
        self._stuck_at = 0
        self.writable = True
        self.drained: Callable[[], None] | None = None
        self.heard_at = self._loop.time()
        self._pinged_at = 0.0
        transport.set_write_buffer_limits(high=HIGH_WATER)

    async def run(self, app: ASGIApp) -> None:
        """Carry the application out; whatever becomes of it, the socket is closed in the end."""
        try:
            await app(self.scope, self._receive, self._send)  # type: ignore[arg-type]
        except Exception:
            logger.exception("a WebSocket at %s failed", self.scope["path"][:200])
            self._fail()
        else:
            self.close(1000) if self._accepted else self._answer(403, [], b"", more=False)

    @property
    def _accepted(self) -> bool:
        return not self._accept

    # For those who write many frames at once

    def write(self, frames: bytes) -> None:
        """Whole frames. Ask `writable` before: what does not go out is kept by the transport."""
        if self._closed is None and self._accepted:
            self._transport.write(frames)

    def close(self, code: int, reason: bytes = b"") -> None:
        """Say why, and part; only the first reason counts."""
        if self._closed is not None or self._transport.is_closing():
            return
        self._closed = code
        self._transport.write(closing(code, reason))
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._deliver({"type": "websocket.disconnect", "code": code})
        self._let_go()
        self._loop.call_later(LINGER_S, self._transport.abort)

    def _let_go(self) -> None:
        """Nobody waits any more for room that will not come."""
        self.writable = True
        if self.drained is not None:
            self.drained()

    def ping(self) -> None:
        """Ask whether it is there: once, until it is heard of again."""
        if self._pinged_at < self.heard_at:
            self._pinged_at = self._loop.time()
            self.write(framed(PING, b""))

    def widen(self, limit: int) -> None:
        """Let messages be this large from now on."""
        self._parser.limit = limit

    def hold(self, *, on: bool) -> None:
        """Read nothing more for now: whoever sends too fast waits, and loses nothing."""
        self.held = on
        self._weigh_reading()

    # What comes in

    def data_received(self, data: bytes) -> None:
        if self._closed is not None:
            return
        self.heard_at = self._loop.time()
        try:
            for incoming in self._parser.feed(data):
                if incoming.kind == "text":
                    self._deliver({"type": "websocket.receive", "text": incoming.data.decode()})
                elif incoming.kind == "close":
                    self.close(1000 if incoming.code == 1005 else incoming.code)
                    return
                else:
                    self._answer_control(incoming.kind, incoming.data)
        except Broken as broken:
            self.close(broken.code, broken.why.encode())
        except UnicodeDecodeError:
            self.close(1007, b"A text message is UTF-8.")

    def _answer_control(self, kind: str, data: bytes) -> None:
        if self.heard_at - self._control_since > 1.0:
            self._control, self._control_since = 0, self.heard_at
        self._control += 1
        if self._control > MOST_CONTROL_PER_S:
            raise Broken(1008, f"At most {MOST_CONTROL_PER_S} control frames a second.")
        if kind == "ping" and self.writable:
            self.write(framed(PONG, data))

    def _deliver(self, message: dict[str, Any]) -> None:
        self._waiting.append(message)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        self._weigh_reading()

    def _weigh_reading(self) -> None:
        pause = self.held or len(self._waiting) >= MOST_WAITING
        if pause == self._paused_reading or self._transport.is_closing():
            return
        self._paused_reading = pause
        if pause:
            self._transport.pause_reading()
        else:
            self.heard_at = self._loop.time()
            self._transport.resume_reading()

    async def _receive(self) -> Mapping[str, Any]:
        while not self._waiting:
            self._waiter = self._loop.create_future()
            await self._waiter
        message = self._waiting.popleft()
        self._weigh_reading()
        return message

    # What the application sends

    async def _send(self, message: Mapping[str, Any]) -> None:
        match message["type"]:
            case "websocket.accept":
                self._open()
            case "websocket.send":
                self.write(text(message["text"].encode()))
            case "websocket.close":
                if self._accepted:
                    self.close(message.get("code", 1000), (message.get("reason") or "").encode())
                else:
                    self._answer(403, [], b"", more=False)
            case "websocket.http.response.start":
                self._response = message["status"]
                self._answer(message["status"], message["headers"], b"", more=True)
            case "websocket.http.response.body":
                self._answer(self._response or 500, [], message.get("body", b""), more=message.get("more_body", False))

    def _open(self) -> None:
        if self._closed is None and not self._accepted:
            head = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
            self._transport.write(b"%bsec-websocket-accept: %b\r\n\r\n" % (head, self._accept))
            self._accept = b""

    def _answer(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes, *, more: bool) -> None:
        """An answer of HTTP in the place of a WebSocket."""
        if self._closed is not None or self._transport.is_closing():
            return
        if self._response is None or headers:
            lines = b"".join(b"%b: %b\r\n" % line for line in (*headers, (b"connection", b"close")))
            head = b"HTTP/1.1 %d %b\r\n%b\r\n" % (status, HTTPStatus(status).phrase.encode(), lines)
            self._transport.write(head)
            self._response = status
        self._transport.write(body)
        if not more:
            self._closed = 1006
            self._transport.close()

    def _fail(self) -> None:
        if self._accepted:
            self.close(1011, b"Something went wrong here.")
        else:
            self._answer(500, [], b"", more=False)

    # The transport's word

    def pause_writing(self) -> None:
        self.writable = False
        self._stuck_at = self._transport.get_write_buffer_size()
        if self._stall_timer is None:
            self._stall_timer = self._loop.call_later(STALL_S, self._check_stall)

    def resume_writing(self) -> None:
        self.writable = True
        self._unstick()
        if self.drained is not None:
            self.drained()

    def _check_stall(self) -> None:
        """Cut a reader that took nothing for all that time; one that took a little is given as long again."""
        self._stall_timer = None
        left = self._transport.get_write_buffer_size()
        if left >= self._stuck_at:
            self.close(4408, orjson.dumps({"code": "too_slow", "fatal": False}))
            return
        self._stuck_at = left
        self._stall_timer = self._loop.call_later(STALL_S, self._check_stall)

    def _unstick(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    def abort(self) -> None:
        self._transport.abort()

    def shutdown(self) -> None:
        """The server goes."""
        self.close(1012, b"The server restarts.")

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the base class names it
        self._unstick()
        if self._closed is None:
            self._closed = 1006
            self._deliver({"type": "websocket.disconnect", "code": 1006})
            self._let_go()
        self.gone(self)
