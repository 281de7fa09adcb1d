"""A client that knows HTTP and server-sent events and nothing of the product: bytes in, bytes out, all of them kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from door_serving import BOUND_S, Serving

ID = re.compile(r"v1\.([0-9a-f]{8})\.(0|[1-9][0-9]{0,15})")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The stable code of a problem, which this must be."""
        assert self.headers["content-type"] == "application/problem+json", self
        told = self.document
        assert told["status"] == self.status
        assert isinstance(told["detail"], str)
        assert all((told["detail"], told["type"], told["title"])), told
        return str(told["code"])


@dataclass(frozen=True)
class Frame:
    """One event as it came. `seq` is None for those without a place of their own."""

    raw: bytes
    event: str
    id: str | None
    data: Any

    @property
    def seq(self) -> int | None:
        found = ID.fullmatch(self.id) if self.id is not None else None
        assert (found is None) == (self.id is None), self.id
        return int(found[2]) if found else None


RETRY = b"retry: 1000"  # how soon to come back; said once, before the first event


def frame_of(raw: bytes) -> Frame:
    fields: dict[str, str] = {}
    for line in raw.decode("utf-8").strip("\n").split("\n"):
        name, _, value = line.partition(": ")
        assert name in {"id", "event", "data"}, line
        assert name not in fields, line
        fields[name] = value
    return Frame(raw, fields["event"], fields.get("id"), json.loads(fields["data"]))


OPEN: list[Connection] = []


async def close_all() -> None:
    """Whatever a test left open, however it ended."""
    opened, OPEN[:] = list(OPEN), []
    for connection in opened:
        connection.close()
    for connection in opened:
        with contextlib.suppress(OSError):
            await connection.writer.wait_closed()


