"""The mock model: an OpenAI-compatible server on a bare protocol, far faster than any server that is measured.

Every completion counts: `0000 `, `0001 `, … Between two measurements it is set over HTTP:

    GET /set?tokens=200&delay_ms=20&per_write=8&gated=0   a delay of 0 is as fast as the socket takes it
    GET /state        how many completions wait at the gate (a gated one sends its opening, then waits)
    GET /go           opens the gate
    GET /sent         when each token was sent (CLOCK_MONOTONIC, one clock for all processes), by the request's #tag#
    GET /watch/<id>   the completion with this id, from its beginning and then live
"""

from __future__ import annotations

import argparse
import asyncio
import re
import time
from array import array
from collections import deque
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, cast
from urllib.parse import parse_qsl

import httptools
import orjson
import uvloop

from tokens import numbered

now = time.monotonic
TAG = re.compile(rb"#(\d+)#")
STREAMED = re.compile(rb'"stream"\s*:\s*true')
ID = b"chatcmpl-00000000"  # stands in the prepared frames; a real id is as long, so the chunk sizes stay true
SSE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def frame(delta: dict[str, str] | None, finish: str | None = None, usage: dict[str, int] | None = None) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
    head = {"id": ID.decode(), "object": "chat.completion.chunk", "created": 1700000000, "model": "bench"}
    return chunk(b"data: " + orjson.dumps({**head, "choices": choices, "usage": usage}) + b"\n\n")


