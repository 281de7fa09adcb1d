"""One intervention: a fold of its own stream, and whether it can still be changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from quarterdeck.events import steering as ev
from quarterdeck.events.base import Event
from quarterdeck.kernel.errors import Conflict

State: TypeAlias = Literal["accepted", "applied", "retracted", "expired"]


@dataclass(frozen=True, slots=True)
class Intervention:
    version: int = 0
    run: str = ""
    state: State = "accepted"
    step: int | None = None


def evolve(intervention: Intervention, event: Event) -> Intervention:
    grown = replace(intervention, version=intervention.version + event.span)
    match event:
        case ev.InterventionAccepted():
            return replace(grown, run=event.run)
        case ev.InterventionApplied(_, step):
            return replace(grown, state="applied", step=step)
        case ev.InterventionRetracted():
            return replace(grown, state="retracted")
        case ev.InterventionExpired():
            return replace(grown, state="expired")
        case _:
            return grown


def check(intervention: Intervention) -> None:
    if intervention.state != "accepted":
        raise too_late(intervention)


def too_late(intervention: Intervention) -> Conflict:
    extra = {"state": intervention.state, "step": intervention.step}
    sentence = f"It is too late for that: the intervention is {intervention.state}."
    return Conflict(sentence, code="too_late", extra=extra)
