"""What people have said to a run that it has not heeded yet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from quarterdeck.events import steering as ev
from quarterdeck.events.base import Event


@dataclass(frozen=True, slots=True)
class Wish:
    id: str
    mode: ev.Mode
    text: str
    version: int = 1  # events of its own stream so far


Wishes: TypeAlias = tuple[Wish, ...]


def evolve_wishes(wishes: Wishes, event: Event) -> Wishes:
    match event:
        case ev.InterventionAccepted(ident, _, mode, text):
            return (*wishes, Wish(ident, mode, text))
        case ev.InterventionEdited(ident, text):
            return tuple(replace(w, text=text, version=w.version + 1) if w.id == ident else w for w in wishes)
        case ev.InterventionRetracted(ident) | ev.InterventionApplied(ident) | ev.InterventionExpired(ident):
            return tuple(w for w in wishes if w.id != ident)
        case _:
            return wishes


def first(wishes: Wishes, *modes: ev.Mode) -> Wish | None:
    return next((wish for wish in wishes if wish.mode in modes), None)
