"""Tells a run on its project's stream, piece by piece, as what an agent says; once, however often it is taken up.

Text of an attempt that broke is not taken back: the stream it was said in is interrupted in sight of all, and another
one begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from quarterdeck.engine import agent_stream as rules
from quarterdeck.events.agent_stream import (
    AgentStreamDelta,
    AgentStreamInterrupted,
    AgentStreamStarted,
    AgentStreamTool,
)
from quarterdeck.events.base import Event
from quarterdeck.events.inbox import WakeQueued
from quarterdeck.events.run import AttemptStarted, AttemptSuperseded, ContentStreamed, RunFinished
from quarterdeck.events.tool import ToolFinished, ToolStarted
from quarterdeck.kernel.ids import RunId, project_stream, run_stream
from quarterdeck.log.entries import Entry
from quarterdeck.log.fold import Fold
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Query, Row
from quarterdeck.runtime.board.place import Place
from quarterdeck.views.agent_streams import AGENT_STREAMS

LONGEST = 8_000  # of what a tool was asked and told; all of it is in the run


@dataclass(slots=True)
class Telling:
    """How far a run was told, and how far reading it has come. `number` counts its streams, from 1; `spoken` is
    whether the attempt at hand has said anything."""

    stream: str
    number: int = 1
    pieces: int = 0
    told_number: int = 1
    told_pieces: int = 0
    spoken: bool = False
    calls: dict[str, str] = field(default_factory=dict)
    tools: list[dict[str, Any]] = field(default_factory=list)

    def news(self) -> bool:
        """Whether the piece at hand was not told before."""
        return (self.number, self.pieces) >= (self.told_number, self.told_pieces)


class Relay:
    """One run's. `guard` goes in with every append: once the inbox is another worker's, nothing more is told."""

    def __init__(self, place: Place, wake: WakeQueued, run: str, slug: str, guard: Entry) -> None:
        self._place, self._wake, self._run, self._slug, self._guard = place, wake, run, slug, guard
        self._log = place.crew.desk.log
        self._project = project_stream(place.inbox.tenant, wake.project)
        self._telling = Telling(run)

    async def tell(self) -> tuple[RunFinished, str, list[dict[str, Any]]]:
        """Follow the run to its end. Returns that, the stream that it was told in, and the tools that were used."""
        self._telling = await self._so_far()
        cursor = self._log.follow(run_stream(self._place.inbox.tenant, RunId(self._run)))
        while True:
            rows = await cursor.rows()
            if ended := await self._told(rows):
                return ended, self._telling.stream, self._telling.tools

    async def _so_far(self) -> Telling:
        about = {"task": self._wake.task} if self._wake.task else {"chat": self._wake.chat}
        where = {"tenant": self._place.inbox.tenant, **about, "run": self._run}
        lines = await self._log.find(Query(AGENT_STREAMS, where, "place", limit=1000))
        if not lines:  # it began a moment ago
            return Telling(self._run)
        last = lines[-1]
        fold = Fold(self._log, self._project, rules.of(last["id"]), rules.evolve, last["place"] - 1)
        known = await fold.catch_up()
        return Telling(self._run, told_number=len(lines), told_pieces=known.pieces)

    async def _told(self, rows: Sequence[Row]) -> RunFinished | None:
        pieces: list[Event] = []
        for row in rows:
            event = event_of(row)
            if isinstance(event, RunFinished):
                await self._append(pieces)
                return event
            pieces += self._pieces(event)
        await self._append(pieces)
        return None

    def _pieces(self, event: Event) -> list[Event]:
        telling = self._telling
        match event:
            case ContentStreamed(_, texts):
                return self._delta(texts)
            case ToolStarted(call):
                telling.calls[call.id] = call.arguments
                return []
            case ToolFinished(call_id, name, ok, result):
                return self._tool(name, telling.calls.pop(call_id, "{}"), _short(result), ok=ok)
            case AttemptStarted():
                telling.spoken = False
                return []
            case AttemptSuperseded() if telling.spoken:
                return self._again()
            case _:
                return []

    def _delta(self, texts: tuple[str, ...]) -> list[Event]:
        """Those of the texts that were not told before."""
        telling = self._telling
        telling.spoken = True
        first = telling.pieces
        known = 0
        if telling.number < telling.told_number:
            known = len(texts)
        elif telling.number == telling.told_number:
            known = min(len(texts), max(0, telling.told_pieces - first))
        telling.pieces += len(texts)
        rest = texts[known:]
        return [AgentStreamDelta(telling.stream, *self._who, first + known, rest)] if rest else []

    def _tool(self, name: str, arguments: str, result: str, *, ok: bool) -> list[Event]:
        telling = self._telling
        told = {"output": result} if ok else {"error": result}
        args = _json(arguments)
        error = None if ok else result
        telling.tools.append({"name": name, "args": args, "result": told if ok else None, "error": error})
        piece = AgentStreamTool(
            telling.stream, *self._who, telling.pieces, name, orjson.dumps(args).decode(), orjson.dumps(told).decode()
        )
        news = telling.news()
        telling.pieces += 1
        return [piece] if news else []

    def _again(self) -> list[Event]:
        telling = self._telling
        before, telling.number = telling.stream, telling.number + 1
        pieces, telling.pieces = telling.pieces, 0
        telling.stream = stream_id(self._run, telling.number)
        if telling.number <= telling.told_number:
            return []
        broken = AgentStreamInterrupted(before, *self._who, "cancelled", pieces)
        return [broken, started(self._wake, telling.stream, self._run, *self._who)]

    @property
    def _who(self) -> tuple[str, str]:
        return self._place.inbox.key, self._slug

    async def _append(self, pieces: Sequence[Event]) -> None:
        if pieces:
            told = Entry(self._project, tuple(pieces), actor=self._place.scope.actor, cause=self._run)
            await self._log.append(self._guard, told)


def started(wake: WakeQueued, stream: str, run: str, agent: str, slug: str) -> AgentStreamStarted:
    return AgentStreamStarted(stream, agent, slug, wake.chat, wake.task, run)


def stream_id(run: str, number: int) -> str:
    """The first stream of a run goes by the run's own id; those after it by ids that are made of it."""
    if number == 1:
        return run
    head, _, tail = run.rpartition("-")
    return f"{head}-{(int(tail, 16) + number - 1) % 16**12:012x}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _json(text: str) -> Any:
    if len(text) > LONGEST:
        return {"text": _short(text)}
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return {"text": text}
