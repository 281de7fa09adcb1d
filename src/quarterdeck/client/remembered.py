"""What a server remembers, for programs and for the command line: memories and lessons."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import orjson

from quarterdeck.client.http import ANSWER_S, Http


class MemoryCalls:
    """`client.memory`."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def latest(
        self,
        *,
        workspace: str | None = None,
        scope: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """The latest first; with a workspace those of it and the global ones."""
        return await self._results({"workspace": workspace, "scope": scope, "after": after, "limit": limit})

    async def search(
        self, question: str, *, workspace: str | None = None, scope: str | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Those about this, the best first."""
        return await self._results({"q": question, "workspace": workspace, "scope": scope, "limit": limit})

    async def add(self, text: str, **more: Any) -> dict[str, Any]:
        """`workspace`, `conversation_id`, `scope`, `memory_type`, `importance`."""
        body = {"text": text, **{name: value for name, value in more.items() if value is not None}}
        return await self._one("POST", "/v1/memory", body)

    async def edit(self, ident: str, **changes: Any) -> dict[str, Any]:
        body = {name: value for name, value in changes.items() if value is not None}
        return await self._one("PATCH", _place("memory", ident), body)

    async def accept(self, ident: str) -> dict[str, Any]:
        return await self._one("POST", f"{_place('memory', ident)}/accept")

    async def forget(self, ident: str) -> None:
        await self._http.json("DELETE", _place("memory", ident), within_s=ANSWER_S)

    async def export(self) -> list[dict[str, Any]]:
        """All of them, the oldest first."""
        async with self._http.open("GET", "/v1/memory/export", headers={}) as response:
            return [orjson.loads(line) async for line in response.content if line.strip()]

    async def _results(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        told = await self._http.json("GET", "/v1/memory", params=params, within_s=ANSWER_S)
        results: list[dict[str, Any]] = told["results"]
        return results

    async def _one(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        one: dict[str, Any] = await self._http.json(method, path, body=body, within_s=ANSWER_S)
        return one


class ExperienceCalls:
    """`client.experience`."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def latest(self, *, after: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """The latest first."""
        params = {"after": after, "limit": limit}
        found: list[dict[str, Any]] = await self._http.json("GET", "/v1/experience", params=params, within_s=ANSWER_S)
        return found

    async def accept(self, ident: str) -> dict[str, Any]:
        return await self._decide(ident, "accept")

    async def reject(self, ident: str) -> dict[str, Any]:
        return await self._decide(ident, "reject")

    async def forget(self, ident: str) -> None:
        await self._http.json("DELETE", _place("experience", ident), within_s=ANSWER_S)

    async def reflect(self, task: str) -> None:
        """Have a run that has ended looked back at."""
        await self._http.json("POST", f"/v1/tasks/{quote(task, safe='')}/reflect", within_s=ANSWER_S)

    async def _decide(self, ident: str, how: str) -> dict[str, Any]:
        path = f"{_place('experience', ident)}/{how}"
        lesson: dict[str, Any] = await self._http.json("POST", path, within_s=ANSWER_S)
        return lesson


def _place(what: str, ident: str) -> str:
    return f"/v1/{what}/{quote(ident, safe='')}"
