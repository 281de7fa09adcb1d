"""What tests of the board share: a log with a tenant on it, people and agents who act as themselves."""

from __future__ import annotations

from typing import Any

from quarterdeck.actions.board.cards import NewTask, open_task
from quarterdeck.actions.board.members import NewMember, add_member
from quarterdeck.actions.board.projects import NewProject, open_project
from quarterdeck.actions.board.speech import Words, post_message
from quarterdeck.actions.desk import Desk
from quarterdeck.adapters.system import SystemIds
from quarterdeck.engine.access import RIGHTS
from quarterdeck.engine.board.people import Project
from quarterdeck.events.base import Event
from quarterdeck.kernel.board import AGENT, MemberConfig
from quarterdeck.kernel.ids import StreamName, inbox_stream, project_stream
from quarterdeck.kernel.scope import LOCAL_OWNER, LOCAL_TENANT, Scope
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Clock, Query
from quarterdeck.views.board import CHAT_MESSAGES, WAKES
from quarterdeck.views.board_book import BoardBook
from quarterdeck.views.board_tasks import CARDS

OWNER = LOCAL_OWNER


class HandClock:
    """A clock with hands."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.hand = now

    def now(self) -> float:
        return self.hand

    def steady(self) -> float:
        return self.hand


class Boardroom:
    def __init__(self, desk: Desk) -> None:
        self.desk, self.log, self.clock = desk, desk.log, desk.clock
        self.book = BoardBook(desk.log, LOCAL_TENANT)

    @classmethod
    def on(cls, log: Log, clock: Clock) -> Boardroom:
        return cls(Desk(log, SystemIds(), clock))

    async def agent(self, slug: str, **config: Any) -> Scope:
        """A new agent, as it acts."""
        wish = NewMember("agent", slug.title(), slug, MemberConfig(**config))
        return self.acting((await add_member(self.desk, OWNER, wish)).id)

    def acting(self, member: str) -> Scope:
        return Scope(LOCAL_TENANT, f"{AGENT}{member}", RIGHTS["agent"])

    async def project(self, slug: str = "dock", *members: str) -> Project:
        ident = await open_project(self.desk, OWNER, self.book, NewProject(slug.title(), slug, "", members))
        found = await self.book.project(ident)
        assert found is not None
        return found

    async def say(self, scope: Scope, chat: str, content: str, **more: Any) -> dict[str, Any]:
        ident = await post_message(self.desk, scope, self.book, chat, Words(content, **more))
        line = await self.log.get(CHAT_MESSAGES, tenant=LOCAL_TENANT, id=ident)
        assert line is not None
        return line

    async def task(self, project: str, title: str = "Count the ropes", scope: Scope = OWNER, **more: Any) -> str:
        return await open_task(self.desk, scope, self.book, project, NewTask(title, **more))

    async def card(self, task: str) -> dict[str, Any]:
        line = await self.log.get(CARDS, tenant=LOCAL_TENANT, id=task)
        assert line is not None
        return line

    async def wakes(self, **where: object) -> list[dict[str, Any]]:
        return await self.log.find(Query(WAKES, {"tenant": LOCAL_TENANT, **where}, "id"))

    async def told(self, project: str) -> list[Event]:
        return await self._events(project_stream(LOCAL_TENANT, project))

    async def inbox(self, scope: Scope) -> list[Event]:
        return await self._events(inbox_stream(LOCAL_TENANT, id_of(scope)))

    async def _events(self, name: StreamName) -> list[Event]:
        return [event_of(row) for row in await self.log.read(name)]


def id_of(scope: Scope) -> str:
    return scope.actor.removeprefix(AGENT)
