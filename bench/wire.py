"""HTTP as the load generator speaks it: bytes are stamped and kept while the clock runs, and decoded afterwards."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any, cast

import httptools
import orjson

now = time.monotonic
HOST = "127.0.0.1"
Part = tuple[float, bytes]


def request(method: str, path: str, body: object = None) -> bytes:
    """A whole request, encoded before the clock starts."""
    data = b"" if body is None else orjson.dumps(body)
    lines = [f"{method} {path} HTTP/1.1", f"host: {HOST}", f"content-length: {len(data)}"]
    if data:
        lines.append("content-type: application/json")
    return "\r\n".join([*lines, "", ""]).encode() + data


def ask(port: int, path: str, timeout: float = 20.0) -> tuple[int, Any]:
    """One small blocking GET, for control and health, between measurements; an empty answer is None."""
    connection = HTTPConnection(HOST, port, timeout=timeout)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        data = response.read()
        return response.status, orjson.loads(data) if data[:1] in (b"{", b"[") else None
    finally:
        connection.close()


@dataclass(slots=True)
class Answer:
    """One response as it came in; `whole` when it ended as HTTP says, and in time."""

    sent: float
    parts: list[Part]
    whole: bool


class Call(asyncio.Protocol):
    """One kept-alive connection. Its parser has no callback for bodies, so a token costs no Python beyond the stamp."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.parts: list[Part] = []
        self.done: asyncio.Future[bool] | None = None

    async def exchange(self, port: int, raw: bytes, timeout: float) -> Answer:
        loop = asyncio.get_running_loop()
        self.parts, self.done, sent = [], loop.create_future(), now()
        self.parser = httptools.HttpResponseParser(self)
        whole = False
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(timeout):
                if self.transport is None:
                    await loop.create_connection(lambda: self, HOST, port)
                sent = now()
                cast("asyncio.Transport", self.transport).write(raw)
                whole = await self.done
        if not whole:
            self.close()
        return Answer(sent, self.parts, whole)

    def close(self) -> None:
        if self.transport:
            self.transport.abort()
        self.transport = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.transport = None
        self._finish(whole=False)

    def data_received(self, data: bytes) -> None:
        self.parts.append((now(), data))
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self._finish(whole=False)

    def on_message_complete(self) -> None:
        self._finish(whole=True)

    def _finish(self, *, whole: bool) -> None:
        if self.done and not self.done.done():
            self.done.set_result(whole)


@dataclass(frozen=True, slots=True)
class Event:
    """A server-sent event and when its last byte arrived."""

    at: float
    name: bytes
    data: bytes


class Reading:
    """Decodes an answer part by part, so that every event bears the stamp of the part that completed it."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.left, self.status = answer, b"", 0
        self.blocks: list[Part] = []
        self.at = answer.sent

    def on_body(self, body: bytes) -> None:
        *whole, self.left = (self.left + body).split(b"\n\n")
        self.blocks += [(self.at, block) for block in whole]

    def events(self) -> Iterator[Event]:
        parser = httptools.HttpResponseParser(self)
        for at, data in self.answer.parts:
            self.at = at
            with suppress(httptools.HttpParserError):
                parser.feed_data(data)
        self.status = parser.get_status_code() if self.answer.parts else 0
        for at, block in self.blocks:
            fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line)
            if b"data" in fields:
                yield Event(at, fields.get(b"event", b""), fields[b"data"])
