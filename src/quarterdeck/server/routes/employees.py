"""AI employees of a tenant: hire, list, look, change, archive."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.staff import archive, change, hire
from quarterdeck.events.staff import Profile
from quarterdeck.kernel.ids import TenantId
from quarterdeck.ports import Query as Find
from quarterdeck.server import reach
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.routes.tenants import Key, within
from quarterdeck.server.staff_wire import Employee, EmployeeChange, NewEmployee, employee
from quarterdeck.server.station import Here
from quarterdeck.views.staff import EMPLOYEES
from quarterdeck.views.tenants import tenant_line

router = APIRouter(prefix="/api/v1/employees", tags=["employees"])

New = Annotated[tuple[NewEmployee, bytes], Depends(json_body(NewEmployee))]
Change = Annotated[tuple[EmployeeChange, bytes], Depends(json_body(EmployeeChange))]


@router.post("", status_code=201, openapi_extra=described(NewEmployee))
async def new_employee(here: Here, taken: New, key: Key = None) -> Employee:
    asked, body = taken
    scope = here.scope.within(TenantId(asked.tenant_id or here.scope.tenant))
    await tenant_line(here.desk.log, scope.tenant)
    given = asked.model_dump(exclude={"tenant_id"})
    ident = await hire(here.desk, scope, _profile(Profile(asked.name), given), key=key, body=body)
    return employee((await reach.employee(here, ident)).line)


@router.get("")
async def list_employees(
    here: Here,
    request: Request,
    response: Response,
    tenant_id: Annotated[str | None, Query(max_length=128)] = None,
    after: After = None,
    limit: Limit = 50,
    *,
    archived: Annotated[bool, Query(description="Those that are archived, and not the others.")] = False,
) -> list[Employee]:
    """In the order in which they were hired."""
    if tenant_id is not None:
        await tenant_line(here.desk.log, within(here, tenant_id))
    where = {**reach.whose(here, tenant_id), "archived": int(archived)}
    lines = await here.desk.log.find(Find(EMPLOYEES, where, "id", after=checked_after(after), limit=limit))
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [employee(line) for line in lines]


@router.get("/{employee_id}")
async def one_employee(here: Here, employee_id: str) -> Employee:
    return employee((await reach.employee(here, employee_id)).line)


@router.patch("/{employee_id}", openapi_extra=described(EmployeeChange))
async def patch_employee(here: Here, employee_id: str, taken: Change) -> Employee:
    """What is left out stays as it is; runs that have begun are not touched."""
    scope = (await reach.employee(here, employee_id)).scope
    given = taken[0].model_dump(exclude_unset=True)
    archived = given.pop("archived", None)
    await change(here.desk, scope, employee_id, lambda profile: _profile(profile, given), archived=archived)
    return employee((await reach.employee(here, employee_id)).line)


@router.delete("/{employee_id}", status_code=204)
async def archive_employee(here: Here, employee_id: str) -> None:
    """Archived, not deleted: it takes no new work, what it did stays, and `archived: false` brings it back."""
    await archive(here.desk, (await reach.employee(here, employee_id)).scope, employee_id)


def _profile(profile: Profile, given: dict[str, object]) -> Profile:
    lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    return replace(profile, **{**given, **lists})  # type: ignore[arg-type]
