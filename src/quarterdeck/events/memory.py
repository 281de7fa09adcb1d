"""What can happen to what is remembered: memories, and the lessons of runs. One stream of each for a tenant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from quarterdeck.events.base import Event

MemoryType = Literal["fact", "preference", "note"]
MemoryScope = Literal["global", "workspace", "conversation"]


@dataclass(frozen=True, slots=True)
class MemoryStored(Event):
    """Something is worth remembering. A `tainted` one came out of a run that had read what anybody may have written:
    it is not recalled until a person accepts it."""

    KIND: ClassVar[str] = "memory.stored"
    id: str
    text: str
    memory_type: MemoryType = "note"
    scope: MemoryScope = "workspace"
    workspace: str | None = None
    conversation: str | None = None
    importance: float = 0.5
    source_run: str | None = None
    tainted: bool = False


@dataclass(frozen=True, slots=True)
class MemoryEdited(Event):
    """A person corrected it; what is None stayed as it was."""

    KIND: ClassVar[str] = "memory.edited"
    id: str
    text: str | None = None
    memory_type: MemoryType | None = None
    importance: float | None = None


@dataclass(frozen=True, slots=True)
class MemoryAccepted(Event):
    """A person vouches for a tainted memory."""

    KIND: ClassVar[str] = "memory.accepted"
    id: str


@dataclass(frozen=True, slots=True)
class MemoryForgotten(Event):
    """That it was forgotten is all that is left: what held its text was erased with this event."""

    KIND: ClassVar[str] = "memory.forgotten"
    id: str


@dataclass(frozen=True, slots=True)
class LessonProposed(Event):
    """What a run taught, as a model sees it. It counts once a person accepts it."""

    KIND: ClassVar[str] = "lesson.proposed"
    id: str
    text: str
    source_run: str


@dataclass(frozen=True, slots=True)
class LessonAccepted(Event):
    KIND: ClassVar[str] = "lesson.accepted"
    id: str


@dataclass(frozen=True, slots=True)
class LessonRejected(Event):
    KIND: ClassVar[str] = "lesson.rejected"
    id: str


@dataclass(frozen=True, slots=True)
class LessonForgotten(Event):
    KIND: ClassVar[str] = "lesson.forgotten"
    id: str
