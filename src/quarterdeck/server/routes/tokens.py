"""Tokens: issue, list, revoke; and who one is."""

from __future__ import annotations

from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.memory import once_only
from quarterdeck.actions.tokens import Wanted, new_token, revoke_token
from quarterdeck.engine.access import role_of
from quarterdeck.kernel.errors import Invalid, NotFound
from quarterdeck.kernel.ids import TenantId, checked_name
from quarterdeck.kernel.scope import Scope
from quarterdeck.ports import Query as Find
from quarterdeck.server.access_wire import IssuedToken, Me, NewToken, Token, issued, token
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.routes.tenants import Key
from quarterdeck.server.routes.users import user_found
from quarterdeck.server.station import Here, Station
from quarterdeck.views.access import TOKENS, USERS

router = APIRouter(prefix="/api/v1", tags=["tokens"])

New = Annotated[tuple[NewToken, bytes], Depends(json_body(NewToken))]


@router.get("/me")
async def me(here: Here) -> Me:
    """Who you are to this server, and what you may do."""
    scope = here.scope
    user = await here.desk.log.get(USERS, tenant=scope.tenant, id=scope.actor.partition(":")[2])
    return Me(
        actor=scope.actor,
        tenant_id=scope.tenant,
        name=None if user is None else user["name"],
        rights=sorted(scope.rights),
        operator=scope.operator,
        expires_at=None if scope.shown is None else scope.shown.ends_at,
    )


@router.post("/tokens", status_code=201, openapi_extra=described(NewToken))
async def new_one(here: Here, taken: New, key: Key = None) -> IssuedToken:
    """Its text is in this answer and nowhere else."""
    asked, body = taken
    scope = here.scope.within(TenantId(asked.tenant_id or here.scope.tenant))
    wanted = await _wanted(here, scope, asked)
    made = new_token(here.desk, scope, wanted)
    appended = await here.desk.log.append(made.entry, once=once_only(scope, "new_token", key, body, {"id": made.id}))
    ident = made.id if appended.answer is None else str(orjson.loads(appended.answer)["id"])
    line = await here.desk.log.get(TOKENS, id=ident)
    assert line is not None
    return issued(line, made.token if appended.answer is None else None)


@router.get("/tokens")
async def list_tokens(
    here: Here,
    request: Request,
    response: Response,
    tenant_id: Annotated[str | None, Query(max_length=128)] = None,
    after: After = None,
    limit: Limit = 50,
) -> list[Token]:
    """Your own; those of the tenant, where you manage it. The oldest first."""
    scope = here.scope.within(TenantId(tenant_id or here.scope.tenant))
    where = {"tenant": scope.tenant} | ({} if scope.may("manage") else {"actor": scope.actor})
    lines = await here.desk.log.find(Find(TOKENS, where, "id", after=checked_after(after), limit=limit))
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [token(line) for line in lines]


@router.delete("/tokens/{token_id}", status_code=204)
async def revoke(here: Here, token_id: str) -> None:
    """It is good no more from this moment on, and what is open with it ends."""
    line = await here.desk.log.get(TOKENS, id=token_id)
    seen = line is not None and (here.scope.operator or line["tenant"] == here.scope.tenant)
    if line is None or not seen or not (here.scope.may("manage") or line["actor"] == here.scope.actor):
        raise NotFound("There is no such token.", code="token_not_found")
    await revoke_token(here.desk, here.scope.within(TenantId(line["tenant"])), line)


async def _wanted(here: Station, scope: Scope, asked: NewToken) -> Wanted:
    if asked.user_id is not None and asked.service is not None:
        raise Invalid("A token is for a `user_id` or for a `service`, not for both.", code="bad_actor")
    expires_at = None if asked.expires_in_s is None else here.desk.clock.now() + asked.expires_in_s
    if asked.service is not None:
        actor, role = f"token:{checked_name(asked.service, 'service')}", asked.role or "member"
    elif asked.user_id is not None:
        found = await user_found(here, asked.user_id)
        if found.scope.tenant != scope.tenant:
            raise NotFound("There is no such user.", code="user_not_found")
        actor, role = f"person:{asked.user_id}", asked.role or found.line["role"]
    else:
        actor, role = scope.actor, asked.role or role_of(scope)
    return Wanted(actor, role, asked.name, expires_at)
