"""A stream on the hub: one cursor for all who are level with it, and one for each who is behind.

There is no queue for a client. A row's frames are made once and written to every socket; a socket that takes no more
is left where it is, and catches up by a cursor of its own when it does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from quarterdeck.events.agent_stream import AgentStreamDelta, AgentStreamStarted
from quarterdeck.events.project import ChatOpened, MessagePosted
from quarterdeck.kernel.cursor import parse_place
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.cursor import Gap
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Row
from quarterdeck.server.hub.line import Line
from quarterdeck.server.websocket.frames import text, texts
from quarterdeck.views import hub_wire
from quarterdeck.views.team_wire import hub_frame

PIECE = 64 * 1024
BUSY = 4_000  # deliveries a second from which on it pays to say several things at once
GATHER_S = 0.04


class Pace:
    """How much a loop has to tell: under pressure rooms gather a little, so that one write carries many frames."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._since, self._count, self._rate = self._loop.time(), 0, 0.0

    def told(self, count: int) -> float:
        """Note deliveries; how long to gather before the next."""
        self._count += count
        now = self._loop.time()
        if now - self._since >= 0.25:
            self._rate = self._count / (now - self._since)
            self._since, self._count = now, 0
        return GATHER_S if self._rate > BUSY else 0.0


class Privacy:
    """What is said in a direct chat is for those it is between. Learnt from the project's own events, in their order;
    `chats` and `streams` are those that were there before."""

    def __init__(self, chats: dict[str, frozenset[str]], streams: dict[str, str]) -> None:
        self._chats = chats
        self._streams = {stream: chats[chat] for stream, chat in streams.items() if chat in chats}

    def audience(self, row: Row) -> frozenset[str] | None:
        """Whom a row is for; None for everybody."""
        if not self._chats and row.kind != ChatOpened.KIND:
            return None
        if row.kind == AgentStreamDelta.KIND and not self._streams:
            return None
        match event_of(row):
            case ChatOpened(chat, "direct", members=members):
                self._chats[chat] = frozenset(members)
                return self._chats[chat]
            case MessagePosted(chat=chat):
                return self._chats.get(chat)
            case AgentStreamStarted(stream=stream, chat=str(chat)) if chat in self._chats:
                self._streams[stream] = self._chats[chat]
                return self._chats[chat]
            case other:
                return self._streams.get(getattr(other, "stream", None) or "")


class Telling(Protocol):
    """What a room is of, how a row of it becomes frames, and whom that is for."""

    @property
    def about(self) -> dict[str, str]: ...

    def frames(self, row: Row) -> bytes: ...

    def audience(self, row: Row) -> frozenset[str] | None:
        """The members; None for everybody who is here."""


class ProjectTelling:
    def __init__(self, project: str, privacy: Privacy) -> None:
        self.about = {"project_id": project}
        self.audience = privacy.audience
        self._project = project

    def frames(self, row: Row) -> bytes:
        return texts(hub_wire.frames(self._project, row))


class TeamTelling:
    """Whoever may come in may hear all of it."""

    def __init__(self, run: str) -> None:
        self.about = {"run_id": run}
        self._run = run

    def frames(self, row: Row) -> bytes:
        return text(hub_frame(self._run, row))

    def audience(self, _: Row) -> None:
        return None


class Seat:
    """One client's place in one stream: it holds everything up to `place`."""

    __slots__ = ("line", "member", "place", "task")

    def __init__(self, line: Line, member: str, place: int) -> None:
        self.line, self.member, self.place = line, member, place
        self.task: asyncio.Task[None] | None = None


