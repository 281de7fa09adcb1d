"""The house: it opens when it is first needed, on whatever loop needs it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass

from fastapi import FastAPI

from quarterdeck import __version__
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.log.log import Log
from quarterdeck.runtime.after import Aftercare, AfterCrew
from quarterdeck.runtime.board.staff import Staff
from quarterdeck.runtime.janitor import Janitor
from quarterdeck.runtime.leaving import Leaving
from quarterdeck.runtime.supervisor import Supervisor
from quarterdeck.runtime.team_supervisor import TeamSupervisor
from quarterdeck.server.app import create_app as server_app
from quarterdeck.server.station import About, Station
from quarterdeck.settings import Settings, read_settings
from quarterdeck.views.tables import TABLES, VIEWS
from quarterdeck.wiring.ground import Ground, crew_of, ground_of, open_store, staff_of, station_of, team_crew_of
from quarterdeck.wiring.terms import files_lost


@dataclass(slots=True)
class _Floor:
    """What belongs to one event loop: a supervisor, who looks back at runs, the board's staff, a janitor."""

    station: Station
    supervisor: Supervisor
    teams: TeamSupervisor
    aftercare: Aftercare
    staff: Staff
    janitor: asyncio.Task[None]
    leaving: Leaving


class LocalHouse:
    """Everything, on one machine. Opens when it is first needed, on whatever loop needs it; no loop is special.

    A run whose loop is gone is taken up by the next loop that enters.
    """

    def __init__(self, read: Callable[[], Settings] = read_settings) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._ground: Ground | None = None
        self._floors: dict[asyncio.AbstractEventLoop, asyncio.Future[_Floor]] = {}
        self._here: tuple[asyncio.AbstractEventLoop, Station] | None = None

    def ground(self) -> Ground:
        """The log and the models, opened once. Raises a `Problem` that says what is in the way."""
        with self._lock:
            if self._ground is None:
                settings = self._read()
                log = Log(open_store(settings), SystemClock(), TABLES, VIEWS)
                self._ground = ground_of(settings, log)
            return self._ground

    async def open(self) -> None:
        await self.enter()

    async def about(self) -> About:
        return await (await self.enter()).about()

    async def preload(self) -> None:
        """Load the embedded model, if that is who answers, so that the first question need not wait for it."""
        await self.ground().models.preload()

    async def enter(self) -> Station:
        loop = asyncio.get_running_loop()
        if self._here is not None and self._here[0] is loop:
            return self._here[1]
        floor = self._floors.get(loop)
        if floor is None:
            self._leave_closed_loops()
            floor = self._floors[loop] = asyncio.ensure_future(self._furnished())
        station = (await asyncio.shield(floor)).station
        self._here = (loop, station)
        return station

    def _leave_closed_loops(self) -> None:
        for loop, floor in list(self._floors.items()):
            if loop.is_closed():
                del self._floors[loop]
                if floor.done() and not floor.cancelled() and floor.exception() is None and self._ground is not None:
                    self._ground.log.retire(floor.result().supervisor.worker)
                    self._ground.log.retire(floor.result().teams.worker)
                    self._ground.log.retire(floor.result().aftercare.worker)
                    self._ground.log.retire(floor.result().staff.worker)
                    floor.result().station.hub.abandon()

    async def _furnished(self) -> _Floor:
        try:
            ground = self.ground()
            supervisor = Supervisor(crew := crew_of(ground))
            await supervisor.open()
            teams = TeamSupervisor(team_crew_of(ground, crew.worker))
            await teams.open()
            aftercare = Aftercare(AfterCrew(ground.log, ground.providers, SystemIds(), f"{crew.worker}.after"))
            await aftercare.open()
            staff = Staff(staff_of(ground, crew.worker))
            await staff.open()
            leaving = Leaving(ground.log, files_lost(ground.settings))
            await leaving.open()
        except BaseException:
            self._floors.pop(asyncio.get_running_loop(), None)
            raise
        janitor = Janitor(ground.log, SystemClock(), ground.settings.keep_days)
        station = station_of(ground)
        await station.quotas.begin()
        await station.hub.open()
        return _Floor(station, supervisor, teams, aftercare, staff, asyncio.ensure_future(janitor.work()), leaving)

    async def drain(self) -> None:
        """Before the doors close: nothing new, time for what runs to finish, then word to every open stream."""
        floor = self._floors.get(asyncio.get_running_loop())
        if floor is None or self._ground is None:
            return
        self._ground.streams.draining = True
        furnished = await floor
        furnished.staff.rest()
        await furnished.teams.drain()
        await furnished.supervisor.drain(self._ground.settings.drain_s)
        await furnished.aftercare.drain()
        self._ground.streams.drain()
        furnished.station.hub.drain()

    def hurry(self) -> None:
        """Make a drain wait for nobody. Called from a signal handler, so it only leaves word on the loops."""
        for loop, floor in tuple(self._floors.items()):
            if floor.done() and not floor.cancelled() and floor.exception() is None:
                loop.call_soon_threadsafe(floor.result().supervisor.hurry)

    async def close(self) -> None:
        self._here = None
        floor = self._floors.pop(asyncio.get_running_loop(), None)
        if floor is not None:
            furnished = await floor
            furnished.janitor.cancel()
            furnished.station.hub.close()
            furnished.station.access.close()
            await furnished.leaving.close()
            await furnished.teams.close()
            furnished.station.quotas.close()
            await furnished.supervisor.close()
            await furnished.aftercare.close()
            await furnished.staff.close()
        self._leave_closed_loops()
        with self._lock:
            ground, self._ground = self._ground, None
        if ground is not None:
            await ground.mcp.aclose()
            await ground.models.aclose()
            await ground.providers.aclose()
            await ground.log.close()


def create_app(read: Callable[[], Settings] = read_settings) -> FastAPI:
    """The application, for any ASGI server or in-process client. Its house opens with the lifespan, or at the first
    request where there is none."""
    return app_of(LocalHouse(read))


def app_of(house: LocalHouse) -> FastAPI:
    return server_app(house, __version__)
