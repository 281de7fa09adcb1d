"""Employees: hire, change, archive, bring back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import orjson

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.memory import once_only
from quarterdeck.actions.tenants import checked_title
from quarterdeck.engine.staff import Employee, evolve, persona_of
from quarterdeck.events.base import Event
from quarterdeck.events.staff import EmployeeArchived, EmployeeChanged, EmployeeHired, EmployeeRestored, Profile
from quarterdeck.kernel.errors import Conflict, Invalid, Moved, NotFound
from quarterdeck.kernel.ids import employee_stream
from quarterdeck.kernel.parts import Persona
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.fold import Fold

LONGEST_ROLE = 200
LONGEST_PROMPT = 100_000
LONGEST_MODEL = 200
MOST_NAMES = 200
TRIES = 50
_MODEL = re.compile(r"[^\s/\x00-\x1f]+/[^\s\x00-\x1f]+")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}")


async def hire(desk: Desk, scope: Scope, profile: Profile, *, key: str | None = None, body: bytes = b"") -> str:
    """Answers with its id once it is durable. The same `key` with the same `body` hires one."""
    ident = desk.ids.mint()
    once = once_only(scope, "hire", key, body, {"id": ident})
    hired = Entry(employee_stream(scope.tenant, ident), (EmployeeHired(checked(profile)),), actor=scope.actor)
    appended = await desk.log.append(hired, once=once)
    return ident if appended.answer is None else str(orjson.loads(appended.answer)["id"])


async def change(
    desk: Desk, scope: Scope, ident: str, make: Callable[[Profile], Profile], *, archived: bool | None = None
) -> None:
    """`make` turns the profile as it stands into the one to be. Of two changes at once none is lost."""

    def events(employee: Employee, profile: Profile) -> Sequence[Event]:
        made = checked(make(profile))
        changed = (EmployeeChanged(made),) if made != profile else ()
        if archived is None or archived == employee.archived:
            return changed
        return (*changed, EmployeeArchived() if archived else EmployeeRestored())

    for _ in range(TRIES):
        employee, head = await _employee(desk, scope, ident)
        assert employee.profile is not None
        if not (found := tuple(events(employee, employee.profile))):
            return
        try:
            await desk.log.append(Entry(employee_stream(scope.tenant, ident), found, actor=scope.actor, head=head))
        except Moved:
            continue
        return
    raise Conflict("The employee changes too quickly; try again.", code="busy")


async def archive(desk: Desk, scope: Scope, ident: str) -> None:
    """It takes no new work; everything it did stays to be read, and it can be brought back."""
    await change(desk, scope, ident, lambda profile: profile, archived=True)


async def persona(desk: Desk, scope: Scope, ident: str) -> Persona:
    """Who answers for this employee from now on. One that is archived takes no new work."""
    employee, _ = await _employee(desk, scope, ident)
    assert employee.profile is not None
    if employee.archived:
        raise Conflict(
            f"{employee.profile.name} is archived; bring the employee back with PATCH and `archived: false`.",
            code="employee_archived",
        )
    return persona_of(ident, employee.profile)


async def _employee(desk: Desk, scope: Scope, ident: str) -> tuple[Employee, int]:
    fold = Fold(desk.log, employee_stream(scope.tenant, ident), Employee(), evolve)
    employee = await fold.catch_up()
    if employee.profile is None:
        raise NotFound("There is no such employee.", code="employee_not_found")
    return employee, fold.seq


def checked(profile: Profile) -> Profile:
    role = " ".join(profile.role.split())
    if len(role) > LONGEST_ROLE:
        raise Invalid(f"`role` must be at most {LONGEST_ROLE} characters.", code="bad_role")
    if len(profile.system_prompt) > LONGEST_PROMPT:
        raise Invalid(f"`system_prompt` must be at most {LONGEST_PROMPT:,} characters.", code="prompt_too_long")
    if profile.model is not None and not (_MODEL.fullmatch(profile.model) and len(profile.model) <= LONGEST_MODEL):
        raise Invalid("`model` must read `provider/model`, or be left out for the tenant's own.", code="bad_model")
    return replace(
        profile,
        name=checked_title(profile.name),
        role=role,
        tools=_names(profile.tools, "tools"),
        skills=_names(profile.skills, "skills"),
    )


def _names(names: tuple[str, ...] | None, what: str) -> tuple[str, ...] | None:
    """Each once, in the order given."""
    if names is None:
        return None
    if len(names) > MOST_NAMES or not all(map(_NAME.fullmatch, names)):
        raise Invalid(f"`{what}` must be at most {MOST_NAMES} names of letters, digits and _ . : -", code="bad_names")
    return tuple(dict.fromkeys(names))
