"""The yardstick: what a good engineer writes in a day, a streaming relay on Starlette and httpx that stores nothing."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

client = httpx.AsyncClient(
    base_url=os.environ.get("OPENAI_BASE_URL", ""),
    timeout=120,
    trust_env=False,
    limits=httpx.Limits(max_connections=None, max_keepalive_connections=512),
)


class Shared:
    """A running answer that others may watch: its frames so far, and a bell for the next one."""

    def __init__(self) -> None:
        self.frames: list[str] = []
        self.over = False
        self.bell = asyncio.Event()

    def ring(self) -> None:
        self.bell.set()
        self.bell = asyncio.Event()

    async def watch(self) -> AsyncIterator[str]:
        at = 0
        while not self.over or at < len(self.frames):
            if at == len(self.frames):
                await self.bell.wait()
            fresh = self.frames[at:]
            at += len(fresh)
            yield "".join(fresh)


shared: dict[str, Shared] = {}


async def relay(body: dict[str, Any]) -> AsyncIterator[tuple[str, str]]:
    """The model's frames, each with the completion's id."""
    outgoing, ident = {"model": body["model"], "messages": body["messages"], "stream": True}, ""
    async with client.stream("POST", "/chat/completions", json=outgoing) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                ident = json.loads(line[6:])["id"]  # any real service looks at what it relays
            if line:
                yield ident, line + "\n\n"


async def publish(body: dict[str, Any]) -> AsyncIterator[str]:
    """The same for an answer that is watched."""
    run = Shared()
    async for ident, frame in relay(body):
        shared.setdefault(ident, run).frames.append(frame)
        run.ring()
        yield frame
    run.over = True
    run.ring()


async def chat(request: Request) -> Response:
    body = await request.json()
    return StreamingResponse((frame async for _, frame in relay(body)), media_type="text/event-stream")


async def chat_watched(request: Request) -> Response:
    return StreamingResponse(publish(await request.json()), media_type="text/event-stream")


async def watch(request: Request) -> Response:
    return StreamingResponse(shared[request.path_params["ident"]].watch(), media_type="text/event-stream")


async def health(_: Request) -> Response:
    return JSONResponse({"ok": True})


app = Starlette(
    routes=[
        Route("/healthz", health),
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/watched", chat_watched, methods=["POST"]),
        Route("/watch/{ident}", watch),
    ]
)
