"""How much of the server one tenant may use, so that its flood leaves the others alone. Belongs to one event loop.

Only where tokens are asked for: in local mode there is nobody to be fair to.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from quarterdeck.events.run import RunClaimed, RunFinished, RunRequested, RunWaiting
from quarterdeck.kernel.errors import LimitReached
from quarterdeck.kernel.ids import TenantId
from quarterdeck.log.doorbell import News
from quarterdeck.log.log import Log
from quarterdeck.ports import Clock, Query
from quarterdeck.views.tables import RUNS

BURST_S = 2.0
HOLD_S, MOST_HELD = 1.0, 500
PAGE = 500
WAITING = frozenset({"waiting_for_approval", "waiting_for_password", "waiting_for_answer"})
_BEGIN, _REST = frozenset({RunRequested.KIND, RunClaimed.KIND}), frozenset({RunFinished.KIND, RunWaiting.KIND})


@dataclass(frozen=True, slots=True)
class Limits:
    """Of each tenant: requests a second, runs at work or waiting for their turn, answers under way. None: no limit."""

    rate: float | None = None
    runs: int | None = None
    open: int | None = None


@dataclass(slots=True)
class _Bucket:
    """What is left of a tenant's requests; it fills again by the second."""

    left: float
    at: float


class Quotas:
    def __init__(self, log: Log, clock: Clock, limits: Limits) -> None:
        self._log, self._clock, self._limits = log, clock, limits
        self._buckets: dict[TenantId, _Bucket] = {}
        self._working: defaultdict[str, set[str]] = defaultdict(set)
        self._open: defaultdict[TenantId, int] = defaultdict(int)
        self._held: defaultdict[TenantId, int] = defaultdict(int)
        self.close: Callable[[], None] = lambda: None

    async def begin(self) -> None:
        """Count what works already, and all that begins and ends from now on."""
        if self._limits.runs is None:
            return
        self.close = self._log.listen(self._heard)
        after: str | None = None
        while True:
            lines = await self._log.find(Query(RUNS, {"open": 1}, "id", after=after, limit=PAGE))
            for line in lines:
                if line["status"] not in WAITING:
                    self._working[line["tenant"]].add(line["id"])
            if len(lines) < PAGE:
                return
            after = lines[-1]["id"]

    async def admit(self, tenant: TenantId, *, starts: bool) -> None:
        """One more request of this tenant, which may start a run; or it is told when to come back.

        Whoever asks too often is told so a moment later: a client that heeds nothing then waits for us, and not the
        others for it.
        """
        try:
            self._take(tenant)
        except LimitReached:
            await self._hold(tenant)
            raise
        if self._limits.open is not None and self._open[tenant] >= self._limits.open:
            raise _too_many("answers are under way", self._limits.open, "too_many_open", 1)
        if starts and self._limits.runs is not None and len(self._working[tenant]) >= self._limits.runs:
            raise _too_many("runs are at work", self._limits.runs, "too_many_runs", 2)

    async def _hold(self, tenant: TenantId) -> None:
        if self._held[tenant] >= MOST_HELD:
            return
        self._held[tenant] += 1
        try:
            await asyncio.sleep(HOLD_S)
        finally:
            self._held[tenant] -= 1

    @contextmanager
    def under_way(self, tenant: TenantId) -> Iterator[None]:
        self._open[tenant] += 1
        try:
            yield
        finally:
            self._open[tenant] -= 1
            if not self._open[tenant]:
                del self._open[tenant]

    def _take(self, tenant: TenantId) -> None:
        rate = self._limits.rate
        if rate is None:
            return
        now, most = self._clock.steady(), max(1.0, rate * BURST_S)
        bucket = self._buckets.setdefault(tenant, _Bucket(most, now))
        bucket.left, bucket.at = min(most, bucket.left + (now - bucket.at) * rate), now
        if bucket.left < 1.0:
            raise _too_many("requests a second", rate, "too_many_requests", (1.0 - bucket.left) / rate)
        bucket.left -= 1.0

    def _heard(self, news: News) -> None:
        for stream, row in news:
            if stream.kind != "run":
                continue
            if row.kind in _BEGIN:
                self._working[stream.tenant].add(stream.key)
            elif row.kind in _REST:
                self._working[stream.tenant].discard(stream.key)


def _too_many(what: str, most: float, code: str, after_s: float) -> LimitReached:
    return LimitReached(
        f"Your tenant is at its limit: {most:g} {what}. Come back after the time in Retry-After.",
        code=code,
        extra={"retry_after_s": math.ceil(after_s)},
    )
