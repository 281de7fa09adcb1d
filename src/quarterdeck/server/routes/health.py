"""Is it alive, and is it ready?"""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import JSONResponse, Response

from quarterdeck.kernel.errors import Unavailable
from quarterdeck.server.station import Here

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(here: Here) -> Response:
    """It takes requests: the log can be written to, and the server is not about to stop."""
    if here.desk.log.broken is not None:
        raise here.desk.log.broken
    if here.streams.draining:
        raise Unavailable("The server is shutting down.", code="draining")
    if not here.scope.rights:  # nobody is told where things are
        return JSONResponse({"status": "ready"})
    about = await here.about()
    return JSONResponse({"status": "ready", "version": about.version, "model": about.model, "storage": about.storage})
