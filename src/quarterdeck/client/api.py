"""The client: one server's runtime door, for programs and for the command line."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator
from typing import Any, Literal
from urllib.parse import quote

import orjson

from quarterdeck.client.follow import Ask, Following, Patience
from quarterdeck.client.http import ANSWER_S, Http
from quarterdeck.client.remembered import ExperienceCalls, MemoryCalls
from quarterdeck.client.stream import Reading, Told
from quarterdeck.client.trouble import Refused
from quarterdeck.kernel.parts import Reasoning

READY_S = 5.0


class Client:
    """Used within `async with`, on one event loop. Every refusal is a `Problem` with a code and a sentence."""

    def __init__(self, url: str = "http://127.0.0.1:8101", *, patience: Patience | None = None) -> None:
        self._patience = patience or Patience()
        self._http = Http(url, self._patience.silence_s)
        self.memory, self.experience = MemoryCalls(self._http), ExperienceCalls(self._http)

    @property
    def url(self) -> str:
        return self._http.url

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def ready(self, within_s: float = READY_S) -> dict[str, Any]:
        """What the server says of itself: `version`, `model`, `storage`."""
        told = await self._http.json("GET", "/readyz", within_s=within_s)
        if not isinstance(told, dict) or told.get("status") != "ready":
            raise Refused(f"What answers at {self.url} is no Quarterdeck.", code="not_quarterdeck")
        return told

    def ask(
        self,
        message: str,
        *,
        conversation: str | None = None,
        loop: Literal["roles", "native"] = "roles",
        reasoning: Reasoning | None = None,
        key: str | None = None,
    ) -> AsyncGenerator[Told, None]:
        """Start a run and follow it to its end. The run is started once, also where the connection breaks meanwhile."""
        options = {"conversation_id": conversation, "loop": loop, "reasoning": reasoning}
        body = {"message": message, **{name: value for name, value in options.items() if value is not None}}
        what = Ask(orjson.dumps(body), key or uuid.uuid4().hex)
        return Following(self._http, what, Reading(), "start", self._patience).told()

    def watch(
        self, task: str, *, after: str | int | None = None, begin: Literal["start", "snapshot", "now"] = "start"
    ) -> AsyncGenerator[Told, None]:
        """Follow a run from any place: `after` is an event's id or its seq; without it `begin` says where."""
        return Following(self._http, task, Reading(after), begin, self._patience).told()

    async def task(self, task: str) -> dict[str, Any]:
        found: dict[str, Any] = await self._json("GET", f"/v1/tasks/{quote(task, safe='')}")
        return found

    async def tasks(
        self,
        *,
        conversation: str | None = None,
        status: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """The latest first, those behind the one named `after`."""
        params = {"conversation_id": conversation, "status": status, "after": after, "limit": limit}
        found: list[dict[str, Any]] = await self._json("GET", "/v1/tasks", params)
        return found

    async def stop(self, task: str, reason: str = "") -> None:
        await self._json("POST", f"/v1/tasks/{quote(task, safe='')}/stop", body={"reason": reason})

    async def conversations(self, *, after: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self._json("GET", "/v1/conversations", {"after": after, "limit": limit})
        return found

    async def conversation(self, conversation: str) -> dict[str, Any]:
        found: dict[str, Any] = await self._json("GET", f"/v1/conversations/{quote(conversation, safe='')}")
        return found

    async def get(self, path: str, **params: object) -> Any:
        """What stands at a path, as JSON; a parameter that is None is left out."""
        return await self._json("GET", path, params)

    async def lines(self, path: str) -> AsyncGenerator[bytes, None]:
        """What stands at a path, a line at a time."""
        async for line in self._http.lines(path):
            yield line

    async def _json(self, method: str, path: str, params: dict[str, Any] | None = None, *, body: object = None) -> Any:
        return await self._http.json(method, path, params=params, body=body, within_s=ANSWER_S)
