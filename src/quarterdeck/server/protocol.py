"""One HTTP connection, with limits the server library does not set: slow heads, huge heads, bodies nobody reads,
requests sent before the last one was answered, stalled readers."""

from __future__ import annotations

import asyncio
from collections import deque
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import unquote

import httptools
import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from quarterdeck.server.websocket.connection import WIRE, Handshake, WebSocket, accept_key

HEADER_S = 10.0
HEADER_BYTES = 32 * 1024
HEADER_COUNT = 100
STALL_S = 20.0
LINGER_S = 1.0
LINGER_BYTES = 1024 * 1024
SOCKETS = frozenset({b"/ws"})

_REFUSAL = (
    b"HTTP/1.1 %d %b\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
)
HEAD_TOO_LARGE = f"The request's head is larger than {HEADER_BYTES:,} bytes or {HEADER_COUNT} lines."


class Signal(asyncio.Event):
    """An event that makes room for those who wait only while somebody does: each connection has two of them, and the
    empty room in one is most of a kilobyte."""

    def __init__(self, *, on: bool = False) -> None:
        self._waiters: Any = ()
        self._value = on

    async def wait(self) -> Literal[True]:
        if not self._value and not self._waiters:
            self._waiters = deque()
        try:
            return await super().wait()
        finally:
            self._waiters = self._waiters or ()


