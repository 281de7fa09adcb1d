"""The wire to a server that we started: one message a line, questions and answers matched by their numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from quarterdeck.adapters.mcp import jsonrpc
from quarterdeck.adapters.mcp.child import Child
from quarterdeck.adapters.mcp.config import ServerConfig
from quarterdeck.adapters.mcp.jsonrpc import Answer, Ask, Note
from quarterdeck.adapters.mcp.troubles import Broken
from quarterdeck.adapters.mcp.wire import MODERN, Ear

# Between two answers a server may say this much: notes, and whatever it prints by mistake.
MOST_CHATTER = 16 << 20


class StdioWire:
    def __init__(self, config: ServerConfig, environment: Mapping[str, str], ear: Ear) -> None:
        self.version = MODERN
        self._ear = ear
        self._broken: str | None = None
        self._pending: dict[int, asyncio.Future[Answer]] = {}
        self._chatter = 0
        self._child = Child(config, environment, self._hear, self._give_up)

    @property
    def broken(self) -> str | None:
        return self._broken

    @property
    def pid(self) -> int:
        return self._child.pid

    async def ask(self, ident: int, method: str, params: dict[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:  # noqa: ARG002 - there is no header layer
        if self._broken is not None:
            raise Broken(self._broken)
        future = asyncio.get_running_loop().create_future()
        self._pending[ident] = future
        try:
            self._child.write(jsonrpc.request(ident, method, params))
            answer: Answer = await future
        except asyncio.CancelledError:
            if ident in self._pending and method != "initialize":
                self._child.write(jsonrpc.cancelled(ident))
            raise
        finally:
            self._pending.pop(ident, None)
        return answer.settle()

    async def tell(self, method: str, params: dict[str, Any]) -> None:
        self._child.write(jsonrpc.note(method, params))

    async def listen(self) -> None:
        """Nothing to open: there is one channel for everything."""

    async def aclose(self) -> None:
        self._break("it was closed")
        await self._child.end()

    def drop(self) -> None:
        self._broken = self._broken or "it was closed"
        self._child.kill()

    def _give_up(self, why: str) -> None:
        self._break(why)
        self._child.kill()

    def _hear(self, line: bytes) -> None:
        message = jsonrpc.read(line)
        self._chatter += len(line)
        if isinstance(message, Answer):
            future = self._pending.get(message.id) if isinstance(message.id, int) else None
            if future is not None and not future.done():
                self._chatter = 0
                future.set_result(message)
        elif isinstance(message, Note):
            self._ear.note(message.method, message.params)
        elif isinstance(message, Ask):
            self._child.write(jsonrpc.reply(message.id, self._ear.asked(message.method, message.params)))
        if self._chatter > MOST_CHATTER:
            self._give_up(f"it wrote {MOST_CHATTER >> 20} MiB that answer nothing")

    def _break(self, why: str) -> None:
        if self._broken is None:
            self._broken = why
        for future in self._pending.values():
            if not future.done():
                future.set_exception(Broken(why))
