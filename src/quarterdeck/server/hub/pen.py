"""One agent stream being written: pieces gather while a commit is under way, and go in together."""

from __future__ import annotations

import asyncio
from typing import Any

from quarterdeck.actions import agent_streams as actions
from quarterdeck.actions.agent_streams import Place
from quarterdeck.actions.desk import Desk
from quarterdeck.engine import agent_stream as rules
from quarterdeck.engine.agent_stream import AgentStream
from quarterdeck.events.agent_stream import AgentStreamDelta, AgentStreamTool
from quarterdeck.kernel.errors import Problem
from quarterdeck.kernel.scope import Scope

MOST_WAITING = 512


class Pen:
    """`next` is the index of the piece that comes next. What is refused by the log is told to whoever speaks on."""

    def __init__(self, desk: Desk, scope: Scope, place: Place, known: AgentStream) -> None:
        self._desk, self._scope, self.place, self.known = desk, scope, place, known
        self.next, self._characters = known.pieces, known.characters
        self._waiting: list[AgentStreamDelta | AgentStreamTool] = []
        self._texts: list[str] = []  # said, and in no piece yet
        self._writing: asyncio.Task[None] | None = None
        self._refused: Problem | None = None

    def say(self, text: str, index: int | None) -> None:
        """Queue a piece of text, unless it was said before."""
        if not self._is_next(index, len(text)):
            return
        self._texts.append(text)
        self.next += 1
        self._start()

    def use(self, name: str, args: Any, result: Any, error: str | None, index: int | None) -> None:
        if not self._is_next(index, 0):
            return
        piece = actions.tool_piece(self.known, self.next, name, args, result, error)
        self._seal()
        self._waiting.append(piece)
        self.next += 1
        self._start()

    @property
    def crowded(self) -> bool:
        return len(self._texts) + len(self._waiting) > MOST_WAITING

    async def flush(self) -> None:
        """Wait until all that was said is committed, or hear why not."""
        while self._writing is not None:
            await asyncio.wait([self._writing])
        self._check()

    async def settled(self) -> None:
        """Wait until nothing is under way any more, however it went; `next` is where the log stands then."""
        while self._writing is not None:
            await asyncio.wait([self._writing])
        self._refused = None

    def _is_next(self, index: int | None, size: int) -> bool:
        self._check()
        rules.check_room(self.next + 1, self._characters + size)
        if not rules.is_new(self.next, index):
            return False
        self._characters += size
        return True

    def _check(self) -> None:
        """Tell a refusal once: from then on the agent goes on where the log stands."""
        if (refused := self._refused) is not None:
            self._refused = None
            raise type(refused)(refused.detail, code=refused.code, extra={"next_index": self.next})

    def _seal(self) -> None:
        """Make one piece of the texts that were gathered."""
        if self._texts:
            texts, self._texts = tuple(self._texts), []
            first = self.next - len(texts)
            self._waiting.append(AgentStreamDelta(self.known.id, self.known.agent, self.known.slug, first, texts))

    def _start(self) -> None:
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write())

    async def _write(self) -> None:
        try:
            while self._waiting or self._texts:
                self._seal()
                pieces, self._waiting = self._waiting, []
                try:
                    await actions.say(self._desk, self._scope, self.place.project, pieces)
                except Problem as problem:
                    self._refused, self.next = problem, pieces[0].index
                    self._waiting, self._texts = [], []
        finally:
            self._writing = None