class Connection(HttpToolsProtocol):
    """A request's head must arrive soon and be of sane size; a reader that takes nothing is cut and may resume.

    A connection that is `deaf` has said, or is saying, its last words: what still comes in is thrown away.
    """

    # With slots for what is ours, what is the library's is few enough to share its names among all connections.
    __slots__ = (
        "_deaf",
        "_head_bytes",
        "_head_lines",
        "_head_timer",
        "_in_body",
        "_keep",
        "_linger_timer",
        "_stall_timer",
        "_stuck_at",
        "_unheard",
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None
        self._head_bytes = self._head_lines = self._unheard = self._stuck_at = 0
        self._deaf = self._in_body = False
        self._keep = True

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.flow._is_writable_event = Signal(on=True)  # noqa: SLF001 - the library has no other way to say it
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._deaf = True
        self._head_done()
        self._unstick()
        if self._linger_timer is not None:
            self._linger_timer.cancel()
        super().connection_lost(exc)

    # Requests

    def data_received(self, data: bytes) -> None:
        self._unheard += len(data)
        if self._deaf:
            if self._unheard > LINGER_BYTES:
                self.flow.pause_reading()
            return
        super().data_received(data)
        # A single endless line, wherever it stands, is kept by the parser and never reaches the callbacks below.
        if self._unheard > HEADER_BYTES and not self._deaf:
            self._refuse(431, "head_too_large", HEAD_TOO_LARGE)

    def on_message_begin(self) -> None:
        if self._deaf:
            return
        if self.cycle is not None and not self.cycle.response_complete:
            # Sent before the last one was answered: not taken, and the connection ends with the answer under way.
            self.cycle.keep_alive = False
            self._deaf = True
            return
        self._head_bytes = self._head_lines = self._unheard = 0
        self._in_body = False
        self._await_head()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._deaf and self._weigh(len(url), 0):
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Trailers, which come after the body, are weighed like headers and forgotten: nobody checked them."""
        if not self._deaf and self._weigh(len(name) + len(value), 1) and not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._unheard = 0
        if self._deaf:
            return
        self._head_done()
        self._in_body = True
        if not self.url.startswith(b"/"):
            self._refuse(400, "bad_target", "Ask for a path on this server, such as /v1/tasks.")
            return
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.message_event = Signal()
            # Until the body is there the end of the connection is ours to say: see `on_response_complete`.
            self._keep, self.cycle.keep_alive = self.cycle.keep_alive, True

    def on_body(self, body: bytes) -> None:
        self._unheard = 0
        if not self._deaf:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._unheard = 0
        if self._deaf or self.cycle is None:
            return
        self.cycle.keep_alive = self.cycle.keep_alive and self._keep
        super().on_message_complete()
        self.cycle.more_body = False
        if self.parser.should_upgrade() and not self._should_upgrade():
            self.cycle.keep_alive = False
            self._deaf = True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.more_body and not self.transport.is_closing():
            self._part()

    def shutdown(self) -> None:
        """Over TLS a connection that rests is cut: to close it politely is to wait for a browser that has nothing to
        say, longer than a shutdown has time."""
        if self.scheme == "https" and (self.cycle is None or self.cycle.response_complete):
            self.transport.abort()
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "bad_request", msg)

    def _weigh(self, size: int, lines: int) -> bool:
        self._unheard = 0
        self._head_bytes += size
        self._head_lines += lines
        if self._head_bytes > HEADER_BYTES or self._head_lines > HEADER_COUNT:
            self._refuse(431, "head_too_large", HEAD_TOO_LARGE)
            return False
        return True

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEADER_S, self._too_slow)

    def _head_done(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_slow(self) -> None:
        self._head_timer = None
        self._refuse(408, "slow_head", f"The request's head did not arrive within {HEADER_S:.0f} seconds.")

    # Parting

    def _should_upgrade(self) -> bool:
        """Where nobody listens for a WebSocket, the wish for one is a wish, and the answer a plain one."""
        return self.url.partition(b"?")[0] in SOCKETS and super()._should_upgrade()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over. Nothing of HTTP is left of it, nor of this object."""
        if self._deaf:
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._refuse(400, "bad_request", "Ask for a WebSocket on a connection of its own.")
            return
        try:
            accept = accept_key(self.scope["method"], self.scope["http_version"], self.headers)
        except Handshake as refused:
            self._refuse(refused.status, "bad_handshake", refused.detail)
            return
        self._head_done()
        self.connections.discard(self)
        socket = WebSocket(self.transport, self._socket_scope(), accept, self.connections.discard)
        socket.scope["extensions"][WIRE] = socket
        self.connections.add(socket)  # type: ignore[arg-type]
        self.transport.set_protocol(socket)
        task = self.loop.create_task(socket.run(self.app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def _socket_scope(self) -> dict[str, Any]:
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        return {
            **self.scope,
            "type": "websocket",
            "asgi": {"version": self.asgi_version, "spec_version": "2.4"},
            "scheme": "wss" if self.scheme == "https" else "ws",
            "path": self.root_path + (unquote(path) if "%" in path else path),
            "raw_path": self.root_path.encode("ascii") + url.path,
            "query_string": url.query or b"",
            "subprotocols": [],
            "extensions": {"websocket.http.response": {}},
        }

    def _refuse(self, status: int, code: str, detail: str) -> None:
        """Answer in the place of the application, and end the connection; never within an answer under way."""
        if self._deaf or self.transport.is_closing():
            return
        self._deaf = True
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if not cycle.more_body:
                cycle.keep_alive = False
                return
            cycle.disconnected = True
            cycle.message_event.set()
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(_refusal(status, code, detail))
        self._part()

    def _part(self) -> None:
        """Close, but not at once: a socket that is closed over unread bytes takes the answer down with it."""
        self._deaf, self._unheard = True, 0
        self._head_done()
        self._unset_keepalive_if_required()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._linger_timer = self.loop.call_later(LINGER_S, self.transport.abort)

    # Readers

    def pause_writing(self) -> None:
        self.flow.pause_writing()
        self._stuck_at = self.transport.get_write_buffer_size()
        if self._stall_timer is None:
            self._stall_timer = self.loop.call_later(STALL_S, self._check_stall)

    def resume_writing(self) -> None:
        self._unstick()
        self.flow.resume_writing()

    def _unstick(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    def _check_stall(self) -> None:
        """Cut a reader that took nothing for all that time; one that took a little is given as long again."""
        self._stall_timer = None
        if self.transport.is_closing():
            self.transport.abort()
            return
        left = self.transport.get_write_buffer_size()
        if left >= self._stuck_at:
            self.transport.abort()
            return
        self._stuck_at = left
        self._stall_timer = self.loop.call_later(STALL_S, self._check_stall)


def _refusal(status: int, code: str, detail: str) -> bytes:
    phrase = HTTPStatus(status).phrase
    body = {"type": f"urn:quarterdeck:problem:{code}", "title": code.replace("_", " "), "status": status}
    told = orjson.dumps({**body, "code": code, "detail": detail})
    return _REFUSAL % (status, phrase.encode(), len(told), told)
