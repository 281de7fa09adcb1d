"""Users of a tenant, each with a role."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.users import add_user, change_user, remove_user
from quarterdeck.kernel.errors import NotFound
from quarterdeck.kernel.ids import TenantId
from quarterdeck.ports import Query as Find
from quarterdeck.server import reach
from quarterdeck.server.access_wire import NewUser, User, UserChange, user
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.routes.tenants import Key
from quarterdeck.server.station import Here, Station
from quarterdeck.views.access import USERS
from quarterdeck.views.tenants import tenant_line

router = APIRouter(prefix="/api/v1/users", tags=["users"])

New = Annotated[tuple[NewUser, bytes], Depends(json_body(NewUser))]
Change = Annotated[tuple[UserChange, bytes], Depends(json_body(UserChange))]


@router.post("", status_code=201, openapi_extra=described(NewUser))
async def new_user(here: Here, taken: New, key: Key = None) -> User:
    """They sign in with a token: issue one with `POST /api/v1/tokens`."""
    asked, body = taken
    scope = here.scope.within(TenantId(asked.tenant_id or here.scope.tenant))
    await tenant_line(here.desk.log, scope.tenant)
    ident = await add_user(here.desk, scope, asked.name, asked.role, key=key, body=body)
    return user((await user_found(here, ident)).line)


@router.get("")
async def list_users(
    here: Here,
    request: Request,
    response: Response,
    tenant_id: Annotated[str | None, Query(max_length=128)] = None,
    after: After = None,
    limit: Limit = 50,
) -> list[User]:
    """In the order in which they were added."""
    where = {**reach.whose(here, tenant_id), "removed": 0}
    lines = await here.desk.log.find(Find(USERS, where, "id", after=checked_after(after), limit=limit))
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [user(line) for line in lines]


@router.get("/{user_id}")
async def one_user(here: Here, user_id: str) -> User:
    return user((await user_found(here, user_id)).line)


@router.patch("/{user_id}", openapi_extra=described(UserChange))
async def patch_user(here: Here, user_id: str, taken: Change) -> User:
    """What the user has open ends, and comes back with the new role."""
    found, asked = await user_found(here, user_id), taken[0]

    async def find(ident: str) -> dict[str, object] | None:
        return await here.desk.log.get(USERS, tenant=found.scope.tenant, id=ident)

    await change_user(here.desk, found.scope, user_id, find, name=asked.name, role=asked.role)
    return user((await user_found(here, user_id)).line)


@router.delete("/{user_id}", status_code=204)
async def delete_user(here: Here, user_id: str) -> None:
    """Their tokens are good no more from this moment on; what they said and did stays."""
    found = await user_found(here, user_id)

    async def find(ident: str) -> dict[str, object] | None:
        return await here.desk.log.get(USERS, tenant=found.scope.tenant, id=ident)

    await remove_user(here.desk, found.scope, user_id, find)


async def user_found(here: Station, ident: str) -> reach.Found:
    found = await reach.found(here.desk, here.scope, USERS, ident)
    if found is None or found.line["removed"]:
        raise NotFound("There is no such user.", code="user_not_found")
    return found
