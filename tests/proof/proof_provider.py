"""A provider that plays a part for each message, tells the test how far it is, and keeps a record of its own.

Who asks what to do before the answer is told that there is nothing to do; `planned` is a record of that. With a `call`,
whoever has no tool's result yet is told to make that call, and `called` counts it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

Moment = Literal["asked", "headers", "delta", "end"]
DIRECTIVE = {"kind": "action_directive", "intent": "answer", "risk_level": "none", "actions": [], "then": "answer"}
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@dataclass
class Asked:
    """One request as it was seen here, and how much of the answer was sent."""

    message: str
    nth: int
    sent: int = 0
    whole: bool = False


def told(message: str, count: int) -> list[str]:
    """What is answered to a message: no two deltas are the same, so that each one lost or doubled is seen."""
    return [f"{message}/{n} " for n in range(count)]


@dataclass
class Provider:
    """`reached` is called at each moment of each request, before anything more is sent; `hold` stops the flow."""

    deltas: int = 24
    pace_s: float = 0.0
    reached: Callable[[Moment, Asked], None] = lambda moment, asked: None
    record: list[Asked] = field(default_factory=list)
    planned: list[str] = field(default_factory=list)
    call: tuple[str, dict[str, object]] | None = None
    called: int = 0
    total: int = 0
    hold: asyncio.Event | None = None
    _server: asyncio.Server | None = None
    _busy: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Provider:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._busy):
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def asked_for(self, message: str) -> list[Asked]:
        return [asked for asked in self.record if asked.message == message]

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        try:
            while True:
                message, formed, observed = await _request(reader)
                if self.call is not None and not observed:
                    await self._wish(*self.call, writer)
                else:
                    await (self._plan if formed else self._answer)(message, writer)
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # they are gone, or we are
        finally:
            self._busy.discard(task)
            writer.transport.abort()

    async def _wish(self, name: str, arguments: dict[str, object], writer: asyncio.StreamWriter) -> None:
        self.called += 1
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"index": 0, "id": "call-1", "type": "function", "function": function}
        writer.write(HEAD + _frame({"tool_calls": [call]}, None) + _last("tool_calls"))
        await writer.drain()

    async def _plan(self, message: str, writer: asyncio.StreamWriter) -> None:
        self.planned.append(message)
        writer.write(HEAD + _frame({"content": json.dumps(DIRECTIVE)}, None) + LAST)
        await writer.drain()

    async def _answer(self, message: str, writer: asyncio.StreamWriter) -> None:
        asked = Asked(message, len(self.asked_for(message)) + 1)
        self.record.append(asked)
        self.reached("asked", asked)
        writer.write(HEAD)
        await writer.drain()
        self.reached("headers", asked)
        for text in told(message, self.deltas):
            await asyncio.sleep(self.pace_s)
            writer.write(_frame({"content": text}, None))
            await writer.drain()
            asked.sent += 1
            self.total += 1
            self.reached("delta", asked)
            if self.hold is not None:
                await self.hold.wait()
        writer.write(LAST)
        await writer.drain()
        asked.whole = True
        self.reached("end", asked)


async def _request(reader: asyncio.StreamReader) -> tuple[str, bool, bool]:
    """What a person said last, whether a form is asked for, and whether a tool has answered."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(head.partition("content-length:")[2].split("\r\n")[0])
    asked = json.loads(await reader.readexactly(length))
    said = [said["content"] for said in asked["messages"] if said["role"] == "user"][-1]
    return str(said), "response_format" in asked, any(told["role"] == "tool" for told in asked["messages"])


def _frame(delta: dict[str, object], finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _chunk(b"data: " + json.dumps({"object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n")


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _last(finish: str) -> bytes:
    return _frame({}, finish) + _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"


LAST = _last("stop")


def quietly(act: Callable[[], None]) -> None:
    """Do it, unless the process is gone already."""
    with suppress(ProcessLookupError):
        act()
