"""Teams of a server, for programs and for the command line: form one, give it a task, follow it, step in."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal
from urllib.parse import quote

from quarterdeck.client.follow import Following, Patience
from quarterdeck.client.http import ANSWER_S, Http
from quarterdeck.client.stream import Reading, Told

TEAMS = "/api/v1/teams"


class TeamCalls:
    """`client.teams`."""

    def __init__(self, http: Http, patience: Patience) -> None:
        self._http, self._patience = http, patience

    async def form(self, name: str, experts: Sequence[dict[str, Any]], *, key: str | None = None) -> dict[str, Any]:
        """Each expert has a `name`, or an `employee_id` or `member_id`; one of them may have `lead`."""
        return await self._one("POST", TEAMS, {"name": name, "experts": list(experts)}, key)

    async def all(self, *, after: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        params = {"after": after, "limit": limit}
        found: list[dict[str, Any]] = await self._http.json("GET", TEAMS, params=params, within_s=ANSWER_S)
        return found

    async def begin(self, team: str, task: str, *, key: str | None = None, **options: Any) -> dict[str, Any]:
        """`plan`, `approve_plan`, `budget`, `debate_style`, `workspace`."""
        body = {"task": task, **{name: value for name, value in options.items() if value is not None}}
        return await self._one("POST", f"{_team(team)}/runs", body, key)

    async def runs(self, team: str, *, after: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """The latest first."""
        params = {"after": after, "limit": limit}
        path = f"{_team(team)}/runs"
        found: list[dict[str, Any]] = await self._http.json("GET", path, params=params, within_s=ANSWER_S)
        return found

    async def run(self, team: str, run: str) -> dict[str, Any]:
        """As it stands: the plan, who works on what, verdicts, what people said."""
        return await self._one("GET", _run(team, run))

    def watch(
        self,
        team: str,
        run: str,
        *,
        after: str | int | None = None,
        begin: Literal["start", "snapshot", "now"] = "start",
    ) -> AsyncGenerator[Told, None]:
        """Follow a run from any place to its end, over any interruption."""
        place = f"{_team(team).replace('{', '{{').replace('}', '}}')}/runs/{{}}/stream"
        return Following(self._http, run, Reading(after), begin, self._patience, place).told()

    async def say(self, team: str, run: str, text: str, *, key: str | None = None) -> dict[str, Any]:
        """A command such as `/stop`, or words for the experts. Returns the receipt as it stands now."""
        return await self._one("POST", f"{_run(team, run)}/interventions", {"text": text}, key)

    async def receipt(self, team: str, run: str, intervention: str) -> dict[str, Any]:
        return await self._one("GET", f"{_run(team, run)}/interventions/{quote(intervention, safe='')}")

    async def change_plan(self, team: str, run: str, phases: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Your own plan of all that has not begun."""
        return await self._one("PUT", f"{_run(team, run)}/plan", {"phases": list(phases)})

    async def _one(self, method: str, path: str, body: object = None, key: str | None = None) -> dict[str, Any]:
        key = key or (uuid.uuid4().hex if method == "POST" else None)
        found: dict[str, Any] = await self._http.json(method, path, body=body, within_s=ANSWER_S, key=key)
        return found


def _team(team: str) -> str:
    return f"{TEAMS}/{quote(team, safe='')}"


def _run(team: str, run: str) -> str:
    return f"{_team(team)}/runs/{quote(run, safe='')}"
