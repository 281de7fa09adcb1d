"""The command audit: read it, take it away, check it."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from quarterdeck.ports import Query as Find
from quarterdeck.server.routes.paging import Limit, link_next
from quarterdeck.server.station import Here
from quarterdeck.server.wire import AuditedCommand, AuditVerdict
from quarterdeck.views.audit import AUDIT, EVENT_TYPE, exported, payload_of, verified

router = APIRouter(prefix="/v1/audit/commands", tags=["audit"])

After = Annotated[int | None, Query(ge=1, lt=2**53, description="The seq where the page before this one ended.")]
NDJSON: dict[int | str, dict[str, Any]] = {
    200: {"description": "A JSON object a line.", "content": {"application/x-ndjson": {}}}
}


@router.get("")
async def list_commands(
    here: Here,
    request: Request,
    response: Response,
    after: After = None,
    limit: Limit = 50,
    task_id: Annotated[str | None, Query(max_length=128)] = None,
) -> list[AuditedCommand]:
    """Every command that was run or refused, the latest first."""
    where: dict[str, object] = {"tenant": here.scope.tenant}
    where |= {"run": task_id} if task_id is not None else {}
    lines = await here.desk.log.find(Find(AUDIT, where, "place", descending=True, after=after, limit=limit))
    link_next(request, response, lines[-1]["place"] if len(lines) == limit else None)
    return [
        AuditedCommand(event_type=EVENT_TYPE, seq=line["place"], at=line["at"], payload=payload_of(line))
        for line in lines
    ]


@router.get("/export", response_class=Response, responses=NDJSON)
async def export_commands(here: Here) -> Response:
    """From the first on, a line each, with its hash and all that it is made of."""
    lines = exported(here.desk.log, here.scope.tenant)
    disposition = {"content-disposition": 'attachment; filename="commands.ndjson"'}
    return StreamingResponse(lines, headers=disposition, media_type="application/x-ndjson")


@router.get("/verify")
async def verify_commands(here: Here) -> AuditVerdict:
    """Recompute the chain of hashes, and compare what is shown with what was written."""
    return AuditVerdict(**dataclasses.asdict(await verified(here.desk.log, here.scope.tenant)))
