"""What an agent of a board that we drive can do there besides answering: as itself, within what it may."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from quarterdeck.actions.board import cards, speech, work
from quarterdeck.actions.board.members import resolved
from quarterdeck.actions.desk import Desk
from quarterdeck.adapters.tools.arguments import Says
from quarterdeck.adapters.tools.tool import Function, Say
from quarterdeck.adapters.tools.toolbox import LocalToolbox
from quarterdeck.engine.access import RIGHTS
from quarterdeck.kernel.board import AGENT
from quarterdeck.kernel.errors import Problem, ToolFailed
from quarterdeck.kernel.parts import ToolCall, ToolSpec
from quarterdeck.kernel.scope import Scope
from quarterdeck.ports import Deed, Done, Query, Site, Toolbox, Weighed
from quarterdeck.views.agent_streams import AGENT_STREAMS
from quarterdeck.views.board import WAKES, names_in
from quarterdeck.views.board_book import BoardBook
from quarterdeck.views.board_tasks import CARDS

MOST_TOLD = 100
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LookAround:
    """Nothing to say."""


@dataclass(frozen=True, slots=True)
class SayThere:
    content: Annotated[str, Says("what to say; @name mentions a member", least=1, most=20_000)]


@dataclass(frozen=True, slots=True)
class OpenTask:
    title: Annotated[str, Says("what is to be done, in a few words", least=1, most=300)]
    description: Annotated[str, Says("what whoever does it has to know", most=20_000)] = ""
    assignees: Annotated[tuple[str, ...], Says("the names of members who are to do it")] = ()
    depends_on: Annotated[tuple[str, ...], Says("ids of tasks that have to be done first")] = ()


@dataclass(frozen=True, slots=True)
class CommentTask:
    task: Annotated[str, Says("the id of a task that was given to you", least=1, most=200)]
    content: Annotated[str, Says("what to say about it", least=1, most=20_000)]


@dataclass(frozen=True, slots=True)
class HandTask:
    task: Annotated[str, Says("the id of a task of yours", least=1, most=200)]
    to: Annotated[str, Says("the name of the member who takes it", least=1, most=200)]
    words: Annotated[str, Says("what they have to know", most=20_000)] = ""


@dataclass(frozen=True, slots=True)
class _Seat:
    """Who the run works as, and where: known from the log, never from what the run says."""

    scope: Scope
    book: BoardBook
    project: str
    hops: int


class _Desk:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def line(self, site: Site) -> Mapping[str, Any] | None:
        """The first stream of a run goes by the run's own id, and only we begin one that names a run."""
        line = await self._desk.log.get(AGENT_STREAMS, tenant=site.tenant, id=site.run)
        return line if line is not None and line["run"] == site.run else None

    async def _seat(self, deed: Deed) -> _Seat:
        line = await self.line(deed.site)
        if line is None:
            raise ToolFailed("This run is nobody's on a board.")
        tenant = deed.site.tenant
        where = {"tenant": tenant, "member": line["agent"], "run": deed.site.run}
        wakes = await self._desk.log.find(Query(WAKES, where, "id", descending=True, limit=1))
        hops = wakes[0]["hops"] if wakes else 0
        scope = Scope(tenant, f"{AGENT}{line['agent']}", RIGHTS["agent"])
        return _Seat(scope, BoardBook(self._desk.log, tenant), line["project"], hops)

    async def look(self, _: LookAround, deed: Deed) -> str:
        seat = await self._seat(deed)
        members = {each.id: each for each in await seat.book.members_of(seat.project)}
        where = {"tenant": deed.site.tenant, "project": seat.project}
        lines = await self._desk.log.find(Query(CARDS, where, "id", descending=True, limit=MOST_TOLD))
        tasks = [
            {
                "id": line["id"],
                "title": line["title"],
                "status": line["status"],
                "assignees": [members[each].slug for each in names_in(line["assignees"]) if each in members],
            }
            for line in lines
        ]
        people = [f"@{each.slug} ({each.name}, {each.type})" for each in members.values()]
        return json.dumps({"members": people, "tasks": tasks}, ensure_ascii=False)

    async def say(self, asked: SayThere, deed: Deed) -> str:
        seat = await self._seat(deed)
        project = await seat.book.project(seat.project)
        if project is None:
            raise ToolFailed("The project is not there any more.")
        words = speech.Words(asked.content, hops=seat.hops + 1)
        body = asked.content.encode()
        said = speech.post_message(self._desk, seat.scope, seat.book, project.chat, words, key=_key(deed), body=body)
        return f"Said, as message {await _told(said)}."

    async def open_task(self, asked: OpenTask, deed: Deed) -> str:
        seat = await self._seat(deed)
        about = (asked.assignees, asked.depends_on)
        wish = cards.NewTask(asked.title, asked.description, "todo", "normal", (), *about, hops=seat.hops)
        body = deed.weighed.arguments.encode()
        opened = cards.open_task(self._desk, seat.scope, seat.book, seat.project, wish, key=_key(deed), body=body)
        return f"Opened, as task {await _told(opened)}."

    async def comment(self, asked: CommentTask, deed: Deed) -> str:
        seat = await self._seat(deed)
        words, body = speech.Words(asked.content, hops=seat.hops + 1), asked.content.encode()
        said = speech.comment(self._desk, seat.scope, seat.book, asked.task, words, key=_key(deed), body=body)
        return f"Said, as comment {await _told(said)}."

    async def hand_over(self, asked: HandTask, deed: Deed) -> str:
        """Done again after a crash, it finds that it was done."""
        seat = await self._seat(deed)
        [taker] = await _told(resolved(seat.book, [asked.to]))
        line = await self._desk.log.get(CARDS, tenant=deed.site.tenant, id=asked.task)
        if line is None or names_in(line["assignees"]) != (taker.id,):
            await _told(work.hand_over(self._desk, seat.scope, seat.book, asked.task, taker.id, asked.words))
        return f"It is @{taker.slug}'s now."


