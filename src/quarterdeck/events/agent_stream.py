"""What can happen to what an agent says piece by piece on the hub: told in its project's stream, so that one cursor
sees all of it.

Pieces are numbered from 0 through a stream, deltas and tools alike, so that an agent whose connection broke goes on
where it was. Each has a place of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from quarterdeck.events.base import Event

Interruption = Literal["gone", "member_left", "cancelled"]


@dataclass(frozen=True, slots=True)
class AgentStreamStarted(Event):
    """An agent begins to speak, in a chat or about a task."""

    KIND: ClassVar[str] = "agent_stream.started"
    stream: str
    agent: str
    slug: str
    chat: str | None = None
    task: str | None = None
    run: str | None = None


@dataclass(frozen=True, slots=True)
class AgentStreamDelta(Event):
    """Text as it came. `index` is the first one's number."""

    KIND: ClassVar[str] = "agent_stream.delta"
    stream: str
    agent: str
    slug: str
    index: int
    texts: tuple[str, ...]

    @property
    def span(self) -> int:
        return len(self.texts)

    def behind(self, places: int) -> AgentStreamDelta:
        return replace(self, index=self.index + places, texts=self.texts[places:])


@dataclass(frozen=True, slots=True)
class AgentStreamTool(Event):
    """The agent used a tool of its own. Arguments and result are JSON; a failed one's result is `{"error": …}`."""

    KIND: ClassVar[str] = "agent_stream.tool"
    stream: str
    agent: str
    slug: str
    index: int
    name: str
    args: str
    result: str


@dataclass(frozen=True, slots=True)
class AgentStreamEnded(Event):
    """All was said. `said` is the message or the comment that it became, at once with it; `tool_log` is JSON."""

    KIND: ClassVar[str] = "agent_stream.ended"
    stream: str
    agent: str
    slug: str
    final_message: str
    tool_log: str
    said: str | None = None


@dataclass(frozen=True, slots=True)
class AgentStreamInterrupted(Event):
    """The agent did not come back. What it said so far stays, as what it is."""

    KIND: ClassVar[str] = "agent_stream.interrupted"
    stream: str
    agent: str
    slug: str
    why: Interruption
    pieces: int = 0
