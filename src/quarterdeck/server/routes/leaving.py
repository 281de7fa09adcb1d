"""A tenant leaves: it takes along what is its, and everything of it is erased; and the vault gets another lock."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse

from quarterdeck.actions.tenants import close_tenant
from quarterdeck.kernel.errors import NotFound
from quarterdeck.kernel.ids import TenantId
from quarterdeck.server.routes.tenants import within
from quarterdeck.server.station import Here, Station
from quarterdeck.server.tenant_wire import Erasure, Rotated
from quarterdeck.views.tenants import LEAVING, tenant_line

router = APIRouter(prefix="/api/v1", tags=["tenants"])

Confirm = Annotated[str | None, Query(max_length=200, description="The tenant's slug, to say that it is meant.")]


@router.get(
    "/tenants/{tenant_id}/export", response_class=Response, responses={200: {"content": {"application/zip": {}}}}
)
async def export_tenant(here: Here, tenant_id: str) -> Response:
    """Everything that is the tenant's, as a zip; no secrets."""
    tenant = within(here, tenant_id)
    slug = (await tenant_line(here.desk.log, tenant))["slug"]
    headers = {"content-disposition": f'attachment; filename="{slug}.zip"'}
    return StreamingResponse(here.tenancy.luggage(tenant), media_type="application/zip", headers=headers)


@router.delete("/tenants/{tenant_id}", status_code=202)
async def end_tenant(here: Here, tenant_id: str, confirm: Confirm = None) -> Erasure:
    """Erase everything of it, for good: what was said, remembered, done and stored, its keys and files. It is gone for
    everybody at once; `GET …/erasure` tells when nothing of it is left in any file."""
    tenant = within(here, tenant_id)
    await close_tenant(here.desk, here.scope.within(tenant), tenant, confirm)
    return await _erasure(here, tenant)


@router.get("/tenants/{tenant_id}/erasure")
async def erasure(here: Here, tenant_id: str) -> Erasure:
    """How far it is. This is all that is kept of a tenant: that it was, how much it had, and when it went."""
    return await _erasure(here, within(here, tenant_id))


@router.post("/vault/rotate")
async def rotate_vault(here: Here) -> Rotated:
    """Lock all providers' keys under a new master key, and lose the old one. Nothing stops meanwhile."""
    return Rotated(tenants=await here.tenancy.vault.rotate())


async def _erasure(here: Station, tenant: TenantId) -> Erasure:
    line = await here.desk.log.get(LEAVING, id=tenant)
    if line is None:
        raise NotFound("No tenant of this id is leaving or has left.", code="erasure_not_found")
    return Erasure(tenant_id=tenant, **{name: line[name] for name in Erasure.model_fields if name in line})
