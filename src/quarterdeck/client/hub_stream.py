"""One stream of an agent on the hub, as its agent writes it: every piece has a number and is kept until all is said."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import orjson

from quarterdeck.client.trouble import Refused
from quarterdeck.kernel.errors import Problem

AGAIN = frozenset({"stream_gap", "stream_not_open", "storage_full", "storage_busy", "unavailable"})


class Line(Protocol):
    """What a stream needs of its client."""

    async def ask(self, kind: str, **data: Any) -> dict[str, Any]: ...

    async def send(self, frame: bytes) -> None: ...


class HubStream:
    """`say` and `use` wait for nobody; what they said is sent again from where the server stands, if need be."""

    def __init__(self, line: Line, ident: str, project: str, chat: str | None, task: str | None) -> None:
        self._line, self.id = line, ident
        self._about = {"stream_id": ident, "project_id": project, "chat_id": chat, "task_id": task}
        self._pieces: list[bytes] = []
        self._sent = 0
        self._final: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._news, self._idle = asyncio.Event(), asyncio.Event()
        self._failed: Exception | None = None
        self._sync = self._ended = False

    async def begin(self) -> None:
        await self._line.ask("agent.stream.start", **self._about)
        self._task = asyncio.ensure_future(self._write())

    async def say(self, text: str) -> None:
        self._add("agent.stream.delta", delta=text)

    async def use(self, name: str, args: Any = None, result: Any = None, error: str | None = None) -> None:
        """A tool of yours was used; with an `error`, it failed."""
        self._add("agent.stream.tool", tool_name=name, tool_args=args, tool_result=result, error=error)

    def finish_with(self, final_message: str) -> None:
        """What it becomes, if that is not simply all that was said."""
        self._final = final_message

    async def end(self) -> dict[str, Any]:
        """Returns once it is a message or a comment, whose id is `said_id`."""
        while True:
            await self._flushed()
            if self._ended:  # the answer to an earlier try was lost
                return {"stream_id": self.id}
            try:
                return await self._line.ask("agent.stream.end", stream_id=self.id, final_message=self._final)
            except Refused as refused:
                if refused.code != "stream_not_open":
                    raise
                self.reconnected()

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def reconnected(self) -> None:
        """The connection is another one: ask where the server stands before going on."""
        self._sync = True
        self._wake()

    def refused(self, told: dict[str, Any]) -> None:
        """A piece was not taken. Where it may be the next time, go on from where the server stands."""
        if told["code"] in AGAIN:
            self.reconnected()
        else:
            self._fail(Refused(told["detail"], code=told["code"]))

    def _add(self, kind: str, **data: Any) -> None:
        if self._failed is not None:
            raise self._failed
        told = {"stream_id": self.id, "index": len(self._pieces), **data}
        self._pieces.append(orjson.dumps({"type": kind, "data": told}))
        self._wake()

    def _wake(self) -> None:
        self._idle.clear()
        self._news.set()

    def _fail(self, error: Exception) -> None:
        self._failed = error
        self._idle.set()

    async def _flushed(self) -> None:
        while self._failed is None and (self._sync or self._sent < len(self._pieces)):
            await self._idle.wait()
        if self._failed is not None:
            raise self._failed

    async def _write(self) -> None:
        try:
            while True:
                self._news.clear()
                if self._sync:
                    await self._resume()
                while self._sent < len(self._pieces) and not self._sync:
                    self._sent += 1
                    await self._line.send(self._pieces[self._sent - 1])
                if not self._sync:
                    self._idle.set()
                    await self._news.wait()
        except Problem as problem:
            self._fail(problem)

    async def _resume(self) -> None:
        self._sync = False
        try:
            answer = await self._line.ask("agent.stream.resume", stream_id=self.id)
        except Refused as refused:
            if refused.code != "stream_ended":
                raise
            self._ended = True
            self._sent = len(self._pieces)
        else:
            self._sent = answer["next_index"]
