"""What can happen to a person's word to a run that is under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from quarterdeck.events.base import Event

# At the next safe point, after this answer, or now.
Mode = Literal["steer", "queue", "interrupt"]


@dataclass(frozen=True, slots=True)
class InterventionAccepted(Event):
    KIND: ClassVar[str] = "intervention.accepted"
    intervention: str
    run: str
    mode: Mode
    text: str


@dataclass(frozen=True, slots=True)
class InterventionEdited(Event):
    KIND: ClassVar[str] = "intervention.edited"
    intervention: str
    text: str


@dataclass(frozen=True, slots=True)
class InterventionRetracted(Event):
    KIND: ClassVar[str] = "intervention.retracted"
    intervention: str


@dataclass(frozen=True, slots=True)
class InterventionApplied(Event):
    """From here on the run heeds it. `step` is the attempt that follows; `next_run` the run that a queued one began."""

    KIND: ClassVar[str] = "intervention.applied"
    intervention: str
    step: int
    next_run: str | None = None


@dataclass(frozen=True, slots=True)
class InterventionExpired(Event):
    """The run ended before it could be heeded."""

    KIND: ClassVar[str] = "intervention.expired"
    intervention: str
    why: str
