"""A provider on a real socket that does as it is told: answers, stalls, breaks off, sends nonsense, and takes notes.

    async with Upstream(Answer(fault="rst", body=openai_unfinished(["Hel"])), Answer()) as upstream:
        model = OpenAIChat(model="m", base_url=upstream.base_url, http=http)

Each request takes the next answer; the last one is given again and again. An answer without a body tells `Told()` in
the dialect of the path that was asked. As a process: `python -m quarterdeck.testing.upstream --port 9000`, where the
name of the model may be one of `FAULTS` (`status-429`, `rst`, `hang`, …) and anything else answers well.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import socket
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Literal

from quarterdeck.testing.wire import DONE, Told, anthropic_stream, openai_stream, openai_unfinished

Fault = Literal["hang before headers", "hang", "comments", "rst", "fin"]
Framing = Literal["chunked", "close", "length"]


@dataclass(frozen=True, slots=True)
class Answer:
    """How one request is answered. `fault` strikes after `cut` bytes of the body (None: after all of it)."""

    body: bytes | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "text/event-stream"
    framing: Framing = "chunked"
    fault: Fault | None = None
    cut: int | None = None
    packet: int | None = None
    """Bytes per write; None sends all at once."""
    pace_s: float = 0.0
    """Between writes, and between comments."""
    zipped: bool = False


@dataclass(slots=True)
class Request:
    """What was asked, and what became of whoever asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client hung up during the answer."""

    @property
    def document(self) -> Any:
        return json.loads(self.body)


UNFINISHED = openai_unfinished(["Half", " an", " ans"])
FAULTS: dict[str, Answer] = {
    "status-400": Answer(b'{"error":{"message":"no such thing"}}', 400, kind="application/json"),
    "status-401": Answer(b'{"error":{"message":"bad key"}}', 401, kind="application/json"),
    "status-404": Answer(b'{"error":{"message":"no such model"}}', 404, kind="application/json"),
    "status-429": Answer(b'{"error":{"message":"slow down"}}', 429, {"retry-after": "7"}, "application/json"),
    "status-500": Answer(b"oh no", 500, kind="text/plain"),
    "status-529": Answer(b'{"error":{"type":"overloaded_error"}}', 529, kind="application/json"),
    "no-headers": Answer(fault="hang before headers"),
    "hang": Answer(UNFINISHED, fault="hang"),
    "comments": Answer(UNFINISHED, fault="comments", pace_s=1.0),
    "rst": Answer(UNFINISHED, fault="rst"),
    "fin": Answer(UNFINISHED, fault="fin"),
    "clean-eof": Answer(UNFINISHED),
    "done-unfinished": Answer(UNFINISHED + DONE),
    "malformed": Answer(UNFINISHED + b'data: {"choices": [\n\n'),
    "long-line": Answer(b"data: " + b"x" * (10 << 20)),
    "byte-by-byte": Answer(openai_stream(Told()), packet=1),
    "zipped": Answer(openai_stream(Told()), zipped=True),
}


class Upstream:
    """The provider. `requests` are its notes; `models` is what it lists."""

    def __init__(self, *answers: Answer, models: tuple[str, ...] = ("told",), port: int = 0) -> None:
        self._answers = iter(answers)
        self._answer = Answer()
        self._port = port
        self._server: asyncio.Server | None = None
        self._busy: set[asyncio.Task[None]] = set()
        self.models = models
        self.requests: list[Request] = []
        self.connections = 0

    async def __aenter__(self) -> Upstream:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._busy):
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        await self._server.wait_closed()
        await asyncio.sleep(0)  # the round of the loop in which aborted connections are let go

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    def then(self, *answers: Answer) -> None:
        """What the next requests are answered."""
        self._answers = iter(answers)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        self.connections += 1
        try:
            await self._serve(reader, writer, self.connections)
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # they hung up, or we are shutting down
        finally:
            self._busy.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        while True:
            request = await _read_request(reader, connection)
            if request.path.endswith("/models"):
                listed = [{"id": name, "object": "model"} for name in self.models]
                writer.write(_whole(json.dumps({"object": "list", "data": listed}).encode()))
                continue
            self.requests.append(request)
            answer = self._next(request)
            watch = asyncio.ensure_future(_hung_up(reader, writer, request))
            try:
                if not await _give(answer, writer, request):
                    return
            finally:
                watch.cancel()
                await asyncio.gather(watch, return_exceptions=True)

    def _next(self, request: Request) -> Answer:
        self._answer = next(self._answers, self._answer)
        answer = self._answer
        if answer == Answer():
            answer = FAULTS.get(_model_of(request), answer)
        if answer.body is None:
            body = anthropic_stream(Told()) if request.path.endswith("/messages") else openai_stream(Told())
            answer = replace(answer, body=body)
        return answer


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body, connection)


async def _hung_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Request) -> None:
    """A client says nothing during our answer: whatever comes, be it an end or an error, means that it is gone."""
    with suppress(OSError):
        await reader.read(1)
    request.gone.set()
    writer.transport.abort()


async def _give(answer: Answer, writer: asyncio.StreamWriter, request: Request) -> bool:
    """Give an answer, with its fault. True if the connection may be used again."""
    if answer.fault == "hang before headers":
        await request.gone.wait()
        return False
    body = answer.body or b""
    body = gzip.compress(body) if answer.zipped else body
    writer.write(_head(answer, len(body)))
    for packet in _packets(body[: answer.cut], answer):
        writer.write(_framed(packet, answer))
        await writer.drain()
        await asyncio.sleep(answer.pace_s)
    if answer.fault is not None:
        await _strike(answer, writer, request)
        return False
    if answer.cut is not None or answer.framing == "close":
        await _close(writer)
        return False
    if answer.framing == "chunked":
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return not request.gone.is_set()


async def _strike(answer: Answer, writer: asyncio.StreamWriter, request: Request) -> None:
    if answer.fault == "comments":
        while not request.gone.is_set():
            writer.write(_framed(b": still here\n\n", answer))
            await asyncio.sleep(answer.pace_s)
    elif answer.fault == "hang":
        await request.gone.wait()
    elif answer.fault == "fin":
        await _close(writer)
    else:
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()


async def _close(writer: asyncio.StreamWriter) -> None:
    await writer.drain()
    writer.close()
    await writer.wait_closed()


def _packets(body: bytes, answer: Answer) -> Iterator[bytes]:
    size = answer.packet or len(body) or 1
    return (body[start : start + size] for start in range(0, len(body), size))


def _framed(packet: bytes, answer: Answer) -> bytes:
    return b"%x\r\n%s\r\n" % (len(packet), packet) if answer.framing == "chunked" else packet


def _head(answer: Answer, length: int) -> bytes:
    headers = {"content-type": answer.kind, **answer.headers}
    if answer.zipped:
        headers["content-encoding"] = "gzip"
    if answer.framing == "chunked":
        headers["transfer-encoding"] = "chunked"
    elif answer.framing == "length":
        headers["content-length"] = str(length)
    else:
        headers["connection"] = "close"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {answer.status} As Told\r\n{lines}\r\n".encode()


def _whole(body: bytes) -> bytes:
    return _head(Answer(framing="length", kind="application/json"), len(body)) + body


def _model_of(request: Request) -> str:
    try:
        return str(request.document["model"])
    except (ValueError, LookupError, TypeError):
        return ""


async def main() -> None:
    parser = argparse.ArgumentParser(description="A provider for tests; the model's name may be that of a fault.")
    parser.add_argument("--port", type=int, default=0)
    async with Upstream(models=("told", *FAULTS), port=parser.parse_args().port) as upstream:
        sys.stdout.write(f"{upstream.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