class WithBoard:
    """Keeps the `Toolbox` port: another toolbox, and those of the board for runs that work there."""

    def __init__(self, toolbox: Toolbox, desk: Desk) -> None:
        self._toolbox, self._desk = toolbox, _Desk(desk)
        self._board = LocalToolbox(_tools(self._desk))

    async def specs(self, site: Site) -> tuple[ToolSpec, ...]:
        board = await self._board.specs(site) if await self._desk.line(site) is not None else ()
        return (*await self._toolbox.specs(site), *board)

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:
        return await (await self._for(call, site)).weigh(call, site)

    async def use(self, deed: Deed, say: Say) -> Done:
        return await (await self._for(deed.call, deed.site)).use(deed, say)

    async def probe(self, deed: Deed) -> Done | None:
        return await (await self._for(deed.call, deed.site)).probe(deed)

    async def _for(self, call: ToolCall, site: Site) -> Toolbox:
        ours = call.name in NAMES and await self._desk.line(site) is not None
        return self._board if ours else self._toolbox


def _tools(desk: _Desk) -> tuple[Function[Any], ...]:
    def tool(name: str, says: str, takes: type[Any], function: Callable[[Any, Deed], Awaitable[str]]) -> Function[Any]:
        pure = takes is LookAround
        return Function(name, says, takes, function, "pure" if pure else "keyed", "low", "board")

    return (
        tool("board_look", "Look who is in your project and which tasks it has.", LookAround, desk.look),
        tool("board_say", "Say something in the main chat of your project, besides your answer.", SayThere, desk.say),
        tool("board_open_task", "Open a task in your project, for yourself or others.", OpenTask, desk.open_task),
        tool("board_comment", "Comment on a task that was given to you.", CommentTask, desk.comment),
        tool("board_hand_over", "Give a task of yours to another member of your project.", HandTask, desk.hand_over),
    )


NAMES = frozenset({"board_look", "board_say", "board_open_task", "board_comment", "board_hand_over"})


def _key(deed: Deed) -> str:
    """Of a shape and length of our own: a call's id is whatever the model made of it."""
    return f"tool-{hashlib.sha256(deed.key.encode()).hexdigest()[:40]}"


async def _told(doing: Awaitable[T]) -> T:
    try:
        return await doing
    except Problem as problem:
        raise ToolFailed(problem.detail) from None
