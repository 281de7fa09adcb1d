"""Follows the log and sees that every inbox with something in it has an attendant: new ones, and those a crash left."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict

from quarterdeck.engine.board import inbox
from quarterdeck.engine.board.inbox import Inbox
from quarterdeck.events.card import TaskClaimEnded
from quarterdeck.events.inbox import WakeQueued
from quarterdeck.events.member import MemberChanged, MemberRemoved
from quarterdeck.kernel.errors import Closed, Fenced, Problem
from quarterdeck.kernel.ids import StreamName, TenantId, inbox_stream
from quarterdeck.log.doorbell import News
from quarterdeck.log.fold import Fold
from quarterdeck.ports import Query
from quarterdeck.runtime.board.attendant import RENEW_S, Attendant
from quarterdeck.runtime.board.place import Place, StaffCrew
from quarterdeck.runtime.pulse import Pulse
from quarterdeck.views.board import WAKES

BEAT_S = 10.0
AGAIN_S = 2.0
KEPT = 1_000
NEWS = frozenset({WakeQueued.KIND, TaskClaimEnded.KIND})
CHANGES = frozenset({MemberChanged.KIND, MemberRemoved.KIND})

logger = logging.getLogger("quarterdeck.runtime")


class Staff:
    """Belongs to one event loop and claims as one worker."""

    def __init__(
        self, crew: StaffCrew, *, beat_s: float = BEAT_S, again_s: float = AGAIN_S, renew_s: float = RENEW_S
    ) -> None:
        self._crew, self._beat_s, self._again_s, self._renew_s = crew, beat_s, again_s, renew_s
        self._log = crew.desk.log
        self._running: dict[StreamName, tuple[Attendant, asyncio.Task[None]]] = {}
        self._read: OrderedDict[StreamName, Fold[Inbox]] = OrderedDict()
        self._again: set[StreamName] = set()
        self._timers: set[asyncio.TimerHandle] = set()
        self._draining = False
        self._pulse = Pulse(self._log, self.worker, self.take_up, self._beat_s)

    @property
    def worker(self) -> str:
        return self._crew.worker

    async def open(self) -> None:
        """Begin to follow, and take up what was left open."""
        self._log.beat(self.worker)
        self._leave = self._log.listen(self._heard)
        await self.take_up()
        self._pulse.start()

    async def take_up(self) -> None:
        """See to everything that is open. What a living worker has will refuse the claim."""
        after: str | None = None
        while lines := await self._log.find(Query(WAKES, {"open": 1}, "id", after=after, limit=500)):
            for name in {inbox_stream(TenantId(line["tenant"]), line["member"]) for line in lines}:
                self._start(name)
            after = lines[-1]["id"]

    def _heard(self, news: News) -> None:
        for name, row in news:
            if name.kind == "inbox" and row.kind in NEWS:
                self._start(name)
            elif name.kind == "member" and row.kind in CHANGES:
                self._start(inbox_stream(name.tenant, name.key))

    def _start(self, name: StreamName) -> None:
        running = self._running.get(name)
        if running is not None:
            self._again.add(name)
            running[0].nudge()
        elif not self._draining:
            attendant = Attendant(Place(self._crew, name), self._fold(name), self._renew_s)
            self._running[name] = (attendant, asyncio.create_task(self._drive(attendant, name)))

    def _fold(self, name: StreamName) -> Fold[Inbox]:
        """What was read of an inbox is kept, so that it is not read again whenever something comes in."""
        fold = self._read.pop(name, None) or Fold(self._log, name, Inbox(), inbox.evolve)
        self._read[name] = fold
        if len(self._read) > KEPT:
            self._read.popitem(last=False)
        return fold

    async def _drive(self, attendant: Attendant, name: StreamName) -> None:
        self._again.discard(name)
        later = False
        try:
            await attendant.drive()
        except Fenced:
            later = await self._left(name)
        except Closed:
            pass
        except Problem as problem:
            logger.warning("%s rests for a while: %s", name, problem.detail)
            later = problem.code != "storage_broken"
        except Exception:
            logger.exception("%s was left by its attendant", name)
            later = True
        finally:
            if not self._draining:
                self._running.pop(name, None)
        if later:
            self._later(name)
        elif name in self._again:  # what came in while it was being left
            self._start(name)

    async def _left(self, name: StreamName) -> bool:
        """Somebody else has it; True where they are gone since."""
        with contextlib.suppress(Problem):
            state = await self._log.look(name)
            return state is not None and not (state.owner and self._log.alive(state.owner))
        return False

    def _later(self, name: StreamName) -> None:
        def due() -> None:
            self._timers.discard(handle)
            self._start(name)

        handle = asyncio.get_running_loop().call_later(self._again_s, due)
        self._timers.add(handle)

    def rest(self) -> None:
        """Begin nothing new; what is under way is still told to its end."""
        self._draining = True
        for attendant, _ in self._running.values():
            attendant.rest()

    async def close(self) -> None:
        """Let go: what is under way goes on with the next start."""
        self.rest()
        for handle in self._timers:
            handle.cancel()
        self._pulse.stop()
        self._leave()
        tasks = [task for _, task in self._running.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._running.clear()
        self._log.retire(self.worker)