@dataclass
class Connection:
    """One TCP connection to a server."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    rest: bytes = b""

    @classmethod
    async def open(cls, port: int) -> Connection:
        async with asyncio.timeout(BOUND_S):
            opened = cls(*await asyncio.open_connection("127.0.0.1", port, limit=8 * 1024 * 1024))
        OPEN.append(opened)
        return opened

    @property
    def port(self) -> int:
        """Ours, by which the server knows us."""
        return int(self.writer.get_extra_info("sockname")[1])

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def head(self) -> tuple[int, dict[str, str]]:
        async with asyncio.timeout(BOUND_S):
            lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        assert lines[0].startswith("HTTP/1.1 "), lines[0]
        headers: dict[str, str] = {}
        for line in lines[1:-2]:
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        return int(lines[0].split(" ")[1]), headers

    async def answer(self, *, head_only: bool = False) -> Answer:
        status, headers = await self.head()
        while status == 100:
            status, headers = await self.head()
        async with asyncio.timeout(BOUND_S):
            if head_only or status in {204, 304}:
                body = b""
            elif "content-length" in headers:
                body = await self.reader.readexactly(int(headers["content-length"]))
            else:
                body = b"".join([chunk async for chunk in self._chunks()])
        return Answer(status, headers, body)

    async def _chunks(self) -> Any:
        while size := int((await self.reader.readuntil(b"\r\n")).strip(), 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readexactly(2)

    async def remainder(self) -> bytes:
        """All that still comes until the server hangs up, be it politely or not."""
        said = b""
        async with asyncio.timeout(BOUND_S):
            try:
                while piece := await self.reader.read(65536):
                    said += piece
            except ConnectionError:
                pass
        return said

    def close(self) -> None:
        self.writer.transport.abort()


def request(
    method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None, *, host: str = "127.0.0.1"
) -> bytes:
    """A well-formed request. A body that is not bytes is sent as JSON."""
    lines = {"Host": host, **(headers or {})}
    payload = b""
    if body is not None:
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = {"Content-Type": "application/json", "Content-Length": str(len(payload)), **lines}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + payload


async def ask(
    server: Serving, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
) -> Answer:
    return await ask_raw(server, request(method, path, body, headers, host=server.host), head_only=method == "HEAD")


async def ask_raw(server: Serving, data: bytes, *, head_only: bool = False) -> Answer:
    connection = await Connection.open(server.port)
    try:
        connection.send(data)
        return await connection.answer(head_only=head_only)
    finally:
        connection.close()


@dataclass
class Watch:
    """A stream of events as it comes. `frames` are all so far; `raw` is every byte of them."""

    connection: Connection
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    raw: bytearray = field(default_factory=bytearray)
    _rest: bytes = b""
    _waiting: list[Frame] = field(default_factory=list)
    over: bool = False
    """The server said that this answer is whole."""

    @classmethod
    async def open(
        cls,
        server: Serving | int,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Watch:
        port = server if isinstance(server, int) else server.port
        connection = await Connection.open(port)
        host = "127.0.0.1" if isinstance(server, int) else server.host
        connection.send(request(method, path, body, headers, host=host))
        watch = cls(connection)
        watch.status, watch.headers = await connection.head()
        return watch

    async def next(self) -> Frame | None:
        """The next frame; None at the end of the answer. A cut raises what the socket raised."""
        async with asyncio.timeout(BOUND_S):
            while not self._waiting and not self.over:
                await self._read()
        if not self._waiting:
            return None
        frame = self._waiting.pop(0)
        self.frames.append(frame)
        return frame

    async def _read(self) -> None:
        reader = self.connection.reader
        size = int((await reader.readuntil(b"\r\n")).strip(), 16)
        data = (await reader.readexactly(size + 2))[:-2]
        self.over = not size
        self.raw += data
        *whole, self._rest = (self._rest + data).split(b"\n\n")
        self._waiting += [frame_of(raw + b"\n\n") for raw in whole if raw.strip() and raw != RETRY]

    async def until(self, event: str) -> Frame:
        """Read on until an event of this name has come; heartbeats alone are no reason to wait on, here and below."""
        async with asyncio.timeout(BOUND_S):
            while (frame := await self.next()) is not None:
                if frame.event == event:
                    return frame
        raise AssertionError(f"it ended without {event!r}: {[frame.event for frame in self.frames]}")

    async def until_seq(self, seq: int) -> Frame:
        async with asyncio.timeout(BOUND_S):
            while (frame := await self.next()) is not None:
                if frame.seq is not None and frame.seq >= seq:
                    return frame
        raise AssertionError(f"it ended before {seq}")

    async def rest(self) -> list[Frame]:
        """Everything to the end of the answer, which must come."""
        async with asyncio.timeout(BOUND_S):
            while await self.next() is not None:
                pass
        assert not self._rest, "a frame was cut in two"
        return self.frames

    @property
    def told(self) -> list[bytes]:
        """The frames' bytes, heartbeats left out: they come when nothing else does, and so for each reader anew."""
        return [frame.raw for frame in self.frames if frame.event != "hb"]

    @property
    def task(self) -> str:
        return str(self.frames[0].data["task_id"])

    @property
    def seqs(self) -> list[int]:
        return [frame.seq for frame in self.frames if frame.seq is not None]

    def close(self) -> None:
        self.connection.close()


async def chat(server: Serving, message: str, headers: Mapping[str, str] | None = None, **more: object) -> Watch:
    """In the loop that asks the model once, so that a turn of the script is what is seen, unless told otherwise."""
    body = {"message": message, "loop": "native", **more}
    watch = await Watch.open(server, "POST", "/v1/chat/stream", body, headers)
    assert watch.status == 200, await watch.connection.remainder()
    return watch


async def finished(server: Serving, message: str, **more: object) -> Watch:
    """A run that was watched to its end."""
    watch = await chat(server, message, **more)
    await watch.rest()
    watch.close()
    return watch


async def attach(server: Serving | int, task: str, query: str = "", headers: Mapping[str, str] | None = None) -> Watch:
    return await Watch.open(server, "GET", f"/v1/tasks/{task}/stream{query}", None, headers)


async def replay(server: Serving, task: str, query: str = "", headers: Mapping[str, str] | None = None) -> Watch:
    """Attach to a run and read to the end."""
    watch = await attach(server, task, query, headers)
    assert watch.status == 200, watch.status
    await watch.rest()
    watch.close()
    return watch


async def let_go(server: Serving, *connections: Connection) -> None:
    """Wait until the server holds none of these any more."""
    ports = {connection.port for connection in connections}
    async with asyncio.timeout(BOUND_S):
        while server.clients() & ports:
            await ask(server, "GET", "/healthz")


async def stop(server: Serving, task: str) -> Answer:
    return await ask(server, "POST", f"/v1/tasks/{task}/stop")
