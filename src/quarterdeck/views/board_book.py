"""The board of one tenant, looked up by those who act at it and by those who show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.engine.board.card import ENDED
from quarterdeck.engine.board.people import Chat, Member, Project, Uttered
from quarterdeck.kernel.board import MemberConfig
from quarterdeck.kernel.ids import TenantId
from quarterdeck.log.log import Log
from quarterdeck.ports import Query
from quarterdeck.views.access import USERS
from quarterdeck.views.board import CHAT_MESSAGES, CHATS, MEMBERS, PROJECT_MEMBERS, PROJECTS, names_in
from quarterdeck.views.board_tasks import CARD_LINKS, CARDS

MOST = 10_000


class BoardBook:
    def __init__(self, log: Log, tenant: TenantId) -> None:
        self._log, self._tenant = log, tenant

    @property
    def tenant(self) -> TenantId:
        return self._tenant

    async def member(self, ident: str) -> Member | None:
        line = await self._log.get(MEMBERS, tenant=self._tenant, id=ident)
        return None if line is None else member_of(line)

    async def by_slug(self, slug: str) -> Member | None:
        return await self._one(slug=slug, removed=0)

    async def by_account(self, account: str) -> Member | None:
        return await self._one(account=account, removed=0)

    async def account_name(self, account: str) -> str | None:
        line = await self._log.get(USERS, tenant=self._tenant, id=account.partition(":")[2])
        return None if line is None else str(line["name"])

    async def _one(self, **where: object) -> Member | None:
        lines = await self._log.find(Query(MEMBERS, {"tenant": self._tenant, **where}, "id", limit=1))
        return member_of(lines[0]) if lines else None

    async def project(self, ident: str) -> Project | None:
        line = await self._log.get(PROJECTS, tenant=self._tenant, id=ident)
        if line is None:
            return None
        named = (line["id"], line["name"], line["slug"], line["description"])
        return Project(*named, line["chat"], bool(line["archived"]))

    async def is_in(self, project: str, member: str) -> bool:
        return await self._log.get(PROJECT_MEMBERS, tenant=self._tenant, project=project, member=member) is not None

    async def projects_of(self, member: str) -> Sequence[str]:
        where = {"tenant": self._tenant, "member": member}
        return [line["project"] for line in await self._log.find(Query(PROJECT_MEMBERS, where, "project", limit=MOST))]

    async def members_of(self, project: str) -> Sequence[Member]:
        return await self._among(project, {"removed": 0})

    async def ours_in(self, project: str) -> Sequence[Member]:
        return await self._among(project, {"runtime": "built_in", "removed": 0})

    async def _among(self, project: str, where: Mapping[str, object]) -> Sequence[Member]:
        """Those of the project, in the order of their slugs."""
        lines = await self._log.find(Query(MEMBERS, {"tenant": self._tenant, **where}, "slug", limit=MOST))
        if not lines:
            return []
        inside = {"tenant": self._tenant, "project": project}
        here = {line["member"] for line in await self._log.find(Query(PROJECT_MEMBERS, inside, "member", limit=MOST))}
        return [member_of(line) for line in lines if line["id"] in here]

    async def chat(self, ident: str) -> Chat | None:
        line = await self._log.get(CHATS, tenant=self._tenant, id=ident)
        if line is None:
            return None
        members, known = names_in(line["members"]), (line["id"], line["project"], line["kind"], line["name"])
        return Chat(*known, line["root"], members, line["turns"])

    async def message(self, ident: str) -> Uttered | None:
        line = await self._log.get(CHAT_MESSAGES, tenant=self._tenant, id=ident)
        return None if line is None else Uttered(line["id"], line["chat"], line["hops"])

    async def project_of_card(self, ident: str) -> str | None:
        line = await self._log.get(CARDS, tenant=self._tenant, id=ident)
        return None if line is None else str(line["project"])

    async def unended(self, cards: Sequence[str]) -> Sequence[str]:
        lines = [await self._log.get(CARDS, tenant=self._tenant, id=ident) for ident in cards]
        return [line["id"] for line in lines if line is not None and line["status"] not in ENDED]

    async def needing(self, card: str) -> Sequence[str]:
        where = {"tenant": self._tenant, "needs": card}
        return [line["card"] for line in await self._log.find(Query(CARD_LINKS, where, "card", limit=MOST))]


def member_of(line: Mapping[str, Any]) -> Member:
    config = MemberConfig(
        line["chat_listen"],
        line["task_listen"],
        line["max_concurrent_tasks"],
        names_in(line["capabilities"]),
        names_in(line["labels"]),
        line["model"],
        line["provider"],
        line["prompt"],
        line["runtime"],
        None if line["tools"] is None else names_in(line["tools"]),
    )
    known = (line["id"], line["type"], line["name"], line["slug"], config)
    return Member(*known, line["account"], bool(line["removed"]))
