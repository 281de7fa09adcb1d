"""The runs of teams that one client of the hub follows."""

from __future__ import annotations

from quarterdeck.kernel.errors import LimitReached, NotAllowed
from quarterdeck.kernel.ids import team_run_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.server import reach
from quarterdeck.server.hub import limits
from quarterdeck.server.hub.hub import Hub
from quarterdeck.server.hub.line import Line
from quarterdeck.server.hub.room import Room
from quarterdeck.server.hub.vocabulary import TeamSubscribe
from quarterdeck.views.teams import TEAM_RUNS


class TeamRuns:
    def __init__(self, hub: Hub, line: Line, scope: Scope, member: str) -> None:
        self._hub, self._line, self._scope, self._member = hub, line, scope, member
        self._rooms: dict[str, Room] = {}

    async def follow(self, asked: TeamSubscribe, ref: object) -> None:
        """For whoever may read the run over HTTP. What was first comes first, then what happens."""
        if not self._scope.may("read"):
            raise NotAllowed("Agents do not look at the runs of teams; people do.", code="not_allowed")
        there = await reach.found(self._hub.desk, self._scope, TEAM_RUNS, asked.run_id)
        if there is None:
            raise reach.missing("team_run")
        if asked.run_id not in self._rooms and len(self._rooms) >= limits.TEAM_RUNS:
            raise LimitReached(
                f"At most {limits.TEAM_RUNS} runs of teams at a time; say `team.unsubscribe` for one.",
                code="too_many_team_runs",
            )
        room = await self._hub.room(team_run_stream(there.scope.tenant, asked.run_id))
        told = await room.beginning(asked.after)
        self._line.tell("team.subscribed", told, ref)
        room.seat(self._line, self._member, told["after"])
        self._rooms[asked.run_id] = room

    def leave(self, run: str) -> None:
        if (room := self._rooms.pop(run, None)) is not None:
            room.leave(self._line)

    def close(self) -> None:
        for run in tuple(self._rooms):
            self.leave(run)
