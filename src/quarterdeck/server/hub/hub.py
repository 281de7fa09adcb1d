"""All that is connected on one loop: who is here, which rooms are open, who is told that something changed."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Protocol

import orjson

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.outside import OUTSIDE, expire
from quarterdeck.engine.board.people import Member
from quarterdeck.events.member import MemberChanged, MemberRemoved
from quarterdeck.events.project import MemberJoined, MemberLeft
from quarterdeck.events.tool import ApprovalDecided
from quarterdeck.kernel.errors import LimitReached, Problem
from quarterdeck.kernel.ids import StreamName, TenantId
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.doorbell import News
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Query, Row
from quarterdeck.server.access import Access
from quarterdeck.server.hub import limits
from quarterdeck.server.hub.line import Line
from quarterdeck.server.hub.room import Pace, Privacy, ProjectTelling, Room, TeamTelling, Telling
from quarterdeck.server.hub.speech import Pens, Speaking
from quarterdeck.server.websocket.frames import text
from quarterdeck.views.agent_streams import AGENT_STREAMS
from quarterdeck.views.approvals import APPROVALS
from quarterdeck.views.board import CHATS, names_in

SWEEP_S = 5.0
EXPIRE_S = 60.0
IDLE_S = 60.0  # after which a room in which nobody is is closed


class Guest(Protocol):
    """One client, as the hub knows it."""

    @property
    def key(self) -> tuple[TenantId, str]:
        """The member."""

    @property
    def line(self) -> Line: ...

    def start_mail(self) -> None: ...

    def stop_mail(self) -> None: ...

    def heed(self, stream: StreamName) -> None: ...

    def moved(self, project: str, *, joined: bool) -> None: ...

    def changed(self, event: MemberChanged) -> None: ...

    def decided(self, tenant: TenantId, event: ApprovalDecided) -> None: ...


class Hub:
    """Belongs to one event loop."""

    def __init__(self, desk: Desk, access: Access, speaking: Speaking) -> None:
        self.desk, self.access = desk, access
        self.pens = Pens(desk, speaking)
        self.draining = False
        self._look_at = 0.0
        self._pace = Pace()
        self._rooms: dict[StreamName, asyncio.Future[Room]] = {}
        self._sessions: dict[tuple[TenantId, str], list[Guest]] = {}
        self._newcomers: Counter[str] = Counter()
        self._leave = desk.log.listen(self._heard)
        self._sweeper = asyncio.ensure_future(self._sweep())

    async def open(self) -> None:
        await self.pens.open()

    def close(self) -> None:
        self._leave()
        self._sweeper.cancel()
        self.pens.close()
        for room in self._rooms.values():
            if room.done() and not room.cancelled() and room.exception() is None:
                room.result().close()

    def abandon(self) -> None:
        """Its loop is gone, and all that was connected with it."""
        self.pens.abandon()

    def drain(self) -> None:
        """Send everybody away, to come back."""
        self.draining = True
        for session in tuple(self._all()):
            session.line.part(4503, "draining", retry_ms=1000)

    def __len__(self) -> int:
        return sum(map(len, self._sessions.values()))

    def _all(self) -> Iterator[Guest]:
        for sessions in self._sessions.values():
            yield from sessions

    # Coming and going

    @contextlib.contextmanager
    def newcomer(self, address: str) -> Iterator[None]:
        """Somebody who has not said who they are; only so many of one address."""
        if self._newcomers[address] >= limits.NEWCOMERS:
            raise LimitReached("Too many connections that did not say who they are.", code="too_many_connections")
        self._newcomers[address] += 1
        try:
            yield
        finally:
            self._newcomers[address] -= 1
            if not self._newcomers[address]:
                del self._newcomers[address]

    def enter(self, session: Guest) -> None:
        here = self._sessions.setdefault(session.key, [])
        if len(here) >= limits.SOCKETS:
            raise LimitReached(f"At most {limits.SOCKETS} connections of one member.", code="too_many_connections")
        here.append(session)

    def leave(self, session: Guest) -> None:
        here = self._sessions.get(session.key, [])
        if session in here:
            here.remove(session)
        if not here:
            self._sessions.pop(session.key, None)

    def others(self, session: Guest) -> list[Guest]:
        return [each for each in self._sessions.get(session.key, []) if each is not session]

    # Rooms

    async def room(self, name: StreamName) -> Room:
        """Of a project, or of a team's run."""
        opening = self._rooms.get(name)
        if opening is None:
            opening = self._rooms[name] = asyncio.ensure_future(self._opened(name))
        try:
            room = await asyncio.shield(opening)
        except Exception:
            if self._rooms.get(name) is opening:
                del self._rooms[name]
            raise
        room.wanted_at = asyncio.get_running_loop().time()
        return room

    async def _opened(self, name: StreamName) -> Room:
        """The place is looked up before what is private: so what comes in between is read twice, and never missed."""
        log = self.desk.log
        state = await log.look(name)
        telling = TeamTelling(name.key) if name.kind == "team_run" else await self._of_project(name)
        return Room(log, name, 0 if state is None else state.head, telling, self._pace)

    async def _of_project(self, name: StreamName) -> Telling:
        log = self.desk.log
        where = {"tenant": name.tenant, "project": name.key}
        lines = await log.find(Query(CHATS, where, "id", limit=10_000))
        direct = {line["id"]: frozenset(names_in(line["members"])) for line in lines if line["kind"] == "direct"}
        streams: dict[str, str] = {}
        for chat in direct:
            found = await log.find(Query(AGENT_STREAMS, {"tenant": name.tenant, "chat": chat}, "id", limit=10_000))
            streams |= {line["id"]: chat for line in found}
        return ProjectTelling(name.key, Privacy(direct, streams))

    def tell_presence(self, room: Room, member: Member, status: str, but: Guest) -> None:
        told = {"project_id": room.name.key, "member_id": member.id, "slug": member.slug, "status": status}
        room.tell(text(orjson.dumps({"type": "presence", "data": told})), but.line)

    # What happens elsewhere

    def _heard(self, news: News) -> None:
        if not self._sessions:
            return
        for stream, row in news:
            if stream.kind == "project":
                self._in_project(stream, row)
            elif stream.kind == "member" and (sessions := self._sessions.get((stream.tenant, stream.key))):
                self._to_member(tuple(sessions), row)
            elif row.kind == ApprovalDecided.KIND and stream.kind == "approval":
                self._decided(stream.tenant, row)

    def _in_project(self, stream: StreamName, row: Row) -> None:
        if row.kind in {MemberJoined.KIND, MemberLeft.KIND}:
            event = event_of(row)
            assert isinstance(event, MemberJoined | MemberLeft)
            for session in tuple(self._sessions.get((stream.tenant, event.member.member), ())):
                session.moved(stream.key, joined=isinstance(event, MemberJoined))
        for session in tuple(self._all()):
            session.heed(stream)

    def _to_member(self, sessions: tuple[Guest, ...], row: Row) -> None:
        event = event_of(row)
        for session in sessions:
            if isinstance(event, MemberRemoved):
                session.line.part(4401, "member_removed")
            elif isinstance(event, MemberChanged):
                session.changed(event)

    def _decided(self, tenant: TenantId, row: Row) -> None:
        event = event_of(row)
        assert isinstance(event, ApprovalDecided)
        for session in tuple(self._all()):
            session.decided(tenant, event)

    # Liveness

    async def _sweep(self) -> None:
        """Ask who was silent for a while; let go of who is dead."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_S)
            now = loop.time()
            self._tidy(now)
            if now >= self._look_at:
                self._look_at = now + EXPIRE_S
                await self._expire()
            for session in tuple(self._all()):
                silent = now - session.line.wire.heard_at
                if session.line.wire.held:
                    continue
                if silent > limits.DEAD_S:
                    session.line.part(4408, "silent")
                elif silent > limits.PING_S:
                    session.line.wire.ping()

    async def _expire(self) -> None:
        """What agents outside asked and nobody answered in time."""
        with contextlib.suppress(Problem):
            lines = await self.desk.log.find(Query(APPROVALS, {"state": "pending"}, "id", limit=1_000))
            for line in lines:
                late = line["expires_at"] is not None and line["expires_at"] <= self.desk.clock.now()
                if late and line["run"].startswith(OUTSIDE):
                    await expire(self.desk, Scope(line["tenant"], "system"), line["id"])

    def _tidy(self, now: float) -> None:
        for name, opening in tuple(self._rooms.items()):
            if opening.done() and (room := opening.result()).empty and now - room.wanted_at > IDLE_S:
                del self._rooms[name]
                room.close()
