"""Sees tenants off that were closed: ends what they are doing, counts what they have, and loses it for good.

Each step can be made again. What a crash leaves half done is gone on with at the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from quarterdeck.engine.tenancy import TenantState, evolve, slug_holder
from quarterdeck.events.access import TokenRevoked
from quarterdeck.events.run import StopRequested
from quarterdeck.events.team import TeamInterventionAccepted
from quarterdeck.events.tenants import SlugFreed, TenantClosed, TenantCounted, TenantErased
from quarterdeck.kernel.errors import Closed, Moved, Problem
from quarterdeck.kernel.ids import (
    HOUSE,
    RunId,
    TenantId,
    run_stream,
    slug_stream,
    team_run_stream,
    tenant_stream,
    token_stream,
)
from quarterdeck.log.doorbell import News
from quarterdeck.log.entries import Entry
from quarterdeck.log.erasing import Erasure
from quarterdeck.log.fold import Fold
from quarterdeck.log.log import Log
from quarterdeck.ports import Query, Table
from quarterdeck.views.access import TOKENS
from quarterdeck.views.tables import RUNS
from quarterdeck.views.teams import TEAM_RUNS
from quarterdeck.views.tenants import LEAVING

ACTOR = "system:leaving"
WHY = "the tenant left"
PAGE = 500
GRACE_S = 10.0  # for runs to end in good order; after that they are cut off
LOOK_S = 0.05
AGAIN_S = 5.0
# What says nothing of whose it was.
KEPT = frozenset({TenantClosed.KIND, TenantCounted.KIND, TenantErased.KIND})

logger = logging.getLogger("quarterdeck.runtime")


class Leaving:
    """Belongs to one event loop. `clear` loses a tenant's files."""

    def __init__(self, log: Log, clear: Callable[[TenantId], Awaitable[None]]) -> None:
        self._log, self._clear = log, clear
        self._going: dict[TenantId, asyncio.Task[None]] = {}

    async def open(self) -> None:
        self._stop_listening = self._log.listen(self._heard)
        for line in await self._every(LEAVING, {"state": "erasing"}):
            self._begin(TenantId(line["id"]))

    async def close(self) -> None:
        self._stop_listening()
        for task in self._going.values():
            task.cancel()
        await asyncio.gather(*self._going.values(), return_exceptions=True)

    def _heard(self, news: News) -> None:
        for name, row in news:
            if name.tenant == HOUSE and row.kind == TenantClosed.KIND:
                self._begin(TenantId(name.key))

    def _begin(self, tenant: TenantId) -> None:
        if tenant not in self._going:
            task = self._going[tenant] = asyncio.ensure_future(self._see_off(tenant))
            task.add_done_callback(lambda _: self._going.pop(tenant, None))

    async def _see_off(self, tenant: TenantId) -> None:
        while True:
            try:
                await self.erase(tenant)
            except Problem as problem:
                logger.warning("tenant %s is not erased yet: %s", tenant, problem.detail)
                await asyncio.sleep(AGAIN_S)
            else:
                return

    async def erase(self, tenant: TenantId) -> None:
        fold = Fold(self._log, tenant_stream(tenant), TenantState(), evolve)
        if (await fold.catch_up()).erased:
            return
        await self._revoke(tenant)
        await self._hush(tenant)
        await self._log.shut(tenant)
        if fold.state.counted is None:
            counted = await self._counted(tenant)
            with contextlib.suppress(Moved):  # somebody else counted at the same time
                await self._log.append(Entry(tenant_stream(tenant), (counted,), actor=ACTOR, head=fold.seq))
        await self._log.drop(tenant)
        await self._clear(tenant)
        await self._forget(tenant)
        await _until(self._log.scrub)
        with contextlib.suppress(Closed):
            await self._log.append(Entry(tenant_stream(tenant), (TenantErased(tenant),), actor=ACTOR))

    async def _revoke(self, tenant: TenantId) -> None:
        """Before anything else: whoever is still there is shown out."""
        for line in await self._every(TOKENS, {"tenant": tenant, "revoked_at": None}):
            revoked = Entry(token_stream(tenant, line["id"]), (TokenRevoked(line["id"], ACTOR),), actor=ACTOR)
            with contextlib.suppress(Closed):
                await self._log.append(revoked)

    async def _hush(self, tenant: TenantId) -> None:
        for line in await self._every(TEAM_RUNS, {"tenant": tenant, "open": 1}):
            # Said twice: it ends without another word.
            stops = (TeamInterventionAccepted(f"{line['id']}.{n}", line["id"], "/stop") for n in (1, 2))
            with contextlib.suppress(Closed):
                await self._log.append(Entry(team_run_stream(tenant, line["id"]), tuple(stops), actor=ACTOR))
        working = await self._every(RUNS, {"tenant": tenant, "open": 1})
        for line in working:
            with contextlib.suppress(Closed):
                name = run_stream(tenant, RunId(line["id"]))
                await self._log.append(Entry(name, (StopRequested(WHY),), actor=ACTOR))

        async def rests() -> bool:
            still = [Query(table, {"tenant": tenant, "open": 1}, "id", limit=1) for table in (TEAM_RUNS, RUNS)]
            return not any([await self._log.find(query) for query in still])

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await _until(rests)

    async def _counted(self, tenant: TenantId) -> TenantCounted:
        streams = places = after = 0
        digest = hashlib.sha256()
        while page := await self._log.streams(tenant, after, PAGE):
            for state in page:
                streams, places = streams + 1, places + state.head
                digest.update(state.chain)
            after = page[-1].id
        return TenantCounted(tenant, streams, places, digest.hexdigest())

    async def _forget(self, tenant: TenantId) -> None:
        """Its name, its slug and its settings, and that the slug was taken."""
        name = tenant_stream(tenant)
        fold = Fold(self._log, name, TenantState(), evolve)
        slug = (await fold.catch_up()).slug
        places, after = [], 0
        while rows := await self._log.read(name, after):
            places += [row.first for row in rows if row.kind not in KEPT]
            after = rows[-1].last
        freed: tuple[Entry, ...] = ()
        if slug:  # it is not read any more where it was erased already
            held = Fold(self._log, slug_stream(slug), None, slug_holder)
            if await held.catch_up() == tenant:
                freed = (Entry(slug_stream(slug), (SlugFreed(),), actor=ACTOR, head=held.seq),)
        await self._log.append(*freed, erasing=[Erasure(name, tuple(places), "the tenant left")])

    async def _every(self, table: Table, where: dict[str, object]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        after = None
        while page := await self._log.find(Query(table, where, "id", after=after, limit=PAGE)):
            found += page
            after = page[-1]["id"]
        return found


async def _until(done: Callable[[], Awaitable[bool]]) -> None:
    while True:
        if await done():
            return
        await asyncio.sleep(LOOK_S)
