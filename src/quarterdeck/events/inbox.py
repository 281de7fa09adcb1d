"""What can happen in a member's inbox: what an agent that we drive is to do, from the asking to its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from quarterdeck.events.base import Event
from quarterdeck.kernel.board import Reason

WakeEnd = Literal["completed", "stopped", "failed", "quarantined", "dropped"]


@dataclass(frozen=True, slots=True)
class InboxClaimed(Event):
    """A worker sees to what waits here."""

    KIND: ClassVar[str] = "inbox.claimed"
    worker: str
    epoch: int


@dataclass(frozen=True, slots=True)
class WakeQueued(Event):
    """Something waits for the agent. In the same transaction as what it follows from, so that none is lost.

    `source` is the message, comment or task event it follows from; `hops` is what that came to.
    """

    KIND: ClassVar[str] = "wake.queued"
    wake: str
    project: str
    reason: Reason
    text: str
    by: str
    chat: str | None = None
    task: str | None = None
    source: str | None = None
    hops: int = 0


@dataclass(frozen=True, slots=True)
class WakeTaken(Event):
    """A run has begun for it, in this very transaction."""

    KIND: ClassVar[str] = "wake.taken"
    wake: str
    run: str


@dataclass(frozen=True, slots=True)
class WakeEnded(Event):
    KIND: ClassVar[str] = "wake.ended"
    wake: str
    outcome: WakeEnd
    detail: str = ""
