"""The words of the board: who is a member, how a member is set up, who speaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MemberType = Literal["human", "agent"]
ChatListen = Literal["all", "mentions", "none"]
TaskListen = Literal["all", "mentions", "assigned", "none"]
Drive = Literal["external", "built_in"]
ChatKind = Literal["main", "thread", "direct"]
Status = Literal["backlog", "todo", "in_progress", "in_review", "done", "cancelled"]
Priority = Literal["low", "normal", "high", "urgent"]
Reason = Literal["mention", "message", "assignment", "comment", "sent_back", "unblocked"]

AGENT = "agent:"


@dataclass(frozen=True, slots=True)
class MemberConfig:
    """How a member listens and works. `runtime` says who drives an agent: somebody outside, or we."""

    chat_listen: ChatListen = "mentions"
    task_listen: TaskListen = "assigned"
    max_concurrent_tasks: int = 1
    capabilities: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    model: str | None = None
    provider: str | None = None
    prompt: str = ""
    runtime: Drive = "external"
    tools: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Voice:
    """Whoever speaks or acts, as the server knows them; never what they say of themselves."""

    member: str
    slug: str
    type: MemberType


def agent_of(actor: str) -> str | None:
    """The member that an agent's actor is; None for a person."""
    return actor.removeprefix(AGENT) if actor.startswith(AGENT) else None
