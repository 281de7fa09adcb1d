"""What the routes are handed: the desk to act at, who is asking, and what this server says about itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeAlias

from fastapi import Depends
from starlette.requests import Request
from starlette.types import Scope as AsgiScope

from quarterdeck.actions.desk import Desk
from quarterdeck.events.run import Loop
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.parts import Persona
from quarterdeck.kernel.scope import Scope
from quarterdeck.ports import Lockbox, Skills
from quarterdeck.server.access import Access
from quarterdeck.server.doors import Doors
from quarterdeck.server.hub.hub import Hub
from quarterdeck.server.quotas import Quotas
from quarterdeck.server.sse import OpenStreams
from quarterdeck.server.tenancy import Tenancy
from quarterdeck.views.recall import Recall


@dataclass(frozen=True, slots=True)
class About:
    """What people may know of the server: its version, where its model came from, where its data is."""

    version: str
    model: str | None
    source: str
    advice: str
    storage: str


@dataclass(frozen=True, slots=True)
class Station:
    desk: Desk
    scope: Scope
    streams: OpenStreams
    lockbox: Lockbox
    deadline_s: float | None
    about: Callable[[], Awaitable[About]]
    model_ready: Callable[[], Awaitable[None]]
    skills: Skills
    recall: Recall
    access: Access
    hub: Hub
    tenancy: Tenancy
    doors: Doors
    quotas: Quotas
    loop_of: Callable[[TenantId, Persona | None], Awaitable[Loop]]


class House(Protocol):
    """What the server needs of the whole: to be opened, on whatever loop, and closed."""

    async def open(self) -> None: ...

    async def enter(self) -> Station: ...

    async def close(self) -> None: ...


KEY = "quarterdeck.station"


async def station_of(request: Request) -> Station:
    """Not a plain function: those are run in a thread of their own, which costs more than all the rest of a request."""
    station: Station = request.scope[KEY]
    return station


def station_in(scope: AsgiScope) -> Station:
    station: Station = scope[KEY]
    return station


def put_station(scope: AsgiScope, station: Station) -> None:
    scope[KEY] = station


Here: TypeAlias = Annotated[Station, Depends(station_of)]
