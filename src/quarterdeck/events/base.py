"""What every event is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Event:
    """A fact. `KIND` is its name for ever; `VERSION` counts its shapes; a `TERMINAL` one closes its stream."""

    KIND: ClassVar[str] = ""
    VERSION: ClassVar[int] = 1
    TERMINAL: ClassVar[bool] = False

    @property
    def span(self) -> int:
        """How many places of its stream it takes: one for each delta of a burst of text, else one."""
        return 1

    def behind(self, places: int) -> Event:  # noqa: ARG002 - one that takes a single place is never cut
        """What is left of it behind its first `places`."""
        return self


@dataclass(frozen=True, slots=True)
class Unknown(Event):
    """A fact of a kind, or of a later version, that this release does not know: kept, passed on, without effect."""

    kind: str
    data: bytes
    places: int = 1

    @property
    def span(self) -> int:
        return self.places


@dataclass(frozen=True, slots=True)
class Erased(Event):
    """A fact whose content was forgotten on purpose: its place, its kind and why are all that is left of it."""

    kind: str
    reason: str = ""
    places: int = 1

    @property
    def span(self) -> int:
        return self.places


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as the log holds it: where, when, by whom, and because of what."""

    tenant: str
    stream: str
    first: int
    last: int
    at: float
    actor: str
    cause: str | None
    event: Event
