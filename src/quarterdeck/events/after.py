"""What can happen after a run has ended: what of it is remembered, and what it taught. A stream of its own, because
that of the run is closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from quarterdeck.events.base import Event
from quarterdeck.events.memory import MemoryScope, MemoryType

AfterRole = Literal["memory_policy", "critic"]


@dataclass(frozen=True, slots=True)
class AfterRequested(Event):
    """A run has ended and is to be looked back at. `tainted` says that it had read what anybody may have written."""

    KIND: ClassVar[str] = "after.requested"
    run: str
    conversation: str
    message: str
    answer: str
    workspace: str | None = None
    memory: bool = False
    reflection: bool = False
    tainted: bool = False


@dataclass(frozen=True, slots=True)
class AfterClaimed(Event):
    KIND: ClassVar[str] = "after.claimed"
    worker: str
    epoch: int


@dataclass(frozen=True, slots=True)
class AfterReleased(Event):
    """A worker that is shutting down let go in good order; the next claim is no crash."""

    KIND: ClassVar[str] = "after.released"
    worker: str
    epoch: int


@dataclass(frozen=True, slots=True)
class MemoryPolicyDecided(Event):
    """What the memory policy said. The summary is here only where it was stored; `known` is a memory that says the
    same already."""

    KIND: ClassVar[str] = "after.memory_policy_decision"
    should_store: bool
    memory_type: MemoryType = "note"
    summary: str = ""
    importance: float = 0.5
    scope: MemoryScope = "workspace"
    known: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryKept(Event):
    """A memory was made of it, in the same transaction."""

    KIND: ClassVar[str] = "after.memory_stored"
    memory_id: str


@dataclass(frozen=True, slots=True)
class ReflectionCompleted(Event):
    """What the critic said; the lesson was proposed in the same transaction, where there is one."""

    KIND: ClassVar[str] = "after.reflection_completed"
    lesson_id: str | None
    text: str


@dataclass(frozen=True, slots=True)
class RoleFailed(Event):
    """A role came to nothing. It costs nobody anything."""

    KIND: ClassVar[str] = "after.role_failed"
    role: AfterRole
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class AfterFinished(Event):
    KIND: ClassVar[str] = "after.finished"
    TERMINAL: ClassVar[bool] = True
