"""Speak piece by piece: begin, say, end; or be interrupted. An end and what it becomes are one transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from quarterdeck.actions.board.book import TRIES, Book
from quarterdeck.actions.board.speech import Uttering, Words, in_chat, on_task
from quarterdeck.actions.desk import Desk
from quarterdeck.engine import agent_stream as rules
from quarterdeck.engine.agent_stream import AgentStream
from quarterdeck.engine.board.people import Member
from quarterdeck.events.agent_stream import (
    AgentStreamEnded,
    AgentStreamInterrupted,
    AgentStreamStarted,
    AgentStreamTool,
    Interruption,
)
from quarterdeck.events.base import Event
from quarterdeck.events.codec import encode
from quarterdeck.kernel.errors import Conflict, Moved
from quarterdeck.kernel.ids import project_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.fold import Fold
from quarterdeck.ports import Once

SILENT = "(nothing was said)"
FAILED: Mapping[str, str] = {"error": "The tool failed."}


@dataclass(frozen=True, slots=True)
class Place:
    """A stream and where it is: its project, and the place in that from which on it can be read."""

    project: str
    stream: str
    before: int = 0


@dataclass(frozen=True, slots=True)
class Ending:
    """The last words and the tools that were used, as the agent tells them; what is None is made of the pieces."""

    final: str | None = None
    tools: Sequence[Mapping[str, Any]] | None = None


async def known(desk: Desk, scope: Scope, place: Place) -> AgentStream:
    """The stream as it stands, read from the log."""
    name = project_stream(scope.tenant, place.project)
    return await Fold(desk.log, name, rules.of(place.stream), rules.evolve, place.before).catch_up()


async def begin(desk: Desk, scope: Scope, project: str, begun: AgentStream, run: str | None = None) -> int | None:
    """Returns its place in the project's stream, once it is durable; None where this very stream was begun at the same
    time by another connection."""
    event = AgentStreamStarted(begun.id, begun.agent, begun.slug, begun.chat, begun.task, run)
    digest = hashlib.sha256(encode(event)).digest()
    once = Once(f"agent_stream\n{scope.tenant}\n{begun.id}", digest, b"{}")
    entry = Entry(project_stream(scope.tenant, project), (event,), actor=scope.actor)
    appended = await desk.log.append(entry, once=once)
    return appended.places[0][0] if appended.answer is None else None


async def say(desk: Desk, scope: Scope, project: str, pieces: Sequence[Event]) -> None:
    """Pieces of one stream, in one transaction."""
    await desk.log.append(Entry(project_stream(scope.tenant, project), tuple(pieces), actor=scope.actor))


async def end(
    desk: Desk,
    scope: Scope,
    book: Book,
    who: Member,
    project: str,
    stream: AgentStream,
    ending: Ending,
) -> str:
    """It becomes a message of its chat, or a comment on its task, whose id is returned."""
    given = (ending.final or "").strip()
    text = ending.final if ending.final is not None and given else stream.text.strip() or SILENT
    log = tool_log(stream) if ending.tools is None else list(ending.tools)
    words = Words(text, stream=stream.id)
    for _ in range(TRIES):
        said = await _uttering(desk, scope, book, who, stream, words)
        told = orjson.dumps(log).decode()
        ended = AgentStreamEnded(stream.id, stream.agent, stream.slug, text, told, said.id)
        own = Entry(project_stream(scope.tenant, project), (ended,), actor=scope.actor)
        try:
            await desk.log.append(own, *said.entries)
        except Moved:
            continue
        return said.id
    raise Conflict("The task changes too quickly; try again.", code="busy")


async def _uttering(desk: Desk, scope: Scope, book: Book, who: Member, stream: AgentStream, words: Words) -> Uttering:
    if stream.task is not None:
        return await on_task(desk, scope, book, who, stream.task, words)
    assert stream.chat is not None
    return await in_chat(desk, scope, book, who, stream.chat, words)


async def interrupt(desk: Desk, scope: Scope, place: Place, why: Interruption) -> bool:
    """Leave it as what it is; False where it had ended."""
    stream = await known(desk, scope, place)
    if not rules.may_interrupt(stream):
        return False
    event = AgentStreamInterrupted(stream.id, stream.agent, stream.slug, why, stream.pieces)
    await desk.log.append(Entry(project_stream(scope.tenant, place.project), (event,)))
    return True


def tool_piece(
    stream: AgentStream, index: int, name: str, args: Any, result: Any, error: str | None
) -> AgentStreamTool:
    """What a failed tool came to is told as `{"error": …}`, never as nothing."""
    told = {"error": error} if error is not None else FAILED if result is None else result
    given = {} if args is None else args
    return AgentStreamTool(
        stream.id, stream.agent, stream.slug, index, name, orjson.dumps(given).decode(), orjson.dumps(told).decode()
    )


def tool_log(stream: AgentStream) -> list[dict[str, Any]]:
    """One line for each tool that was used, as the pieces tell it."""
    lines = []
    for used in stream.tools:
        result = orjson.loads(used.result)
        error = result.get("error") if isinstance(result, dict) and set(result) == {"error"} else None
        lines.append({"name": used.name, "args": orjson.loads(used.args), "result": result, "error": error})
    return lines
