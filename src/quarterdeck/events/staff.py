"""What can happen to an employee of a tenant: hired, changed, archived, brought back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quarterdeck.events.base import Event


@dataclass(frozen=True, slots=True)
class Profile:
    """What an employee is. `model` is `provider/model` where it is not its tenant's own; of `tools` and `skills`, None
    means all there are."""

    name: str
    role: str = ""
    system_prompt: str = ""
    model: str | None = None
    temperature: float | None = None
    tools: tuple[str, ...] | None = None
    skills: tuple[str, ...] | None = None
    memory: bool = True


@dataclass(frozen=True, slots=True)
class EmployeeHired(Event):
    KIND: ClassVar[str] = "employee.hired"
    profile: Profile


@dataclass(frozen=True, slots=True)
class EmployeeChanged(Event):
    """The profile as it is from now on, whole."""

    KIND: ClassVar[str] = "employee.changed"
    profile: Profile


@dataclass(frozen=True, slots=True)
class EmployeeArchived(Event):
    """It takes no new work. What it did and said stays."""

    KIND: ClassVar[str] = "employee.archived"


@dataclass(frozen=True, slots=True)
class EmployeeRestored(Event):
    KIND: ClassVar[str] = "employee.restored"
