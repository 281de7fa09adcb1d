"""An employee: what it is at the moment, and who answers in its name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from quarterdeck.events.base import Event
from quarterdeck.events.staff import EmployeeArchived, EmployeeChanged, EmployeeHired, EmployeeRestored, Profile
from quarterdeck.kernel.parts import Persona


@dataclass(frozen=True, slots=True)
class Employee:
    profile: Profile | None = None
    archived: bool = False


def evolve(state: Employee, event: Event) -> Employee:
    match event:
        case EmployeeHired(profile) | EmployeeChanged(profile):
            return replace(state, profile=profile)
        case EmployeeArchived():
            return replace(state, archived=True)
        case EmployeeRestored():
            return replace(state, archived=False)
        case _:
            return state


def persona_of(ident: str, profile: Profile) -> Persona:
    """Who a run of this employee is. One that was told nothing knows at least its name and what it is for."""
    told = profile.system_prompt.strip()
    what = f", {profile.role}" if profile.role else ""
    return Persona(
        ident,
        profile.name,
        told or f"You are {profile.name}{what}. Answer in the language of the user.",
        profile.model,
        profile.temperature,
        profile.tools,
        profile.skills,
        profile.memory,
    )
