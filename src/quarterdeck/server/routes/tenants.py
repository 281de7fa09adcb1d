"""Tenants: create, list, look, change; how their runs are carried out."""

from __future__ import annotations

import dataclasses
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Depends, Header
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.tenant_config import Wish, configure
from quarterdeck.actions.tenants import change_tenant, create_tenant
from quarterdeck.kernel.ids import TenantId
from quarterdeck.ports import Query as Find
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.station import Here, Station
from quarterdeck.server.tenant_wire import ConfigWish, NewTenant, Tenant, TenantChange, TenantSettings, TrialTold, shown
from quarterdeck.views.tenants import TENANTS, config_of, tenant_line

router = APIRouter(prefix="/api/v1/tenants", tags=["tenants"])

Key: TypeAlias = Annotated[
    str | None, Header(alias="Idempotency-Key", description="The same key never creates a second one.")
]
New = Annotated[tuple[NewTenant, bytes], Depends(json_body(NewTenant))]
Wished = Annotated[tuple[ConfigWish, bytes], Depends(json_body(ConfigWish))]
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


@router.get("/{tenant_id}/config")
async def tenant_config(here: Here, tenant_id: str) -> TenantSettings:
    """Of its keys the last four characters; never more."""
    return await _settings(here, await _known(here, tenant_id))


@router.put("/{tenant_id}/config", openapi_extra=described(ConfigWish, required=True))
async def put_config(here: Here, tenant_id: str, taken: Wished) -> TenantSettings:
    """What is left out is as it was at first; of keys, as they are."""
    return await _configured(here, tenant_id, taken[0], whole=True)


@router.patch("/{tenant_id}/config", openapi_extra=described(ConfigWish, required=True))
async def patch_config(here: Here, tenant_id: str, taken: Wished) -> TenantSettings:
    """What is left out stays as it is."""
    return await _configured(here, tenant_id, taken[0], whole=False)


@router.post("/{tenant_id}/config/test")
async def test_config(here: Here, tenant_id: str) -> TrialTold:
    """Ask its model something small, for real, and say in words what is wrong."""
    trial = await here.tenancy.try_out(await _known(here, tenant_id))
    return TrialTold(**dataclasses.asdict(trial))


async def _configured(here: Station, tenant_id: str, asked: ConfigWish, *, whole: bool) -> TenantSettings:
    tenant = await _known(here, tenant_id)
    wish = Wish(asked.given, asked.keys, whole)
    await configure(here.desk, here.scope.within(tenant), tenant, wish, here.tenancy.vault, here.tenancy.judge)
    return await _settings(here, tenant)


async def _settings(here: Station, tenant: TenantId) -> TenantSettings:
    config = await config_of(here.desk.log, tenant)
    return shown(config, await here.tenancy.vault.last_four(tenant, config.keys))


async def _known(here: Station, tenant_id: str) -> TenantId:
    tenant = within(here, tenant_id)
    await tenant_line(here.desk.log, tenant)
    return tenant


def within(here: Station, tenant_id: str) -> TenantId:
    """The tenant that a path names, where the caller may act within it; to anybody else it is not there."""
    return here.scope.within(TenantId(tenant_id)).tenant


async def _tenant(here: Station, tenant: TenantId) -> Tenant:
    line = await tenant_line(here.desk.log, tenant)
    return Tenant(**line)
