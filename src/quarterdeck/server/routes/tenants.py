"""Tenants: create, list, look, change."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import APIRouter, Depends, Header
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.tenants import change_tenant, create_tenant
from quarterdeck.kernel.ids import TenantId
from quarterdeck.ports import Query as Find
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.station import Here, Station
from quarterdeck.server.tenant_wire import NewTenant, Tenant, TenantChange
from quarterdeck.views.tenants import TENANTS, tenant_line

router = APIRouter(prefix="/api/v1/tenants", tags=["tenants"])

Key: TypeAlias = Annotated[
    str | None, Header(alias="Idempotency-Key", description="The same key never creates a second one.")
]
New = Annotated[tuple[NewTenant, bytes], Depends(json_body(NewTenant))]
Change = Annotated[tuple[TenantChange, bytes], Depends(json_body(TenantChange))]


@router.post("", status_code=201, openapi_extra=described(NewTenant))
async def new_tenant(here: Here, taken: New, key: Key = None) -> Tenant:
    asked, body = taken
    ident = await create_tenant(here.desk, here.scope, asked.name, asked.slug, key=key, body=body)
    return await _tenant(here, ident)


@router.get("")
async def list_tenants(
    here: Here, request: Request, response: Response, after: After = None, limit: Limit = 50
) -> list[Tenant]:
    """Those that the caller may see, in the order in which they were created."""
    if not here.scope.operator:
        return [await _tenant(here, here.scope.tenant)] if after is None else []
    lines = await here.desk.log.find(Find(TENANTS, {}, "id", after=checked_after(after), limit=limit))
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [Tenant(**line) for line in lines]


@router.get("/{tenant_id}")
async def one_tenant(here: Here, tenant_id: str) -> Tenant:
    return await _tenant(here, within(here, tenant_id))


@router.patch("/{tenant_id}", openapi_extra=described(TenantChange))
async def patch_tenant(here: Here, tenant_id: str, taken: Change) -> Tenant:
    tenant, asked = within(here, tenant_id), taken[0]
    await change_tenant(here.desk, here.scope.within(tenant), tenant, name=asked.name, slug=asked.slug)
    return await _tenant(here, tenant)


def within(here: Station, tenant_id: str) -> TenantId:
    """The tenant that a path names, where the caller may act within it; to anybody else it is not there."""
    return here.scope.within(TenantId(tenant_id)).tenant


async def _tenant(here: Station, tenant: TenantId) -> Tenant:
    line = await tenant_line(here.desk.log, tenant)
    return Tenant(**line)
