"""A server of the stream contract that misbehaves as told: one act for each connection, over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

EPOCH = "0a1b2c3d"
TASK = "run-1"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
END = b"event: end\ndata: {}\n\n"


def frame(seq: int, event: str = "content_delta", data: str | None = None, epoch: str = EPOCH) -> bytes:
    told = data or f'{{"task_id": "{TASK}", "delta": "<{seq}>"}}'
    return f"id: v1.{epoch}.{seq}\nevent: {event}\ndata: {told}\n\n".encode()


def frames(first: int, last: int) -> bytes:
    return b"".join(map(frame, range(first, last + 1)))


def beat(head: int) -> bytes:
    return b'event: hb\ndata: {"head": %d}\n\n' % head


def refusal(status: int, code: str, *headers: str) -> bytes:
    body = b'{"code": "%b", "detail": "No: %b.", "status": %d}' % (code.encode(), code.encode(), status)
    more = "".join(f"{header}\r\n" for header in headers).encode()
    return b"HTTP/1.1 %d No\r\ncontent-type: application/problem+json\r\n%bcontent-length: %d\r\n\r\n%b" % (
        status,
        more,
        len(body),
        body,
    )


@dataclass
class Stage:
    """What each connection is answered; `hang` keeps it open behind that. `requests` is what came."""

    acts: Sequence[bytes]
    hang: frozenset[int] = frozenset()
    url: str = ""
    requests: list[str] = field(default_factory=list)

    def cursors(self) -> list[str | None]:
        found = []
        for request in self.requests:
            lines = [line for line in request.splitlines() if line.lower().startswith("last-event-id:")]
            found.append(lines[0].split(": ")[1] if lines else None)
        return found

    def keys(self) -> set[str]:
        lines = [line for request in self.requests for line in request.splitlines()]
        return {line for line in lines if line.lower().startswith("idempotency-key")}


@asynccontextmanager
async def staged(*acts: bytes, hang: Sequence[int] = ()) -> AsyncIterator[Stage]:
    stage = Stage(acts, frozenset(hang))
    open_ones: list[asyncio.StreamWriter] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ones.append(writer)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next((int(x.split(":")[1]) for x in head.lower().splitlines() if x.startswith("content-length")), 0)
        body = (await reader.readexactly(length)).decode()
        number = len(stage.requests)
        stage.requests.append(head + body)
        writer.write(stage.acts[min(number, len(stage.acts) - 1)])
        await writer.drain()
        if number in stage.hang:
            await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    stage.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield stage
    finally:
        server.close()
        for writer in open_ones:
            writer.close()
