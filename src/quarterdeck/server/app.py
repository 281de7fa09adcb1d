"""The application: one FastAPI app in front of a house that opens when it is first needed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from quarterdeck.server import problems
from quarterdeck.server.body import written_out
from quarterdeck.server.gate import Gate
from quarterdeck.server.hub.door import door
from quarterdeck.server.policy import POLICY, Policy, check_complete
from quarterdeck.server.routes import (
    approvals,
    audit,
    chat,
    conversations,
    document,
    employees,
    experience,
    health,
    leaving,
    memory,
    messages,
    news,
    page,
    session,
    skills,
    steering,
    talks,
    tasks,
    teams,
    tenants,
    tokens,
    usage,
    users,
)
from quarterdeck.server.routes.board import cards, chats, members, projects, work
from quarterdeck.server.sse import LATER, CarriedOut
from quarterdeck.server.station import House, station_in
from quarterdeck.server.stay import lasting
from quarterdeck.server.straight import Straight

SOCKET = "WEBSOCKET"  # in the place of a method


class Plain:
    """An application that a routing table takes for no more than that."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class App(FastAPI):
    """Carries streams out when all that led to them has returned, the framework's own layers included.

    What every turn begins with goes past the framework altogether: `straight` holds, by method and path, what answers.
    """

    straight: Mapping[tuple[str, str], ASGIApp] = {}

    def openapi(self) -> dict[str, Any]:
        """The description says of each route which right it asks for, and how a token is shown."""
        if self.openapi_schema is None:
            for route in self.routes:
                if isinstance(route, APIRoute):
                    route.openapi_extra = written_out(route.openapi_extra or {})
            shape = super().openapi()
            shape.setdefault("components", {})["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            for method, path, needs in POLICY:
                operation = shape["paths"].get(path.replace(":path}", "}"), {}).get(method.lower())
                if operation is not None and needs != "open":
                    operation |= {"security": [{}, {"token": []}], "x-right": needs}
        return self.openapi_schema or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        later: list[CarriedOut] = []
        method = {"http": scope.get("method"), "websocket": SOCKET}.get(scope["type"])
        carry = None if method is None else self.straight.get((method, scope["path"]))
        inner = {**scope, LATER: later}  # what routing adds to it goes with it
        await (carry or super().__call__)(inner, receive, send)
        for stream in later:
            here = station_in(inner)
            if here.scope.shown is None:
                await stream.carry_out(receive, send)
            else:
                with here.quotas.under_way(here.scope.tenant):
                    await lasting(here.access, here.scope, partial(stream.carry_out, receive), inner, send)


def create_app(house: House, version: str) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await house.open()
        try:
            yield
        finally:
            await house.close()

    app = App(
        title="Quarterdeck",
        version=version,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    problems.install(app)
    speaking = (health, document, page, news, chat, tasks, steering, approvals, conversations)
    keeping = (memory, experience, skills, usage, audit)
    platform = (tenants, leaving, employees, talks, messages, teams)
    access = (users, tokens, session)
    board = (members, projects, chats, cards, work)
    for routes in (*speaking, *keeping, *platform, *access, *board):
        app.router.routes += _documented(routes.router.routes)
    app.router.routes.append(WebSocketRoute("/ws", Plain(door)))
    check_complete(app)
    policy = Policy()
    app.add_middleware(Gate, enter=house.enter, policy=policy)
    past = {place: Gate(Straight(answer), house.enter, policy) for place, answer in chat.STRAIGHT.items()}
    app.straight = {**past, (SOCKET, "/ws"): Gate(door, house.enter, policy)}
    return app


def _documented(routes: Sequence[BaseRoute]) -> Sequence[BaseRoute]:
    """The very routes, each with what any may answer. To include a router is to make each of its routes a second time,
    which costs a seventh of the start and some megabytes."""
    for route in routes:
        if isinstance(route, APIRoute):
            route.responses = {**problems.DOCUMENTED, **route.responses}
    return routes
