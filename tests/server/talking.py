"""What tests of the platform door share: a tenant with an employee, and what its people say."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from door_client import Answer, Frame, Watch, ask
from door_serving import Serving

PLACE = "/api/v1/conversations"
_COUNT = itertools.count()


@dataclass(frozen=True)
class Office:
    """An employee of a tenant that may use the server's model."""

    server: Serving
    tenant: str
    employee: str

    async def open(self, **given: Any) -> str:
        body = {"tenant_id": self.tenant, "employee_id": self.employee, "user_id": "user-001", **given}
        answer = await ask(self.server, "POST", PLACE, body)
        assert answer.status == 201, answer
        return str(answer.document["id"])

    async def say(self, conversation: str, content: str, **headers: str) -> Watch:
        path = f"{PLACE}/{conversation}/messages/stream"
        watch = await Watch.open(self.server, "POST", path, {"content": content}, headers)
        assert watch.status == 200, watch
        return watch

    async def answered(self, conversation: str, content: str) -> list[Frame]:
        return await (await self.say(conversation, content)).rest()

    async def messages(self, conversation: str, query: str = "") -> list[dict[str, Any]]:
        answer = await self.get(f"{PLACE}/{conversation}/messages{query}")
        assert answer.status == 200, answer
        found: list[dict[str, Any]] = answer.document
        return found

    async def get(self, path: str) -> Answer:
        return await ask(self.server, "GET", path)

    async def post(self, path: str, body: object = None, **headers: str) -> Answer:
        return await ask(self.server, "POST", path, body, headers)


async def office(server: Serving, config: Any = None, **profile: Any) -> Office:
    number = next(_COUNT)
    made = await ask(server, "POST", "/api/v1/tenants", {"name": f"Office {number}", "slug": f"office-{number}"})
    tenant = made.document["id"]
    wanted = {"server_default": "when_unset", **(config or {})}
    lent = await ask(server, "PUT", f"/api/v1/tenants/{tenant}/config", wanted)
    assert lent.status == 200, lent
    body = {"tenant_id": tenant, "name": "Анна", "system_prompt": "You are a helpful assistant.", **profile}
    hired = await ask(server, "POST", "/api/v1/employees", body)
    assert hired.status == 201, hired
    return Office(server, tenant, hired.document["id"])


def text_of(frames: list[Frame]) -> str:
    return "".join(frame.data["content"] for frame in frames if frame.event == "token")
