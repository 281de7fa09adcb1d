"""Follows the log and sees that every open run of a team is conducted: new ones, and those a crash left behind."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from quarterdeck.events.run import RunFinished, RunWaiting
from quarterdeck.events.team import TeamRunRequested
from quarterdeck.kernel.errors import Closed, Fenced, Problem
from quarterdeck.kernel.ids import StreamName, TenantId, team_run_stream
from quarterdeck.log.doorbell import News
from quarterdeck.ports import Query
from quarterdeck.runtime.conductor import Conductor, TeamCrew
from quarterdeck.runtime.pulse import Pulse
from quarterdeck.views.teams import TEAM_RUNS

BEAT_S = 10.0
AGAIN_S = 2.0
TOLD = frozenset({RunFinished.KIND, RunWaiting.KIND})

logger = logging.getLogger("quarterdeck.runtime")


class TeamSupervisor:
    """Belongs to one event loop and claims as one worker."""

    def __init__(self, crew: TeamCrew, beat_s: float = BEAT_S, again_s: float = AGAIN_S) -> None:
        self._crew, self._beat_s, self._again_s = crew, beat_s, again_s
        self._conducted: dict[StreamName, tuple[Conductor, asyncio.Task[None]]] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._draining = False
        self._pulse = Pulse(self._crew.log, self.worker, self.take_up, self._beat_s)

    @property
    def worker(self) -> str:
        return self._crew.worker

    async def open(self) -> None:
        """Begin to follow, and take up what was left open."""
        self._crew.log.beat(self.worker)
        self._leave = self._crew.log.listen(self._heard)
        await self.take_up()
        self._pulse.start()

    async def take_up(self) -> None:
        """Conduct every open run that is not conducted here. What a living worker has will refuse the claim."""
        after: str | None = None
        while lines := await self._crew.log.find(Query(TEAM_RUNS, {"open": 1}, "id", after=after, limit=500)):
            for line in lines:
                self._start(team_run_stream(TenantId(line["tenant"]), line["id"]))
            after = lines[-1]["id"]

    def _heard(self, news: News) -> None:
        for name, row in news:
            if name.kind == "team_run":
                self._told(name, begun=row.kind == TeamRunRequested.KIND)
            elif name.kind == "run" and row.kind in TOLD:
                for conductor, _ in tuple(self._conducted.values()):
                    if conductor.has(name.key):
                        conductor.heard(name.key, row.kind)

    def _told(self, name: StreamName, *, begun: bool) -> None:
        if name in self._conducted:
            self._conducted[name][0].wake()
        elif begun:
            self._start(name)

    def _start(self, name: StreamName) -> None:
        if not self._draining and name not in self._conducted:
            conductor = Conductor(self._crew, name)
            self._conducted[name] = (conductor, asyncio.create_task(self._conduct(conductor, name)))

    async def _conduct(self, conductor: Conductor, name: StreamName) -> None:
        again = False
        try:
            await conductor.drive()
        except (Fenced, Closed):
            pass  # somebody else has it, or it is over
        except Problem as problem:
            logger.warning("%s rests for a while: %s", name, problem.detail)
            again = problem.code != "storage_broken"
        except Exception:
            logger.exception("%s was given up by its conductor", name)
            with contextlib.suppress(Problem):
                await conductor.give_up()
        finally:
            if not self._draining:
                self._conducted.pop(name, None)
        if again:
            self._later(name)

    def _later(self, name: StreamName) -> None:
        def due() -> None:
            self._timers.discard(handle)
            self._start(name)

        handle = asyncio.get_running_loop().call_later(self._again_s, due)
        self._timers.add(handle)

    async def drain(self) -> None:
        """Take nothing new and let go: what was begun goes on with the next start."""
        self._draining = True
        for _, task in list(self._conducted.values()):
            task.cancel()
            await asyncio.wait([task])
        self._conducted.clear()

    async def close(self) -> None:
        for handle in self._timers:
            handle.cancel()
        self._pulse.stop()
        self._leave()
        await self.drain()
        self._crew.log.retire(self.worker)
