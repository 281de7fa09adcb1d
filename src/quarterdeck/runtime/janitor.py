"""Keeps the log as long as it was asked to: trims the deltas of runs that ended long ago, forgets old request keys."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from quarterdeck.events.base import Event
from quarterdeck.kernel.errors import Problem
from quarterdeck.kernel.ids import RunId, StreamName, TenantId, run_stream
from quarterdeck.log.fold import Fold
from quarterdeck.log.log import Log
from quarterdeck.ports import Clock, Query
from quarterdeck.views.run_snapshot import RunSnapshot, evolve
from quarterdeck.views.tables import RUNS
from quarterdeck.views.tenants import keep_days

EVERY_S = 3600.0
ONCE_KEPT_S = 24 * 3600.0
DAY_S = 24 * 3600.0
PAGE = 200

logger = logging.getLogger("quarterdeck.runtime")


class Janitor:
    """`keep_days` is how long the course of an ended run is kept; its answer stays. None keeps everything. A tenant may
    want its own kept for less time, or for more."""

    def __init__(self, log: Log, clock: Clock, keep_days: float | None) -> None:
        self._log, self._clock, self._keep_days = log, clock, keep_days

    async def work(self) -> None:
        while True:
            try:
                await self.tidy()
            except Problem as problem:
                logger.warning("tidying up failed: %s", problem.detail)
            await asyncio.sleep(EVERY_S)

    async def tidy(self) -> int:
        """One round; returns how many runs were trimmed."""
        now = self._clock.now()
        await self._log.forget_onces(now - ONCE_KEPT_S)
        own = await keep_days(self._log)
        trimmed = 0
        for tenant, days in own.items():
            trimmed += await self._trim_ended_before(now - days * DAY_S, {"tenant": tenant})
        if self._keep_days is not None:
            trimmed += await self._trim_ended_before(now - self._keep_days * DAY_S, {"open": 0}, frozenset(own))
        return trimmed

    async def _trim_ended_before(
        self, when: float, where: Mapping[str, object], but: frozenset[TenantId] = frozenset()
    ) -> int:
        after, trimmed = None, 0
        while lines := await self._log.find(Query(RUNS, where, "id", after=after, limit=PAGE)):
            for line in lines:
                tenant, ended = TenantId(line["tenant"]), line["finished_at"]
                if tenant not in but and ended is not None and ended < when:
                    trimmed += await trim_run(self._log, run_stream(tenant, RunId(line["id"])))
            after = lines[-1]["id"]
        return trimmed


async def trim_run(log: Log, name: StreamName) -> bool:
    """Drop all of an ended run but its last event; a snapshot of what came before stands for it."""
    state = await log.look(name)
    if state is None or not state.closed or state.floor >= state.head - 1:
        return False

    def before_the_end(shot: RunSnapshot, event: Event) -> RunSnapshot:
        return shot if event.TERMINAL else evolve(shot, event)

    fold = Fold(log, name, RunSnapshot(), before_the_end)
    shot = await fold.catch_up()
    await log.trim(name, shot.seq, shot.stored())
    return True
