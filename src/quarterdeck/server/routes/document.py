"""What crosses the hub and the streams, as a document."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request

from quarterdeck.server.asyncapi import document

router = APIRouter(tags=["health"])


@router.get("/asyncapi.json")
async def asyncapi(request: Request) -> dict[str, Any]:
    """Every frame of the hub and every event of a run's stream, with its fields."""
    return document(request.app.version)
