"""What an outside agent is to hear: chosen by how it listens, told in order, and told again until it is acknowledged.

A delivery is no thing of its own: it is an event of a project, as it concerns one member. What is kept is only how far
the member has come.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from quarterdeck.actions import deliveries as actions
from quarterdeck.actions.desk import Desk
from quarterdeck.engine import delivery as rules
from quarterdeck.engine.board.people import Member
from quarterdeck.engine.delivery import Handled
from quarterdeck.events.project import MemberJoined, MemberLeft
from quarterdeck.kernel.errors import Invalid, Problem
from quarterdeck.kernel.ids import StreamName, project_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Query, Row
from quarterdeck.server.hub.line import Line
from quarterdeck.views import hub_wire
from quarterdeck.views.board import CHATS, names_in
from quarterdeck.views.board_tasks import CARD_ASSIGNEES
from quarterdeck.views.deliveries import MAILBOXES

PAGE = 500

logger = logging.getLogger("quarterdeck.server")


class _Project:
    """How far one project was read, and which deliveries are out."""

    def __init__(self, handled: Handled, *, inside: bool) -> None:
        self.handled, self.inside = handled, inside
        self.read = handled.floor
        self.out: set[int] = set()


class Mailbox:
    """Belongs to one connection of one agent. `me` is replaced when its configuration changes."""

    def __init__(self, desk: Desk, scope: Scope, me: Member, line: Line, most: int) -> None:
        self._desk, self._scope, self.me, self._line, self._most = desk, scope, me, line, most
        self._projects: dict[str, _Project] = {}
        self._dirty: set[str] = set()
        self._news = asyncio.Event()
        self._acked: dict[str, set[int]] = {}
        self._kept: list[asyncio.Future[None]] = []
        self._direct: dict[str, frozenset[str]] = {}
        self._to_keep = asyncio.Event()
        self._tasks = [asyncio.ensure_future(self._deliver()), asyncio.ensure_future(self._keep())]
        for task in self._tasks:
            task.add_done_callback(self._stopped)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _stopped(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("the deliveries of %s stopped", self.me.id, exc_info=error)
            self._line.part(1011, "internal")

    def heed(self, project: str) -> None:
        """Something may have happened there."""
        self._dirty.add(project)
        self._news.set()

    def ack(self, delivery: str) -> asyncio.Future[None]:
        """Done with a delivery. What is returned is done once that is durable."""
        project, _, seq = delivery.rpartition(":")
        if not seq.isdecimal() or project not in self._projects:
            raise Invalid("`delivery_id` is that of a delivery you were told.", code="unknown_delivery")
        known = self._projects[project]
        if int(seq) in known.out:
            known.out.discard(int(seq))
            self._acked.setdefault(project, set()).add(int(seq))
            self._to_keep.set()
            self._dirty.update(self._projects)  # there is room again, for any of them
            self._news.set()
            self._kept.append(kept := asyncio.get_running_loop().create_future())
            return kept
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    @property
    def _out(self) -> int:
        return sum(len(each.out) for each in self._projects.values())

    # Telling

    async def _deliver(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            dirty, self._dirty = self._dirty, set()
            for project in sorted(dirty):
                await self._read(project)

    async def _read(self, project: str) -> None:
        known = self._projects.get(project) or await self._begin(project)
        name = project_stream(self._scope.tenant, project)
        while self._out < self._most and (rows := await self._desk.log.read(name, known.read, PAGE)):
            for row in rows:
                if row.last <= known.read:
                    continue
                if self._out >= self._most:
                    return
                if row.kind in rules.KINDS:
                    await self._tell(name, known, row)
                known.read = row.last
            self._note(project, known)

    async def _begin(self, project: str) -> _Project:
        key = {"tenant": self._scope.tenant, "member": self.me.id, "project": project}
        line = await self._desk.log.get(MAILBOXES, **key)
        handled = Handled() if line is None else Handled(line["floor"], actions.above_of(line))
        known = self._projects[project] = _Project(handled, inside=handled.floor > 0)
        return known

    async def _tell(self, name: StreamName, known: _Project, row: Row) -> None:
        event = event_of(row)
        if isinstance(event, MemberJoined | MemberLeft):
            if event.member.member == self.me.id:
                known.inside = isinstance(event, MemberJoined)
            return
        if not known.inside or row.first in known.handled.above:
            return
        reason = rules.due(self.me, event, await self._around(event))
        if reason is None:
            return
        await self._line.drained()
        _, kind, data = next(iter(hub_wire.told(row)))
        told = {"type": kind, "data": {**data, "project_id": name.key, "seq": row.first, "at": row.at}}
        known.out.add(row.first)
        wakes = getattr(event, "held", None) is None
        delivery = {"delivery_id": f"{name.key}:{row.first}", "reason": reason, "wakes": wakes, "event": told}
        self._line.tell("delivery", delivery)

    async def _around(self, event: Any) -> rules.Around:
        """What the rules have to know besides the event: who has the task, whether the chat is a direct one."""
        tenant = self._scope.tenant
        task, chat = getattr(event, "task", None), getattr(event, "chat", None)
        assigned = task is not None and await self._has(tenant, task)
        if chat is None:
            return rules.Around(assigned=assigned)
        if chat not in self._direct:
            line = await self._desk.log.get(CHATS, tenant=tenant, id=chat)
            direct = line is not None and line["kind"] == "direct"
            self._direct[chat] = frozenset(names_in(line["members"])) if direct and line is not None else frozenset()
        return rules.Around(direct=self._direct[chat] or None)

    async def _has(self, tenant: str, task: str) -> bool:
        where: Mapping[str, object] = {"tenant": tenant, "card": task, "member": self.me.id}
        return bool(await self._desk.log.find(Query(CARD_ASSIGNEES, where, "card", limit=1)))

    # Keeping

    def _note(self, project: str, known: _Project) -> None:
        """How far all is handled, if that is further than was kept; most of a project concerns nobody."""
        if known.inside and not known.out and known.read - known.handled.floor > PAGE:
            self._acked.setdefault(project, set())
            self._to_keep.set()

    async def _keep(self) -> None:
        """Many acknowledgements that come together are one event."""
        await asyncio.sleep(0)
        while True:
            await self._to_keep.wait()
            self._to_keep.clear()
            acked, self._acked = self._acked, {}
            waiting, self._kept = self._kept, []
            for project, seqs in acked.items():
                known = self._projects[project]
                handled = rules.handled(known.handled, seqs, known.out, known.read)
                if handled == known.handled or not known.inside:
                    continue
                try:
                    await actions.handle(self._desk, self._scope, self.me.id, project, handled)
                except Problem:  # told again at the next connection, which does no harm
                    continue
                known.handled = handled
            for each in waiting:
                if not each.done():
                    each.set_result(None)
