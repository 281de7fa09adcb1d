"""Servers that ask everybody who they are, and tokens for every kind of person at them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.tokens import Issued, Wanted, issue_token
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.engine.access import Role
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.scope import LOCAL_OWNER
from quarterdeck.log.log import Log
from quarterdeck.views.tables import TABLES, VIEWS

NAME = "deck.example"
GUARDED = {"QUARTERDECK_AUTH": "on", "QUARTERDECK_PROXY": "1", "QUARTERDECK_HOSTS": NAME}

T = TypeVar("T")


def at_desk(folder: Path, act: Callable[[Desk], Awaitable[T]]) -> T:
    """Do something in a data folder that no server has open."""

    async def acted() -> T:
        log = Log(SqliteStore(folder / "quarterdeck.db"), SystemClock(), TABLES, VIEWS)
        try:
            return await act(Desk(log, SystemIds(), SystemClock()))
        finally:
            await log.close()

    with ThreadPoolExecutor(1) as apart:  # a test may have a loop of its own
        return apart.submit(lambda: asyncio.run(acted())).result()


async def token(desk: Desk, role: Role, actor: str, tenant: str = "local", expires_at: float | None = None) -> Issued:
    return await issue_token(desk, LOCAL_OWNER.within(TenantId(tenant)), Wanted(actor, role, expires_at=expires_at))


class Yesterday(SystemClock):
    def now(self) -> float:
        return super().now() - 24 * 3600.0


async def expired_token(desk: Desk, role: Role, actor: str) -> Issued:
    """One that was issued yesterday for an hour."""
    before = replace(desk, clock=Yesterday())
    return await token(before, role, actor, expires_at=before.clock.now() + 3600.0)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