class Room:
    def __init__(self, log: Log, name: StreamName, head: int, telling: Telling, pace: Pace) -> None:
        self._log, self.name, self._telling, self._pace = log, name, telling, pace
        self._cursor = log.follow(name, head)
        self._level: dict[Line, Seat] = {}
        self._behind: dict[Line, Seat] = {}
        self._task = asyncio.ensure_future(self._pump())
        self.wanted_at = 0.0

    @property
    def seq(self) -> int:
        return self._cursor.seq

    @property
    def empty(self) -> bool:
        return not self._level and not self._behind

    def close(self) -> None:
        self._task.cancel()

    # Who is here

    async def beginning(self, asked: int | str | None) -> dict[str, Any]:
        """Where a client that asked for this place takes its seat, as it is told; nothing is waited for after that."""
        after, reset = await self._place(asked)
        place = self.seq if after is None else after
        told = {**self._telling.about, "head": self.seq, "after": place, "epoch": self._log.epoch}
        return told if reset is None else {**told, "reset": reset}

    async def _place(self, asked: int | str | None) -> tuple[int | None, str | None]:
        """The seq to go on behind. One of another log, or ahead of ours, is told: all of it has to be read anew."""
        if asked is None:
            return None, None
        place = parse_place(str(asked))
        if place.epoch is not None and place.epoch != self._log.epoch:
            return 0, "epoch"
        state = await self._log.look(self.name)
        return (place.seq, None) if state is not None and place.seq <= state.head else (0, "ahead")

    def seat(self, line: Line, member: str, after: int | None) -> Seat:
        """Take a place; whoever had one moves. What was first comes first, then what happens."""
        self.leave(line)
        seat = Seat(line, member, self.seq if after is None else after)
        if seat.place >= self.seq:
            self._level[line] = seat
        else:
            self._fall_behind(seat)
        return seat

    def leave(self, line: Line) -> None:
        seat = self._level.pop(line, None) or self._behind.pop(line, None)
        if seat is not None and seat.task is not None:
            seat.task.cancel()

    def members(self) -> set[str]:
        return {seat.member for seats in (self._level, self._behind) for seat in seats.values()}

    def tell(self, frames: bytes, but: Line | None = None) -> None:
        """Something that is not kept: whoever takes no more at the moment misses it."""
        for line in (*self._level, *self._behind):
            if line is not but and line.writable:
                line.write(frames)

    # What happens

    async def _pump(self) -> None:
        while True:
            try:
                rows = await self._cursor.rows()
            except Gap as gap:
                self._cursor.seq = gap.last
                continue
            rest = self._pace.told(self._spread(rows))
            del rows
            if rest:
                await asyncio.sleep(rest)

    def _spread(self, rows: Sequence[Row]) -> int:
        """How many frames were written."""
        if not rows:
            return 0
        first, last = rows[0].first, rows[-1].last
        shown = [(row, self._telling.audience(row)) for row in rows]
        common = None if any(audience is not None for _, audience in shown) else self._common(rows)
        count = 0
        for seat in tuple(self._level.values()):
            if seat.place >= last:
                continue
            if not seat.line.writable or (common is not None and len(common) > PIECE):
                self._fall_behind(seat)
                continue
            whole = common is not None and seat.place < first
            seat.line.write(
                common if whole and common is not None else b"".join([self._shown(seat, *each) for each in shown])
            )
            seat.place = last
            count += 1
        return count * (last - first + 1)

    def _common(self, rows: Sequence[Row]) -> bytes:
        return self._frames(rows[0]) if len(rows) == 1 else b"".join(map(self._frames, rows))

    def _frames(self, row: Row) -> bytes:
        """Made once, for everybody."""
        if row.hub is None:
            row.hub = self._telling.frames(row)
        return row.hub

    def _shown(self, seat: Seat, row: Row, audience: frozenset[str] | None) -> bytes:
        if row.first <= seat.place:
            return b""
        if audience is None or seat.member in audience:
            return self._frames(row)
        return text(hub_wire.skip(self._telling.about, row, "private"))

    # Who is behind

    def _fall_behind(self, seat: Seat) -> None:
        self._level.pop(seat.line, None)
        self._behind[seat.line] = seat
        seat.task = asyncio.ensure_future(self._catch_up(seat))

    async def _catch_up(self, seat: Seat) -> None:
        line, cursor = seat.line, self._log.follow(self.name, seat.place)
        while line.open:
            try:
                rows = await cursor.ready()
            except Gap as gap:
                span = {"seq": gap.last, "from": gap.first, "to": gap.last}
                line.tell("stream.gap", {**self._telling.about, **span})
                cursor.seq = seat.place = gap.last
                continue
            if not rows:  # and nothing was waited for since: it is level now
                if self._behind.pop(line, None) is seat:
                    self._level[line] = seat
                seat.task = None
                return
            for row in rows:
                await line.drained()
                if not line.open:
                    return
                line.write(self._shown(seat, row, self._telling.audience(row)))
                seat.place = row.last
            await asyncio.sleep(0)
