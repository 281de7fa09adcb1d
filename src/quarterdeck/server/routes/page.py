"""The control room: the page at the address itself, and what it is made of."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.server.page import page, pages
from quarterdeck.server.station import Here
from quarterdeck.server.wire import Shape

router = APIRouter(tags=["page"])


class AboutServer(Shape):
    version: str
    model: str | None
    source: str
    advice: str
    storage: str
    guarded: bool = Field(description="Whether people have to sign in.")


@router.get("/", include_in_schema=False)
async def home(request: Request) -> Response:
    await asyncio.to_thread(pages)
    return page(request, "index.html")


@router.get("/static/{name:path}", include_in_schema=False)
async def part(request: Request, name: str) -> Response:
    await asyncio.to_thread(pages)
    return page(request, name)


@router.get("/v1/about")
async def about(here: Here) -> AboutServer:
    """Who answers, where that came from, and what to do for a better one."""
    told = await here.about()
    return AboutServer(
        version=told.version,
        model=told.model,
        source=told.source,
        advice=told.advice,
        storage=told.storage,
        guarded=here.doors.guarded,
    )
