"""What the engine wants done for a team. Whoever carries it out knows no rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from quarterdeck.events.base import Event
from quarterdeck.events.team import PartStarted, TeamOutcome


@dataclass(frozen=True, slots=True)
class Record:
    """It follows from what happened: write it down."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """Experts begin to work, all at once."""

    parts: tuple[PartStarted, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """What these parts might still come to is not wanted: stop them."""

    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finish:
    outcome: TeamOutcome
    answer: str
    code: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Somebody works, or a person has to say something first."""

    why: str = "working"


@dataclass(frozen=True, slots=True)
class Rest:
    """There is nothing to do, and never will be."""


Intent: TypeAlias = Record | Begin | Cut | Finish | Wait | Rest
