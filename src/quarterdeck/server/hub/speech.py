"""What an agent says piece by piece: its pens, and what becomes of them when it is gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, TypeAlias

from quarterdeck.actions import agent_streams as actions
from quarterdeck.actions.agent_streams import Ending, Place
from quarterdeck.actions.board.book import Book, chat_for, project_for
from quarterdeck.actions.board.cards import card_for
from quarterdeck.actions.desk import Desk
from quarterdeck.engine import agent_stream as rules
from quarterdeck.engine.agent_stream import AgentStream
from quarterdeck.engine.board.card import may_speak as may_speak_on
from quarterdeck.engine.board.people import Member
from quarterdeck.events.agent_stream import Interruption
from quarterdeck.kernel.errors import Conflict, Invalid, NotFound, Problem
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.scope import Scope
from quarterdeck.ports import Query
from quarterdeck.server.hub import limits
from quarterdeck.server.hub.pen import Pen
from quarterdeck.server.hub.vocabulary import StreamDelta, StreamEnd, StreamStart, StreamTool
from quarterdeck.views.agent_streams import AGENT_STREAMS

logger = logging.getLogger("quarterdeck.server")


Key: TypeAlias = tuple[TenantId, str]


class Speaking:
    """The streams that somebody speaks in at the moment, on whatever loop."""

    def __init__(self) -> None:
        self.now: set[Key] = set()


class Pens:
    """All pens of one loop: who writes with which; and those whose agent is gone, for a while."""

    def __init__(self, desk: Desk, speaking: Speaking) -> None:
        self._desk, self._speaking = desk, speaking
        self._pens: dict[Key, Pen] = {}
        self._hands: dict[Key, Mouth] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Those that were left when the process before us ended. One of a run goes on with its run."""
        lines = await self._desk.log.find(Query(AGENT_STREAMS, {"state": "open", "run": None}, "id", limit=10_000))
        for line in lines:
            if (line["tenant"], line["id"]) not in self._speaking.now:
                self._wait_for(Scope(line["tenant"], "system"), place_of(line))

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        for task in self._tasks:
            task.cancel()

    def abandon(self) -> None:
        self._speaking.now.difference_update(self._pens)

    def put(self, scope: Scope, pen: Pen, mouth: Mouth) -> None:
        key = (scope.tenant, pen.place.stream)
        self._pens[key], self._hands[key] = pen, mouth
        self._speaking.now.add(key)
        self._stop_waiting(key)

    async def take(self, scope: Scope, stream: str, mouth: Mouth) -> Pen | None:
        """The pen of a stream, out of whatever hand it was in. What was said with it is committed then."""
        key = (scope.tenant, stream)
        pen = self._pens.get(key)
        if pen is None:
            return None
        if (before := self._hands.get(key)) is not None:
            before.pens.pop(stream, None)
        self.put(scope, pen, mouth)
        await pen.settled()
        if self._hands.get(key) is not mouth:
            raise Conflict("Another connection of yours speaks in this stream.", code="fenced")
        return pen

    def leave(self, scope: Scope, stream: str) -> None:
        """Its agent is gone, and may come back."""
        key = (scope.tenant, stream)
        self._hands.pop(key, None)
        self._wait_for(scope, self._pens[key].place)

    def drop(self, scope: Scope, stream: str) -> Pen:
        key = (scope.tenant, stream)
        self._hands.pop(key, None)
        self._stop_waiting(key)
        self._speaking.now.discard(key)
        return self._pens.pop(key)

    def interrupt(self, scope: Scope, place: Place, why: Interruption) -> None:
        pen = self.drop(scope, place.stream) if (scope.tenant, place.stream) in self._pens else None
        task = asyncio.ensure_future(self._interrupt(scope, place, pen, why))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _interrupt(self, scope: Scope, place: Place, pen: Pen | None, why: Interruption) -> None:
        try:
            if pen is not None:
                await pen.settled()
            await actions.interrupt(self._desk, scope, place, why)
        except Problem as problem:  # found again at the next start
            logger.warning("stream %s could not be interrupted: %s", place.stream, problem.detail)

    def _wait_for(self, scope: Scope, place: Place) -> None:
        self._stop_waiting((scope.tenant, place.stream))
        timer = asyncio.get_running_loop().call_later(limits.GRACE_S, self.interrupt, scope, place, "gone")
        self._timers[scope.tenant, place.stream] = timer

    def _stop_waiting(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()


def place_of(line: Mapping[str, Any]) -> Place:
    return Place(line["project"], line["id"], line["place"] - 1)


class Mouth:
    """What one connection of an agent says."""

    def __init__(self, desk: Desk, scope: Scope, book: Book, pens: Pens) -> None:
        self._desk, self._scope, self._book, self._all = desk, scope, book, pens
        self.pens: dict[str, Pen] = {}

    def close(self) -> None:
        """The connection is gone: what was begun waits for its agent."""
        for stream in self.pens:
            self._all.leave(self._scope, stream)
        self.pens.clear()

    def leave_project(self, project: str) -> None:
        """The member is not in it any more."""
        for stream, pen in tuple(self.pens.items()):
            if pen.place.project == project:
                del self.pens[stream]
                self._all.interrupt(self._scope, pen.place, "member_left")

    async def start(self, me: Member, asked: StreamStart) -> int:
        """Returns the index of the piece that is next: 0 for a new one."""
        rules.check_agent(me.type)
        if (asked.chat_id is None) == (asked.task_id is None):
            raise Invalid("A stream is in a chat or about a task: send `chat_id` or `task_id`.", code="chat_or_task")
        await self._check_place(me, asked)
        wanted = AgentStream(asked.stream_id, me.id, me.slug, asked.chat_id, asked.task_id, "open")
        line = await self._desk.log.get(AGENT_STREAMS, tenant=self._scope.tenant, id=asked.stream_id)
        known = rules.of(asked.stream_id) if line is None else _standing(line)
        if not rules.may_start(known, me.id, wanted, len(self.pens), limits.STREAMS):
            return await self.resume(me, asked.stream_id)
        first = await actions.begin(self._desk, self._scope, asked.project_id, wanted)
        if first is None:
            return await self.resume(me, asked.stream_id)
        self._keep(Pen(self._desk, self._scope, Place(asked.project_id, asked.stream_id, first - 1), wanted))
        return 0

    async def resume(self, me: Member, stream: str) -> int:
        rules.check_agent(me.type)
        line = await self._desk.log.get(AGENT_STREAMS, tenant=self._scope.tenant, id=stream)
        rules.may_speak(rules.of(stream) if line is None else _standing(line), me.id)
        assert line is not None
        if stream not in self.pens:
            rules.check_count(len(self.pens), limits.STREAMS)
        pen = await self._all.take(self._scope, stream, self)
        if pen is None:
            known = await actions.known(self._desk, self._scope, place_of(line))
            rules.may_speak(known, me.id)
            pen = Pen(self._desk, self._scope, place_of(line), known)
        self._keep(pen)
        return pen.next

    async def delta(self, said: StreamDelta) -> None:
        pen = self._pen(said.stream_id)
        if said.delta:
            pen.say(said.delta, said.index)
        if pen.crowded:
            await pen.flush()

    async def tool(self, used: StreamTool) -> None:
        self._pen(used.stream_id).use(used.tool_name, used.tool_args, used.tool_result, used.error, used.index)

    async def end(self, me: Member, asked: StreamEnd) -> str:
        """Returns the message or comment that it became."""
        pen = self._pen(asked.stream_id)
        await pen.flush()
        known = await actions.known(self._desk, self._scope, pen.place)
        tools = None if asked.tool_log is None else [line.model_dump() for line in asked.tool_log]
        ending = Ending(asked.final_message, tools)
        said = await actions.end(self._desk, self._scope, self._book, me, pen.place.project, known, ending)
        self.pens.pop(asked.stream_id, None)
        self._all.drop(self._scope, asked.stream_id)
        return said

    async def _check_place(self, me: Member, asked: StreamStart) -> None:
        """In its project, in a chat it is in, on a task it was given or asked about."""
        await project_for(self._book, me, asked.project_id, writing=True)
        if asked.chat_id is not None:
            chat = await chat_for(self._scope, self._book, me, asked.chat_id, writing=True)
            if chat.project != asked.project_id:
                raise NotFound("There is no such chat.", code="chat_not_found")
        if asked.task_id is not None:
            card = await card_for(self._desk, self._book, me, asked.task_id, writing=True)
            if card.project != asked.project_id:
                raise NotFound("There is no such task.", code="task_not_found")
            may_speak_on(card, me.voice)

    def _keep(self, pen: Pen) -> None:
        self.pens[pen.place.stream] = pen
        self._all.put(self._scope, pen, self)

    def _pen(self, stream: str) -> Pen:
        pen = self.pens.get(stream)
        if pen is None:
            raise Conflict("You do not speak in this stream here: begin it, or resume it.", code="stream_not_open")
        return pen


def _standing(line: Mapping[str, Any]) -> AgentStream:
    """How a stream stands, without what was said in it."""
    return AgentStream(line["id"], line["agent"], line["slug"], line["chat"], line["task"], line["state"])
