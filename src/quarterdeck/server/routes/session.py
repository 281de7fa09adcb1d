"""Signing in and out with a browser."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.sessions import sign_in, sign_out
from quarterdeck.kernel.errors import Conflict, NotFound
from quarterdeck.server.session import CSRF, cookie, cookie_in, csrf_of
from quarterdeck.server.station import Here, Station
from quarterdeck.server.wire import Shape
from quarterdeck.views.access import TOKENS

router = APIRouter(prefix="/api/v1/session", tags=["session"])


class Session(Shape):
    actor: str
    tenant_id: str
    csrf_token: str = Field(description=f"Send it as `{CSRF}` with whatever changes something.")
    expires_at: float


@router.post("", status_code=201)
async def open_session(here: Here, response: Response) -> Session:
    """Exchange the token in `Authorization` for a cookie. It ends after twelve hours, or with the token."""
    if not here.doors.guarded or here.scope.shown is None:
        raise Conflict("In local mode nobody signs in.", code="local_mode")
    line = await here.desk.log.get(TOKENS, id=here.scope.shown.token)
    if line is None:
        raise NotFound("There is no such token.", code="token_not_found")
    issued = await sign_in(here.desk, here.scope, line)
    until = await _until(here, issued.id)
    response.headers["set-cookie"] = cookie(issued.token, max(1, int(until - here.desk.clock.now())))
    response.headers["cache-control"] = "no-store"
    return _session(here, issued.token, until)


@router.get("")
async def one_session(here: Here, request: Request, response: Response) -> Session:
    """The one this browser has."""
    token = cookie_in(request.scope)
    if token is None or here.scope.shown is None or not here.scope.shown.session:
        raise NotFound("There is no session.", code="session_not_found")
    response.headers["cache-control"] = "no-store"
    return _session(here, token, here.scope.shown.ends_at or 0.0)


@router.delete("", status_code=204)
async def close_session(here: Here, response: Response) -> None:
    """What is open in the browser ends."""
    await sign_out(here.desk, here.scope)
    response.headers["set-cookie"] = cookie("", 0)


def _session(here: Station, token: str, until: float) -> Session:
    return Session(actor=here.scope.actor, tenant_id=here.scope.tenant, csrf_token=csrf_of(token), expires_at=until)


async def _until(here: Station, ident: str) -> float:
    line = await here.desk.log.get(TOKENS, id=ident)
    assert line is not None
    return float(line["expires_at"])
