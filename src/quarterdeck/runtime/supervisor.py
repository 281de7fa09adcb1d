"""Follows the log and sees that every open run has a runner: new ones, waiting ones, and those a crash left behind."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque

from quarterdeck.events.run import RunRequested, StopRequested
from quarterdeck.events.steering import InterventionAccepted
from quarterdeck.events.tool import ApprovalDecided, PasswordGiven
from quarterdeck.kernel.errors import Closed, Fenced, Problem
from quarterdeck.kernel.ids import RunId, StreamName, TenantId, run_stream
from quarterdeck.log.doorbell import News
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Query, Row
from quarterdeck.runtime.crew import Crew
from quarterdeck.runtime.pulse import Pulse
from quarterdeck.runtime.runner import Runner
from quarterdeck.runtime.ward import Ward
from quarterdeck.views.tables import RUNS

BEAT_S = 10.0
AGAIN_S = 2.0
AT_ONCE = 2000
LONGEST_SLEEP_S = 24 * 3600.0
WAKING = frozenset({ApprovalDecided.KIND, PasswordGiven.KIND, InterventionAccepted.KIND})

logger = logging.getLogger("quarterdeck.runtime")


class Supervisor:
    """Belongs to one event loop and claims as one worker."""

    def __init__(self, crew: Crew, at_once: int = AT_ONCE, beat_s: float = BEAT_S, again_s: float = AGAIN_S) -> None:
        self._crew, self._at_once, self._beat_s, self._again_s = crew, at_once, beat_s, again_s
        self._running: dict[StreamName, tuple[Runner, asyncio.Task[None]]] = {}
        self._queue: deque[StreamName] = deque()
        self._timers: set[asyncio.TimerHandle] = set()
        self._draining = False
        self._hurried = asyncio.Event()
        self._woken: set[StreamName] = set()
        self._ward = Ward()
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
            if name.kind != "run":
                continue
            if row.kind == RunRequested.KIND:
                self._start(name)
            elif row.kind == StopRequested.KIND or (row.kind == InterventionAccepted.KIND and _at_once(row)):
                self._nudge(name)
            elif row.kind in WAKING:
                self._wake(name)

    def _wake(self, name: StreamName) -> None:
        """A run that rests goes on. One that is about to rest looks once more when it has."""
        if name in self._running:
            self._woken.add(name)
        else:
            self._start(name)

    def _nudge(self, name: StreamName) -> None:
        """One that still waits for its turn is told at once as well, even where that makes one too many. One that is
        about to rest has looked already, and must look once more."""
        running = self._running.get(name)
        if running is None:
            self._begin(name)
        else:
            self._woken.add(name)
            running[0].interrupt()

    def _start(self, name: StreamName) -> None:
        if len(self._running) < self._at_once or name in self._running:
            self._begin(name)
        elif not self._draining:
            self._queue.append(name)

    def _begin(self, name: StreamName) -> None:
        if self._draining or name in self._running:
            return
        runner = Runner(self._crew, name, self._ward)
        task = asyncio.create_task(self._drive(runner, name))
        self._running[name] = (runner, task)

    async def _drive(self, runner: Runner, name: StreamName) -> None:
        again = False
        try:
            await runner.drive()
        except Closed:
            pass  # it is over
        except Fenced:
            await self._look_again(name)
        except Problem as problem:
            logger.warning("%s rests for a while: %s", name, problem.detail)
            again = problem.code != "storage_broken"
        except Exception:
            logger.exception("%s was given up by its runner", name)
            with contextlib.suppress(Problem):
                await runner.give_up()
        finally:
            self._running.pop(name, None)
        self._next()  # not where it was cancelled: then the loop ends, and what begins now would end with it
        if name in self._woken:
            self._woken.discard(name)
            self._start(name)
        elif again:
            self._later(name, self._again_s)
        elif runner.wake_at is not None:
            self._later(name, min(max(0.0, runner.wake_at - self._crew.clock.now()), LONGEST_SLEEP_S))

    async def _look_again(self, name: StreamName) -> None:
        """Somebody else has it. One that is gone since, whose last claim came in late, leaves it to us."""
        with contextlib.suppress(Problem):
            state = await self._crew.log.look(name)
            if state is not None and not (state.owner and self._crew.log.alive(state.owner)):
                self._woken.add(name)

    def _later(self, name: StreamName, seconds: float) -> None:
        def due() -> None:
            self._timers.discard(handle)
            self._start(name)

        handle = asyncio.get_running_loop().call_later(seconds, due)
        self._timers.add(handle)

    def _next(self) -> None:
        while self._queue and len(self._running) < self._at_once and not self._draining:
            self._start(self._queue.popleft())

    def hurry(self) -> None:
        """End the grace of a drain, now or to come."""
        self._hurried.set()

    async def drain(self, grace_s: float) -> None:
        """Take nothing new, let what runs finish for a while, then let go of the rest in good order."""
        self._draining = True
        await self._all_done(grace_s)
        for runner, task in list(self._running.values()):
            task.cancel()
            await asyncio.wait([task])
            with contextlib.suppress(Problem):
                await runner.release()

    async def _all_done(self, grace_s: float) -> None:
        """Or the grace is over, or somebody is in a hurry."""
        if not self._running:
            return
        all_done = asyncio.wait([task for _, task in self._running.values()])
        either = [asyncio.ensure_future(each) for each in (all_done, self._hurried.wait())]
        try:
            await asyncio.wait(either, timeout=grace_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in either:
                each.cancel()

    async def close(self, grace_s: float = 0.0) -> None:
        for handle in self._timers:
            handle.cancel()
        self._pulse.stop()
        self._leave()
        await self.drain(grace_s)
        self._crew.log.retire(self.worker)


def _at_once(row: Row) -> bool:
    event = event_of(row)
    return isinstance(event, InterventionAccepted) and event.mode == "interrupt"
