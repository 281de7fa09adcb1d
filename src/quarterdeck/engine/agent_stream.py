"""The rules of what an agent says piece by piece: which piece is next, who goes on with it, what it ends as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from quarterdeck.events.agent_stream import (
    AgentStreamDelta,
    AgentStreamEnded,
    AgentStreamInterrupted,
    AgentStreamStarted,
    AgentStreamTool,
)
from quarterdeck.events.base import Event
from quarterdeck.kernel.errors import Closed, Conflict, LimitReached, NotAllowed, NotFound

State = Literal["unknown", "open", "ended", "interrupted"]
MOST_PIECES = 50_000
MOST_CHARACTERS = 1_000_000


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One line of a tool log. Both sides are JSON."""

    name: str
    args: str
    result: str


@dataclass(frozen=True, slots=True)
class AgentStream:
    """One stream as its events tell it. `pieces` is the number that the next piece has; `at` is the place in the
    project's stream that it is level with."""

    id: str = ""
    agent: str = ""
    slug: str = ""
    chat: str | None = None
    task: str | None = None
    state: State = "unknown"
    pieces: int = 0
    characters: int = 0
    texts: tuple[str, ...] = ()
    tools: tuple[ToolUse, ...] = ()

    @property
    def text(self) -> str:
        return "".join(self.texts)


def of(stream: str) -> AgentStream:
    """Before anything is known of it."""
    return AgentStream(stream)


def evolve(known: AgentStream, event: Event) -> AgentStream:
    """What is of another stream changes nothing: many share the stream of their project."""
    match event:
        case AgentStreamStarted(stream, agent, slug, chat, task) if stream == known.id:
            return replace(known, agent=agent, slug=slug, chat=chat, task=task, state="open")
        case AgentStreamDelta(stream, texts=texts) if stream == known.id:
            return _longer(known, texts)
        case AgentStreamTool(stream, name=name, args=args, result=result) if stream == known.id:
            return replace(known, pieces=known.pieces + 1, tools=(*known.tools, ToolUse(name, args, result)))
        case AgentStreamEnded(stream) if stream == known.id:
            return replace(known, state="ended")
        case AgentStreamInterrupted(stream) if stream == known.id:
            return replace(known, state="interrupted")
        case _:
            return known


def _longer(known: AgentStream, texts: Sequence[str]) -> AgentStream:
    """The text so far is kept in a few parts, so that a long stream is folded in time that grows with its length."""
    said = "".join(texts)
    parts = (*known.texts, said) if len(known.texts) < 64 else ("".join(known.texts), said)
    characters = known.characters + len(said)
    return replace(known, texts=parts, pieces=known.pieces + len(texts), characters=characters)


def may_speak(known: AgentStream, agent: str) -> None:
    """Raise where this agent has nothing to say in it. To anybody but its own agent a stream is not there."""
    if known.state == "unknown" or known.agent != agent:
        raise NotFound("You have no such stream; begin one with `agent.stream.start`.", code="stream_not_found")
    if known.state != "open":
        raise Closed(f"This stream is {known.state}; begin another.", code=f"stream_{known.state}")


def may_start(known: AgentStream, agent: str, wanted: AgentStream, others: int, most: int) -> bool:
    """Whether it is a new one; False where the same agent started the same stream before, and only says so again."""
    if known.state == "unknown":
        check_count(others, most)
        return True
    same = (known.agent, known.chat, known.task) == (agent, wanted.chat, wanted.task)
    if not same:
        raise Conflict("There is a stream of that id; choose another.", code="stream_exists")
    may_speak(known, agent)
    return False


def check_count(others: int, most: int) -> None:
    if others >= most:
        raise LimitReached(f"At most {most} streams at once; end one first.", code="too_many_streams")


def is_new(next_piece: int, index: int | None) -> bool:
    """Whether a piece is the next one; False for one that is there already. One in between is missing: a conflict."""
    if index is None or index == next_piece:
        return True
    if index > next_piece:
        raise Conflict(
            f"Piece {next_piece} comes before {index}; go on there.",
            code="stream_gap",
            extra={"next_index": next_piece},
        )
    return False


def check_room(pieces: int, characters: int) -> None:
    if pieces > MOST_PIECES or characters > MOST_CHARACTERS:
        raise LimitReached(
            f"A stream has at most {MOST_PIECES:,} pieces and {MOST_CHARACTERS:,} characters; end it, begin another.",
            code="stream_too_long",
        )


def may_interrupt(state: AgentStream) -> bool:
    return state.state == "open"


def check_agent(kind: str) -> None:
    if kind != "agent":
        raise NotAllowed("Only agents stream; a person sends `chat.send`.", code="agents_only")
