"""Who is known by a token, and how soon what is open with it hears that it ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.tokens import Issued, Wanted, issue_token
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.events.access import TokenRevoked
from quarterdeck.kernel.ids import TenantId, token_stream
from quarterdeck.kernel.scope import LOCAL_OWNER, Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.log.memory import MemoryStore
from quarterdeck.server.access import Access
from quarterdeck.views.access import TOKENS
from quarterdeck.views.tables import TABLES, VIEWS

BOUND_S = 20
ACME = LOCAL_OWNER.within(TenantId("acme"))


class Counting(MemoryStore):
    """Tells how often something was looked up."""

    looked = 0

    def get(self, table, key):  # type: ignore[no-untyped-def]
        self.looked += table is TOKENS
        return super().get(table, key)


class HandClock(SystemClock):
    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


@pytest.fixture
def store() -> Counting:
    return Counting()


@pytest.fixture
async def desk(store: Counting) -> AsyncIterator[Desk]:
    log = Log(store, HandClock(), TABLES, VIEWS)
    yield Desk(log, SystemIds(), HandClock())
    await log.close()


@pytest.fixture
async def access(desk: Desk) -> Access:
    return Access(desk.log, desk.clock)


async def issued(desk: Desk, **more: object) -> Issued:
    return await issue_token(desk, ACME, Wanted("person:eve", "member", **more))  # type: ignore[arg-type]


async def revoke(desk: Desk, token: str) -> None:
    await desk.log.append(Entry(token_stream(ACME.tenant, token), (TokenRevoked(token, "person:owner"),)))


async def shown(access: Access, token: str) -> Scope:
    scope = await access.authenticate(token)
    assert scope is not None
    return scope


async def test_a_token_is_looked_up_once(desk: Desk, access: Access, store: Counting) -> None:
    token = await issued(desk)
    first = await shown(access, token.token)
    before = store.looked
    assert all([await shown(access, token.token) is first for _ in range(50)])
    assert store.looked == before


async def test_for_what_is_no_token_nothing_is_looked_up(access: Access, store: Counting) -> None:
    for text in ("", "qd_", "x" * 100_000, "qd_" + "é" * 32 + "_" + "A" * 43, "' OR 1=1 --"):
        assert await access.authenticate(text) is None
    assert store.looked == 0


async def test_tokens_that_begin_alike_are_not_taken_for_each_other(desk: Desk, access: Access) -> None:
    token = await issued(desk)
    assert await shown(access, token.token)
    others = [token.token[:-20] + f"{number:020}" for number in range(500)]
    assert not any([await access.authenticate(other) for other in others])
    assert await shown(access, token.token)


async def test_a_token_that_is_revoked_is_known_no_more_though_it_was_known_before(desk: Desk, access: Access) -> None:
    token = await issued(desk)
    assert await shown(access, token.token)
    await revoke(desk, token.id)
    assert await access.authenticate(token.token) is None


async def test_who_waits_for_the_end_of_a_token_is_told_once_it_is_revoked(desk: Desk, access: Access) -> None:
    token, other = await issued(desk), await issued(desk)
    told = [asyncio.Event() for _ in range(4)]
    scope = await shown(access, token.token)
    access.until(scope, told[0].set)
    access.until(scope, told[1].set)
    access.until(scope, told[2].set)()
    access.until(await shown(access, other.token), told[3].set)
    await revoke(desk, token.id)
    async with asyncio.timeout(BOUND_S):
        await told[0].wait()
        await told[1].wait()
    assert not told[2].is_set(), "it had left"
    assert not told[3].is_set(), "it is known by another token"


async def test_what_begins_to_wait_after_the_end_is_told_at_once(desk: Desk, access: Access) -> None:
    token = await issued(desk)
    scope = await shown(access, token.token)
    await revoke(desk, token.id)
    assert await access.authenticate(token.token) is None
    told = asyncio.Event()
    access.until(scope, told.set)
    async with asyncio.timeout(BOUND_S):
        await told.wait()


async def test_what_came_out_of_a_token_hears_of_its_end(desk: Desk, access: Access) -> None:
    parent = await issued(desk)
    child = await issued(desk, parent=parent.id)
    told = asyncio.Event()
    access.until(await shown(access, child.token), told.set)
    await revoke(desk, parent.id)
    async with asyncio.timeout(BOUND_S):
        await told.wait()
    assert await access.authenticate(child.token) is None


async def test_who_waits_for_the_end_of_a_token_is_told_when_it_expires(desk: Desk, access: Access) -> None:
    scope, told = await shown(access, (await issued(desk)).token), asyncio.Event()
    assert scope.shown is not None
    for ends_at in (desk.clock.now() + 0.05, desk.clock.now() - 1.0):
        told.clear()
        access.until(replace(scope, shown=replace(scope.shown, ends_at=ends_at)), told.set)
        async with asyncio.timeout(BOUND_S):
            await told.wait()


async def test_a_token_that_expired_meanwhile_is_known_no_more(desk: Desk, access: Access) -> None:
    token = await issued(desk, expires_at=desk.clock.now() + 1000)
    assert await shown(access, token.token)
    desk.clock.ahead = 1001.0  # type: ignore[attr-defined]
    assert await access.authenticate(token.token) is None


async def test_in_local_mode_nothing_ends(access: Access) -> None:
    told: list[str] = []
    access.until(LOCAL_OWNER, lambda: told.append("ended"))()
    assert told == []


async def test_that_a_token_is_in_use_is_told_now_and_then(desk: Desk, access: Access) -> None:
    token = await issued(desk)
    for _ in range(20):
        await shown(access, token.token)
    cursor = desk.log.follow(token_stream(ACME.tenant, token.id), 1)
    async with asyncio.timeout(BOUND_S):
        rows = await cursor.rows()
    assert [row.kind for row in rows] == ["token.used"]
    line = await desk.log.get(TOKENS, id=token.id)
    assert line is not None
    assert line["used_at"] == rows[0].at
    state = await desk.log.look(token_stream(ACME.tenant, token.id))
    assert state is not None
    assert state.head == 2


async def test_a_token_that_ends_while_it_is_looked_up_is_not_remembered(desk: Desk, access: Access) -> None:
    tokens = [await issued(desk) for _ in range(30)]
    for token in tokens:
        found = asyncio.ensure_future(access.authenticate(token.token))
        await asyncio.gather(found, revoke(desk, token.id))
        assert await access.authenticate(token.token) is None
