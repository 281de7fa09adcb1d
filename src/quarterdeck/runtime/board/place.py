"""Where an agent works: its member, its project, and the words that its work begins and ends with."""

from __future__ import annotations

from dataclasses import dataclass

from quarterdeck.actions.board.cards import card_for
from quarterdeck.actions.desk import Desk
from quarterdeck.engine.access import RIGHTS
from quarterdeck.engine.board import briefing, card
from quarterdeck.engine.board.briefing import Line
from quarterdeck.engine.board.card import Card
from quarterdeck.engine.board.people import Member, Project
from quarterdeck.events.inbox import WakeQueued
from quarterdeck.kernel.board import AGENT, Reason
from quarterdeck.kernel.errors import Problem
from quarterdeck.kernel.ids import StreamName
from quarterdeck.kernel.scope import Scope
from quarterdeck.ports import Query
from quarterdeck.runtime.roles import Providers
from quarterdeck.views.board import CHAT_MESSAGES
from quarterdeck.views.board_book import BoardBook
from quarterdeck.views.board_tasks import CARD_COMMENTS

LATEST = 40
WORK: frozenset[Reason] = frozenset({"assignment", "unblocked", "sent_back"})


@dataclass(frozen=True, slots=True)
class StaffCrew:
    """What it takes to drive agents. The worker's name is its own: it keeps claims of its own."""

    desk: Desk
    providers: Providers
    worker: str
    deadline_s: float | None = None


class Dropped(Exception):
    """There is nothing to be done any more, and why."""


@dataclass(frozen=True, slots=True)
class Place:
    """One member's inbox, and that member as it acts."""

    crew: StaffCrew
    inbox: StreamName

    @property
    def book(self) -> BoardBook:
        return BoardBook(self.crew.desk.log, self.inbox.tenant)

    @property
    def scope(self) -> Scope:
        return Scope(self.inbox.tenant, f"{AGENT}{self.inbox.key}", RIGHTS["agent"])

    async def member(self) -> Member | None:
        """None where we do not drive it any more."""
        found = await self.book.member(self.inbox.key)
        return found if found is not None and found.ours else None

    async def project(self, wake: WakeQueued, member: Member) -> Project:
        project = await self.book.project(wake.project)
        if project is None or project.archived or not await self.book.is_in(wake.project, member.id):
            raise Dropped("it is not in that project, or the project is archived")
        return project

    async def card(self, wake: WakeQueued, member: Member) -> Card | None:
        """The task it is about, if it still is this member's business."""
        if wake.task is None:
            return None
        try:
            found = await card_for(self.crew.desk, self.book, member, wake.task)
            card.may_speak(found, member.voice)
        except Problem as problem:
            raise Dropped(problem.detail) from None
        if wake.reason in WORK and (member.id not in found.assignees or found.status not in card.WAKING):
            raise Dropped("the task is not its own any more, or not to be worked on")
        return found

    async def brief(self, wake: WakeQueued, member: Member, found: Card | None) -> str:
        if found is not None:
            lines = await self._comments(found.id, wake.source)
            return briefing.card_brief(wake, found, lines)
        assert wake.chat is not None
        return briefing.chat_brief(wake, await self._since(wake, member))

    async def _since(self, wake: WakeQueued, member: Member) -> list[Line]:
        """What was said in the chat since this member last spoke there, up to what woke it."""
        log = self.crew.desk.log
        source = None if wake.source is None else await log.get(CHAT_MESSAGES, tenant=self.inbox.tenant, id=wake.source)
        if source is None:
            return []
        where = {"tenant": self.inbox.tenant, "chat": wake.chat}
        asked = Query(CHAT_MESSAGES, where, "place", descending=True, after=source["place"], limit=LATEST)
        found = [source]
        for line in await log.find(asked):
            if line["author"] == member.id:
                break
            found.append(line)
        return [Line(line["author_slug"], line["content"]) for line in reversed(found)]

    async def _comments(self, task: str, source: str | None) -> list[Line]:
        where = {"tenant": self.inbox.tenant, "card": task}
        lines = await self.crew.desk.log.find(Query(CARD_COMMENTS, where, "place", descending=True, limit=LATEST))
        return [Line(line["author_slug"], line["content"]) for line in reversed(lines) if line["id"] != source]
