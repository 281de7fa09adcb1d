"""Conversations of a tenant's people with its employees: open, list, search, look, rename, delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.deleting import delete_conversation
from quarterdeck.actions.memory import forget_memory
from quarterdeck.actions.staff import persona
from quarterdeck.actions.talk import Opening, open_conversation, rename_conversation
from quarterdeck.kernel.ids import TenantId
from quarterdeck.ports import Query as Find
from quarterdeck.server import reach
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.routes.tenants import Key, within
from quarterdeck.server.station import Here, Station
from quarterdeck.server.talk_wire import NewTalk, OneTalk, Talk, TalkChange, one_talk, talk
from quarterdeck.views.memory import AFTERS, MEMORIES, TOLD
from quarterdeck.views.tables import RUNS
from quarterdeck.views.talk import CONVERSATIONS
from quarterdeck.views.talk_search import found
from quarterdeck.views.tenants import tenant_line

router = APIRouter(prefix="/api/v1/conversations", tags=["platform conversations"])

New = Annotated[tuple[NewTalk, bytes], Depends(json_body(NewTalk))]
Change = Annotated[tuple[TalkChange, bytes], Depends(json_body(TalkChange))]
Name = Annotated[str | None, Query(max_length=200)]
Asked = Annotated[str | None, Query(max_length=200, description="Words of the title, or how they begin.")]
MOST = 500


async def narrowed(
    here: Here, tenant_id: Name = None, employee_id: Name = None, user_id: Name = None
) -> dict[str, object]:
    """What a list is narrowed to."""
    if tenant_id is not None:
        await tenant_line(here.desk.log, within(here, tenant_id))
    where = reach.whose(here, tenant_id)
    if employee_id is not None:
        hired = await reach.employee(here, employee_id)
        where = {"tenant": hired.scope.tenant, **where, "employee": employee_id}
    return where if user_id is None else {**where, "user": user_id}


Where = Annotated[dict[str, object], Depends(narrowed)]


@router.post("", status_code=201, operation_id="open_talk", openapi_extra=described(NewTalk))
async def open_talk(here: Here, taken: New, key: Key = None) -> Talk:
    asked, body = taken
    scope = here.scope if asked.tenant_id is None else here.scope.within(TenantId(asked.tenant_id))
    await tenant_line(here.desk.log, scope.tenant)
    if asked.employee_id is not None:
        hired = await reach.employee(here, asked.employee_id)
        if asked.tenant_id is not None and hired.scope.tenant != scope.tenant:
            raise reach.missing("employee")
        scope = hired.scope
        await persona(here.desk, scope, asked.employee_id)
    opening = Opening(asked.employee_id, asked.user_id, asked.title)
    ident = await open_conversation(here.desk, scope, opening, key=key, body=body)
    return talk((await reach.conversation(here, ident)).line)


@router.get("")
async def list_talks(
    here: Here,
    request: Request,
    response: Response,
    where: Where,
    q: Asked = None,
    after: After = None,
    limit: Limit = 50,
) -> list[Talk]:
    """The latest first, by when they were opened."""
    if q is not None:
        lines, more = await found(here.desk.log, q, where, checked_after(after), limit)
    else:
        query = Find(CONVERSATIONS, where, "id", descending=True, after=checked_after(after), limit=limit)
        lines = await here.desk.log.find(query)
        more = lines[-1]["id"] if len(lines) == limit else None
    link_next(request, response, more)
    return [talk(line) for line in lines]


@router.get("/{conversation_id}")
async def one(here: Here, conversation_id: str) -> OneTalk:
    there = await reach.conversation(here, conversation_id)
    return one_talk(there.line, await answering(here, there))


@router.patch("/{conversation_id}", openapi_extra=described(TalkChange))
async def rename(here: Here, conversation_id: str, taken: Change) -> Talk:
    there = await reach.conversation(here, conversation_id)
    await rename_conversation(here.desk, there.scope, conversation_id, taken[0].title)
    return talk((await reach.conversation(here, conversation_id)).line)


@router.delete("/{conversation_id}", status_code=204)
async def delete(here: Here, conversation_id: str) -> None:
    """Erased for good: what was said, what was done for it, and what is remembered of it alone."""
    there = await reach.conversation(here, conversation_id)
    tenant, log = there.scope.tenant, here.desk.log

    async def lookbacks(run: str) -> list[str]:
        lines = await log.find(Find(AFTERS, {"tenant": tenant, "run": run}, "id", limit=MOST))
        return [line["id"] for line in lines]

    await _forget_its_own(here, there)
    await delete_conversation(here.desk, there.scope, conversation_id, lookbacks)


async def answering(here: Station, there: reach.Found) -> list[str]:
    """Runs of the conversation that have not ended."""
    where = {"tenant": there.scope.tenant, "conversation": there.line["id"], "open": 1}
    lines = await here.desk.log.find(Find(RUNS, where, "id", limit=MOST))
    return [line["id"] for line in lines]


async def _forget_its_own(here: Station, there: reach.Found) -> None:
    """What is remembered for this conversation alone is of no use without it."""
    tenant, log = there.scope.tenant, here.desk.log

    async def told(ident: str) -> list[str]:
        lines = await log.find(Find(TOLD, {"tenant": tenant, "memory": ident}, "run", limit=10_000))
        return [line["run"] for line in lines]

    async def one_memory(ident: str) -> dict[str, object] | None:
        return await log.get(MEMORIES, tenant=tenant, id=ident)

    where = {"tenant": tenant, "scope": "conversation", "conversation": there.line["id"]}
    for line in await log.find(Find(MEMORIES, where, "id", limit=10_000)):
        await forget_memory(here.desk, there.scope, line["id"], one_memory, told)
