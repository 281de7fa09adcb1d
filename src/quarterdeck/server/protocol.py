"""One HTTP connection, with limits the server library does not set: slow heads, huge heads, stalled readers."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_S = 10.0
HEADER_BYTES = 32 * 1024
HEADER_COUNT = 100
STALL_S = 20.0

_REFUSAL = (
    b"HTTP/1.1 %d %b\r\ncontent-type: application/problem+json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
)


class Connection(HttpToolsProtocol):
    """A request's head must arrive soon and be of sane size; a reader that takes nothing is cut and may resume."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        self._head_bytes = self._head_lines = self._stuck_at = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_done()
        self._unstick()
        super().connection_lost(exc)

    # Heads

    def on_message_begin(self) -> None:
        self._head_bytes = self._head_lines = 0
        self._await_head()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._weigh(len(url), 0)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._weigh(len(name) + len(value), 1)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._head_done()
        if not self.transport.is_closing():
            super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._head_timer is not None:
            # A single endless line never reaches the callbacks above, so what is still unparsed is counted too.
            self._head_bytes += 0 if self._head_lines else len(data)
            if self._head_bytes > HEADER_BYTES:
                self._refuse(431, b"Request Header Fields Too Large", b"head_too_large")
                return
        super().data_received(data)

    def _weigh(self, size: int, lines: int) -> None:
        self._head_bytes += size
        self._head_lines += lines
        if self._head_bytes > HEADER_BYTES or self._head_lines > HEADER_COUNT:
            self._refuse(431, b"Request Header Fields Too Large", b"head_too_large")

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEADER_S, self._too_slow)

    def _head_done(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _too_slow(self) -> None:
        self._head_timer = None
        self._refuse(408, b"Request Timeout", b"slow_head")

    def _refuse(self, status: int, phrase: bytes, code: bytes) -> None:
        if self.transport.is_closing():
            return
        body = b'{"code": "%b", "status": %d, "title": "%b"}' % (code, status, phrase)
        self.transport.write(_REFUSAL % (status, phrase, len(body), body))
        self.transport.close()

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
