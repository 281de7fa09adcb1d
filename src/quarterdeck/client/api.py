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
from quarterdeck.client.teams import TeamCalls
from quarterdeck.client.trouble import Refused
from quarterdeck.kernel.parts import Reasoning

READY_S = 5.0


class Client:
    """Used within `async with`, on one event loop. Every refusal is a `Problem` with a code and a sentence.

    `token` is shown to a server that asks for one.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8101", *, token: str | None = None, patience: Patience | None = None
    ) -> None:
        self._patience = patience or Patience()
        self._http = Http(url, self._patience.silence_s, token)
        self.memory, self.experience = MemoryCalls(self._http), ExperienceCalls(self._http)
        self.teams = TeamCalls(self._http, self._patience)

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
        workspace: str | None = None,
        loop: Literal["roles", "native"] = "roles",
        reasoning: Reasoning | None = None,
        key: str | None = None,
    ) -> AsyncGenerator[Told, None]:
        """Start a run and follow it to its end, also through a time in which it waits for a person. The run is started
        once, also where the connection breaks meanwhile. `workspace` is a folder on the server's machine."""
        options = {"conversation_id": conversation, "workspace": workspace, "loop": loop, "reasoning": reasoning}
        body = {"message": message, **{name: value for name, value in options.items() if value is not None}}
        what = Ask(orjson.dumps(body), key or uuid.uuid4().hex)
        return Following(self._http, what, Reading(), "start", self._patience).told()

    def watch(
        self, task: str, *, after: str | int | None = None, begin: Literal["start", "snapshot", "now"] = "start"
    ) -> AsyncGenerator[Told, None]:
        """Follow a run from any place: `after` is an event's id or its seq; without it `begin` says where."""
        return Following(self._http, task, Reading(after), begin, self._patience).told()

    async def task(self, task: str) -> dict[str, Any]:
        found: dict[str, Any] = await self._json("GET", _task(task))
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
        await self._json("POST", f"{_task(task)}/stop", body={"reason": reason})

    async def conversations(self, *, after: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self._json("GET", "/v1/conversations", {"after": after, "limit": limit})
        return found

    async def conversation(self, conversation: str) -> dict[str, Any]:
        found: dict[str, Any] = await self._json("GET", f"/v1/conversations/{quote(conversation, safe='')}")
        return found

    async def get(self, path: str, **params: object) -> Any:
        """What stands at a path, as JSON; a parameter that is None is left out."""
        return await self._json("GET", path, params)

    async def post(self, path: str, body: object) -> Any:
        return await self._json("POST", path, body=body)

    async def change(self, method: Literal["PUT", "PATCH", "DELETE"], path: str, **params: Any) -> Any:
        """Of the parameters `body` is sent as such."""
        return await self._json(method, path, {k: v for k, v in params.items() if k != "body"}, body=params.get("body"))

    async def pieces(self, path: str) -> AsyncGenerator[bytes, None]:
        """What stands at a path, as it comes."""
        async for piece in self._http.pieces(path):
            yield piece

    async def lines(self, path: str) -> AsyncGenerator[bytes, None]:
        """What stands at a path, a line at a time."""
        async for line in self._http.lines(path):
            yield line

    # What runs ask of people

    async def approvals(
        self, *, pending: bool = True, task: str | None = None, after: str | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Those that wait for an answer, the oldest first; or all, the latest first."""
        if pending and task is None:
            found: list[dict[str, Any]] = await self._json(
                "GET", "/v1/approvals/pending", {"after": after, "limit": limit}
            )
            return found
        params = {"task_id": task, "status": "pending" if pending else None, "after": after, "limit": limit}
        found = await self._json("GET", "/v1/approvals", params)
        return found[::-1] if pending else found

    async def approval(self, approval: str) -> dict[str, Any]:
        found: dict[str, Any] = await self._json("GET", _approval(approval))
        return found

    async def allow(
        self,
        approval: str,
        reach: Literal["once", "run", "always"] = "once",
        arguments: dict[str, Any] | None = None,
        words: str = "",
    ) -> dict[str, Any]:
        """Exactly what was shown, or with your own `arguments`. To a question `words` are the answer."""
        own = {} if arguments is None else {"arguments": arguments}
        return await self._answered(approval, f"allow_{reach}", {"words": words, **own})

    async def deny(self, approval: str, words: str = "") -> dict[str, Any]:
        """`words` tell the model why."""
        return await self._answered(approval, "deny", {"words": words})

    async def outcome(
        self, approval: str, outcome: Literal["happened", "again", "give_up"], words: str = ""
    ) -> dict[str, Any]:
        """What became of a call that a crash cut off."""
        return await self._answered(approval, "outcome", {"outcome": outcome, "words": words})

    async def give_password(self, task: str, approval: str, password: str) -> None:
        """Hand over the one-time password that an approved command waits for. It is kept nowhere."""
        body = {"approval_id": approval, "password": password}
        await self._http.hand_over(f"{_task(task)}/password/stream", body, within_s=ANSWER_S)

    async def rules(self, *, after: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """What is allowed for always, the oldest first."""
        found: list[dict[str, Any]] = await self._json("GET", "/v1/rules", {"after": after, "limit": limit})
        return found

    async def allow_always(self, rule: str) -> dict[str, Any]:
        """Allow exactly this before anybody asks: a tool and its exact words, as `shell_exec_safe uname -a`."""
        made: dict[str, Any] = await self._json("POST", "/v1/rules", body={"rule": rule})
        return made

    async def revoke(self, rule: str) -> None:
        """From the next call on it is asked about again."""
        await self._json("DELETE", f"/v1/rules/{quote(rule, safe='')}")

    # Stepping in

    async def intervene(
        self, task: str, text: str, mode: Literal["steer", "queue", "interrupt"] = "steer"
    ) -> dict[str, Any]:
        """Say something to a run that works: at its next step, after its answer, or now. Returns the receipt."""
        body = {"text": text, "mode": mode}
        receipt: dict[str, Any] = await self._json("POST", f"{_task(task)}/interventions", body=body)
        return receipt

    async def interventions(self, task: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self._json("GET", f"{_task(task)}/interventions")
        return found

    async def retract(self, task: str, intervention: str) -> dict[str, Any]:
        """Take it back, as long as nobody has heeded it."""
        path = f"{_task(task)}/interventions/{quote(intervention, safe='')}"
        receipt: dict[str, Any] = await self._json("DELETE", path)
        return receipt

    async def _answered(self, approval: str, how: str, body: dict[str, Any]) -> dict[str, Any]:
        answered: dict[str, Any] = await self._json("POST", f"{_approval(approval)}/{how}", body=body)
        return answered

    async def _json(self, method: str, path: str, params: dict[str, Any] | None = None, *, body: object = None) -> Any:
        return await self._http.json(method, path, params=params, body=body, within_s=ANSWER_S)


def _task(task: str) -> str:
    return f"/v1/tasks/{quote(task, safe='')}"


def _approval(approval: str) -> str:
    return f"/v1/approvals/{quote(approval, safe='')}"