class Script:
    """A completion, encoded beforehand: its opening, one frame for each token, its closing."""

    def __init__(self, tokens: int) -> None:
        self.text = "".join(numbered(tokens))
        self.usage = {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": 10 + tokens}
        self.opening = SSE + frame({"role": "assistant", "content": ""})
        self.frames = [frame({"content": token}) for token in numbered(tokens)]
        self.closing = frame({}, finish="stop") + frame(None, usage=self.usage) + chunk(b"data: [DONE]\n\n")
        self.closing += b"0\r\n\r\n"


script = cache(Script)


@dataclass
class Setting:
    tokens: int = 200
    delay_ms: int = 0
    per_write: int = 8  # without a delay: a real model rarely packs more than a few tokens
    gated: int = 0


@dataclass
class Record:
    """What happened to one tagged request; `sent` belongs to its first call."""

    calls: int = 0
    sent: array[float] = field(default_factory=lambda: array("d"))


class Stream:
    """One completion on its way to whoever asked for it, and to whoever watches."""

    def __init__(self, connection: Connection, text: Script, ident: bytes, sent: array[float]) -> None:
        self.readers, self.script, self.ident, self.sent, self.at = [connection], text, ident, sent, 0

    def write(self, data: bytes, readers: list[Connection]) -> None:
        data = data.replace(ID, self.ident)
        for reader in readers:
            if not reader.closed:
                reader.transport.write(data)

    def watch(self, reader: Connection) -> None:
        self.write(self.script.opening + b"".join(self.script.frames[: self.at]), [reader])
        self.readers.append(reader)

    def advance(self, count: int) -> bool:
        """Sends the next tokens; False when there is nothing left to send, or nobody to send it to."""
        if self.readers[0].closed:
            return False
        frames = self.script.frames[self.at : self.at + count]
        self.at += len(frames)
        more = self.at < len(self.script.frames)
        self.sent.extend([now()] * len(frames))
        self.write(b"".join(frames) if more else b"".join(frames) + self.script.closing, self.readers)
        return more


class Pacer:
    """Sends every paced stream one token per delay. The delay is the same for all, so a queue is in order of time."""

    def __init__(self, model: Model) -> None:
        self.model, self.due, self.ticking = model, deque[tuple[float, Stream]](), False

    def add(self, stream: Stream) -> None:
        self.due.append((now() + self.model.setting.delay_ms / 1000, stream))
        if not self.ticking:
            self.tick()

    def tick(self) -> None:
        delay, current = self.model.setting.delay_ms / 1000, now()
        while self.due and self.due[0][0] <= current:
            at, stream = self.due.popleft()
            if stream.advance(1):
                self.due.append((at + delay, stream))
            else:
                self.model.live.pop(stream.ident, None)
        self.ticking = bool(self.due)
        if self.due:
            asyncio.get_running_loop().call_later(max(self.due[0][0] - now(), 0.001), self.tick)


class Model:
    """What all connections share: the setting, the streams and the record of what was sent."""

    def __init__(self) -> None:
        self.setting, self.pacer, self.serial = Setting(), Pacer(self), 0
        self.records: dict[str, Record] = {}
        self.live: dict[bytes, Stream] = {}
        self.waiting: list[Stream] = []

    def complete(self, connection: Connection, body: bytes) -> None:
        tags, text = TAG.findall(body), script(self.setting.tokens)
        record = self.records.setdefault(tags[-1].decode(), Record()) if tags else Record()
        record.calls += 1
        if not STREAMED.search(body):
            message = {"role": "assistant", "content": text.text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            connection.reply({"id": ID.decode(), "object": "chat.completion", "choices": [choice], "usage": text.usage})
            return
        self.serial += 1
        sent = record.sent if record.calls == 1 else array("d")
        stream = Stream(connection, text, b"chatcmpl-%08d" % self.serial, sent)
        self.live[stream.ident] = stream
        stream.write(text.opening, stream.readers)
        if self.setting.gated:
            self.waiting.append(stream)
        else:
            self.start(stream)

    def start(self, stream: Stream) -> None:
        if not self.setting.delay_ms:
            self.pump(stream)
        elif stream.advance(1):
            self.pacer.add(stream)

    def pump(self, stream: Stream) -> None:
        if not stream.advance(self.setting.per_write):
            self.live.pop(stream.ident, None)
        elif stream.readers[0].paused:
            stream.readers[0].resume = partial(self.pump, stream)
        else:
            asyncio.get_running_loop().call_soon(self.pump, stream)

    def control(self, path: str, query: str) -> dict[str, Any]:
        if path == "/set":
            self.setting = Setting(**{key: int(value) for key, value in parse_qsl(query)})
            self.records, self.live, self.waiting = {}, {}, []
        elif path == "/go":
            waiting, self.waiting = self.waiting, []
            for stream in waiting:
                self.start(stream)
        elif path == "/sent":
            return {tag: {"calls": record.calls, "sent": record.sent.tolist()} for tag, record in self.records.items()}
        return {"waiting": len(self.waiting)}


class Connection(asyncio.Protocol):
    """One HTTP/1.1 connection, kept alive, without pipelining."""

    def __init__(self, model: Model) -> None:
        self.model, self.parser = model, httptools.HttpRequestParser(self)
        self.url, self.body, self.closed, self.paused = b"", b"", False, False
        self.resume: partial[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.closed = True

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        resume, self.resume = self.resume, None
        if resume:
            resume()

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self.url, self.body = url, b""

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        path, _, query = self.url.decode().partition("?")
        if path.endswith("/chat/completions"):
            self.model.complete(self, self.body)
        elif path.endswith("/models"):
            self.reply({"object": "list", "data": [{"id": "bench", "object": "model", "owned_by": "bench"}]})
        elif path.startswith("/watch/"):
            self.model.live[path.removeprefix("/watch/").encode()].watch(self)
        else:
            self.reply(self.model.control(path, query))

    def reply(self, document: dict[str, Any]) -> None:
        body = orjson.dumps(document)
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.transport.write(head + body)


async def serve(port: int) -> None:
    model = Model()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(model), "127.0.0.1", port, backlog=4096)
    await server.serve_forever()


if __name__ == "__main__":
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--port", type=int, required=True)
    uvloop.run(serve(cli.parse_args().port))
