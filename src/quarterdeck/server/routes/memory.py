"""What is remembered: read it, add to it, correct it, vouch for it, forget it, take it along."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Header, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from quarterdeck.actions.memory import Edit, Note, accept_memory, edit_memory, forget_memory, store_memory
from quarterdeck.kernel.errors import Invalid, NotFound
from quarterdeck.ports import Query as Find
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.paging import MOST, After, Limit, checked_after, link_next
from quarterdeck.server.station import Here, Station
from quarterdeck.server.wire import Memories, Memory, MemoryChange, MemoryScope, NewMemory
from quarterdeck.views.memory import MEMORIES, TOLD
from quarterdeck.views.recall import placed, reaches

router = APIRouter(prefix="/v1/memory", tags=["memory"])

MOST_TOLD = 100_000
Workspace = Annotated[str | None, Query(max_length=4096, description="Global memories, and those of this folder.")]
Question = Annotated[str | None, Query(max_length=2000, description="Those about this, the best first.")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", description="The same key never stores a second one.")]
New = Annotated[tuple[NewMemory, bytes], Depends(json_body(NewMemory))]
Change = Annotated[tuple[MemoryChange, bytes], Depends(json_body(MemoryChange))]


@router.get("")
async def list_memories(  # noqa: PLR0913, PLR0917 - each is a parameter of the query
    here: Here,
    request: Request,
    response: Response,
    workspace: Workspace = None,
    q: Question = None,
    scope: MemoryScope | None = None,
    after: After = None,
    limit: Limit = 50,
) -> Memories:
    """The latest first; with a question those that are about it."""
    if q is not None:
        if after is not None:
            raise Invalid("`after` goes with a list, not with a question; raise `limit` instead.", code="bad_page")
        return Memories(results=await _search(here, q, workspace, scope, limit))
    lines = await _page(here, workspace, scope, checked_after(after), limit)
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return Memories(results=[_memory(line) for line in lines])


async def _search(here: Station, question: str, workspace: str | None, scope: str | None, limit: int) -> list[Memory]:
    place = placed(workspace)

    def fits(line: dict[str, Any]) -> bool:
        within = workspace is None or reaches(line, place, None)
        return within and (scope is None or line["scope"] == scope)

    tenant = here.scope.tenant
    found = await here.recall.search(tenant, question, fits, limit)
    lines = [(await here.desk.log.get(MEMORIES, tenant=tenant, id=each.id), each.score) for each in found]
    return [_memory(line, round(score, 4)) for line, score in lines if line is not None]


async def _page(
    here: Station, workspace: str | None, scope: str | None, after: str | None, limit: int
) -> list[dict[str, Any]]:
    mine: dict[str, object] = {"tenant": here.scope.tenant}
    wheres = [mine if scope is None else {**mine, "scope": scope}]
    if workspace is not None:
        place = {**mine, "scope": "workspace", "workspace": placed(workspace)}
        wheres = [where for where in ({**mine, "scope": "global"}, place) if scope in {None, where["scope"]}]
    lines: list[dict[str, Any]] = []
    for where in wheres:
        lines += await here.desk.log.find(Find(MEMORIES, where, "id", descending=True, after=after, limit=limit))
    return sorted(lines, key=lambda line: str(line["id"]), reverse=True)[:limit]


@router.post("", status_code=201, openapi_extra=described(NewMemory))
async def add_memory(here: Here, taken: New, response: Response, key: Key = None) -> Memory:
    """Remember something. A scope that is left out is as narrow as what is named."""
    asked, body = taken
    note = Note(asked.text, asked.memory_type, asked.scope, asked.workspace, asked.conversation_id, asked.importance)
    ident = await store_memory(here.desk, here.scope, note, key=key, body=body)
    response.headers["location"] = f"/v1/memory/{ident}"
    return _memory(await _line(here, ident))


@router.get("/export", response_class=Response, responses={200: {"content": {"application/x-ndjson": {}}}})
async def export_memories(here: Here) -> Response:
    """All of them, one JSON object a line, the oldest first."""
    return StreamingResponse(_exported(here), media_type="application/x-ndjson")


async def _exported(here: Station) -> AsyncIterator[bytes]:
    after = None
    where = {"tenant": here.scope.tenant}
    while lines := await here.desk.log.find(Find(MEMORIES, where, "id", after=after, limit=MOST)):
        yield b"".join(orjson.dumps(_memory(line).model_dump(exclude={"score"})) + b"\n" for line in lines)
        after = lines[-1]["id"]


@router.get("/{memory_id}")
async def one_memory(here: Here, memory_id: str) -> Memory:
    return _memory(await _line(here, memory_id))


@router.patch("/{memory_id}", openapi_extra=described(MemoryChange))
async def correct_memory(here: Here, memory_id: str, taken: Change) -> Memory:
    """Change its text, its type, its importance."""
    asked = taken[0]
    edit = Edit(asked.text, asked.memory_type, asked.importance)
    await edit_memory(here.desk, here.scope, memory_id, edit, _find(here))
    return _memory(await _line(here, memory_id))


@router.post("/{memory_id}/accept")
async def vouch_for_memory(here: Here, memory_id: str) -> Memory:
    """Let a proposed memory be recalled from now on."""
    await accept_memory(here.desk, here.scope, memory_id, _find(here))
    return _memory(await _line(here, memory_id))


@router.delete("/{memory_id}", status_code=204, response_class=Response)
async def drop_memory(here: Here, memory_id: str) -> Response:
    """Forget it: its text goes from the log, the tables and the index."""
    await forget_memory(here.desk, here.scope, memory_id, _find(here), _told(here))
    return Response(status_code=204)


def _find(here: Station) -> Any:
    async def find(ident: str) -> dict[str, Any] | None:
        return await here.desk.log.get(MEMORIES, tenant=here.scope.tenant, id=ident)

    return find


def _told(here: Station) -> Any:
    async def told(ident: str) -> list[str]:
        where = {"tenant": here.scope.tenant, "memory": ident}
        return [line["run"] for line in await here.desk.log.find(Find(TOLD, where, "run", limit=MOST_TOLD))]

    return told


async def _line(here: Station, ident: str) -> dict[str, Any]:
    line = await here.desk.log.get(MEMORIES, tenant=here.scope.tenant, id=ident)
    if line is None:
        raise NotFound("There is no such memory.", code="memory_not_found")
    return line


def _memory(line: dict[str, Any], score: float | None = None) -> Memory:
    told = {name: line[name] for name in Memory.model_fields if name in line}
    return Memory(**told, conversation_id=line["conversation"], score=score)
