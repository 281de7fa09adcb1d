"""News: which streams have gone on, so that a page need not ask again and again."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from quarterdeck.server.news import NewsStream
from quarterdeck.server.station import Here

router = APIRouter(prefix="/v1", tags=["news"])


@router.get("/news", response_class=Response, responses={200: {"content": {"text/event-stream": {}}}})
async def news(here: Here) -> Response:
    """Hints, as server-sent events: `news {streams: ["run/…", "approval/…"]}`. Read what they are about."""
    tenant = None if here.scope.operator else here.scope.tenant
    return NewsStream(here.desk.log, here.streams, tenant)
