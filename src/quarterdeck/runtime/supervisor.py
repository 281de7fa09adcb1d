"""Follows the log and sees that every open run has a runner: new ones, waiting ones, and those a crash left behind."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque

from quarterdeck.events.run import RunRequested, StopRequested
from quarterdeck.kernel.errors import Closed, Fenced, Problem
from quarterdeck.kernel.ids import RunId, StreamName, TenantId, run_stream
from quarterdeck.log.doorbell import News
from quarterdeck.ports import Query
from quarterdeck.runtime.runner import Crew, Runner
from quarterdeck.views.tables import RUNS

BEAT_S = 10.0
AGAIN_S = 2.0
AT_ONCE = 2000

logger = logging.getLogger("quarterdeck.runtime")


class Supervisor:
    """Belongs to one event loop and claims as one worker."""

    def __init__(self, crew: Crew, at_once: int = AT_ONCE) -> None:
        self._crew, self._at_once = crew, at_once
        self._running: dict[StreamName, tuple[Runner, asyncio.Task[None]]] = {}
        self._queue: deque[StreamName] = deque()
        self._timers: set[asyncio.TimerHandle] = set()
        self._draining = False
        self._pulse: asyncio.Task[None] | None = None

    @property
    def worker(self) -> str:
        return self._crew.worker

    async def open(self) -> None:
        """Begin to follow, and take up what was left open."""
        self._crew.log.beat(self.worker)
        self._leave = self._crew.log.listen(self._heard)
        await self.take_up()
        self._pulse = asyncio.create_task(self._beat())

    async def take_up(self) -> None:
        """Start a runner for every open run that has none here. One whose worker lives will refuse the claim."""
        after: str | None = None
        while True:
            query = Query(RUNS, {"open": 1}, "id", after=after, limit=500)
            lines = await self._crew.log.find(query)
            for line in lines:
                self._start(run_stream(TenantId(line["tenant"]), RunId(line["id"])))
            if len(lines) < query.limit:
                return
            after = lines[-1]["id"]

    def _heard(self, news: News) -> None:
        for name, row in news:
            if row.kind == RunRequested.KIND:
                self._start(name)
            elif row.kind == StopRequested.KIND:
                self._nudge(name)

    def _nudge(self, name: StreamName) -> None:
        running = self._running.get(name)
        if running is None:
            self._start(name)
        else:
            running[0].interrupt()

    def _start(self, name: StreamName) -> None:
        if self._draining or name in self._running:
            return
        if len(self._running) >= self._at_once:
            self._queue.append(name)
            return
        runner = Runner(self._crew, name)
        task = asyncio.create_task(self._drive(runner, name))
        self._running[name] = (runner, task)

    async def _drive(self, runner: Runner, name: StreamName) -> None:
        again = False
        try:
            await runner.drive()
        except (Fenced, Closed):
            pass  # somebody else has it, or it is over
        except Problem as problem:
            logger.warning("%s rests for a while: %s", name, problem.detail)
            again = problem.code != "storage_broken"
        except Exception:
            logger.exception("%s was given up by its runner; it is taken up again with the next start", name)
        finally:
            self._running.pop(name, None)
            self._next()
        if again:
            self._later(name)

    def _later(self, name: StreamName) -> None:
        def due() -> None:
            self._timers.discard(handle)
            self._start(name)

        handle = asyncio.get_running_loop().call_later(AGAIN_S, due)
        self._timers.add(handle)

    def _next(self) -> None:
        while self._queue and len(self._running) < self._at_once and not self._draining:
            self._start(self._queue.popleft())

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            self._crew.log.beat(self.worker)

    async def drain(self, grace_s: float) -> None:
        """Take nothing new, let what runs finish for a while, then let go of the rest in good order."""
        self._draining = True
        tasks = [task for _, task in self._running.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
        for runner, task in list(self._running.values()):
            task.cancel()
            await asyncio.wait([task])
            with contextlib.suppress(Problem):
                await runner.release()

    async def close(self, grace_s: float = 0.0) -> None:
        for handle in self._timers:
            handle.cancel()
        if self._pulse is not None:
            self._pulse.cancel()
        self._leave()
        await self.drain(grace_s)
        self._crew.log.retire(self.worker)
