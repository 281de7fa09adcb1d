"""What is kept beside the log, and losing all that is a tenant's: the same on every store."""

from __future__ import annotations

import asyncio

import pytest

from logroom import Shelf, said, stream
from quarterdeck.events.memory import MemoryStored
from quarterdeck.events.run import RunFinished, RunRequested
from quarterdeck.events.talk import ConversationOpened, MessageAdded
from quarterdeck.kernel.errors import Closed
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.tenancy import Sealed
from quarterdeck.log.entries import Claim, Entry, Producer
from quarterdeck.log.log import Log
from quarterdeck.ports import Once, Query
from quarterdeck.views.memory import MEMORIES
from quarterdeck.views.tables import RUNS

ANN, BOB = TenantId("ann"), TenantId("bob")


async def lived(log: Log, tenant: str, runs: int = 3) -> None:
    """Something in every table of the store: rows, marks, request keys, a snapshot, read models, a sealed box."""
    for number in range(runs):
        run, talk = stream(f"r{number}", "run", tenant), stream("c1", tenant=tenant)
        opened = (ConversationOpened("a title"),)
        once = Once(f"{tenant}\nperson:x\nstart_run\nk{number}", b"d", b"{}")
        await log.append(
            Entry(run, (RunRequested("c1", "hello"),), claim=Claim("w", 1), producer=Producer("p", 1, 1)),
            Entry(talk, (MessageAdded("user", "hello", f"r{number}"),), opening=opened),
            once=once,
        )
        await log.append(Entry(run, (RunFinished("completed", "done"),), fence=1))
    await log.trim(stream("r0", "run", tenant), 1, b'{"snapshot": true}')
    await log.append(Entry(stream("main", "memory", tenant), (MemoryStored("m1", "a fact", scope="global"),)))
    box = Sealed(TenantId(tenant), "k1", tenant.encode())
    await log.seal(TenantId(tenant), lambda _: ([box], []))


async def of(log: Log, tenant: TenantId) -> dict[str, object]:
    states = await log.streams(tenant)
    return {
        "streams": [(str(state.name), state.head, state.chain) for state in states],
        "rows": [[row.data for row in await log.read(state.name, state.floor)] for state in states],
        "snapshots": [await log.snapshot(state.name) for state in states],
        "runs": await log.find(Query(RUNS, {"tenant": tenant}, "id")),
        "memories": await log.find(Query(MEMORIES, {"tenant": tenant}, "id")),
        "once": await log.once(f"{tenant}\nperson:x\nstart_run\nk1"),
        "sealed": await log.sealed(tenant),
    }


NOTHING = {"streams": [], "rows": [], "snapshots": [], "runs": [], "memories": [], "once": None, "sealed": []}


async def test_all_that_is_a_tenants_goes_and_the_others_keep_theirs(shelf: Shelf, log: Log) -> None:
    for tenant in ("ann", "bob", "annabel", "an"):
        await lived(log, tenant)
    before = {tenant: await of(log, TenantId(tenant)) for tenant in ("bob", "annabel", "an")}
    assert all(before["bob"].values())
    await log.shut(ANN)
    await log.drop(ANN)
    assert await of(log, ANN) == NOTHING
    assert {tenant: await of(log, TenantId(tenant)) for tenant in before} == before
    assert await log.verify() == []
    assert await log.scrub()
    log = shelf.open()
    assert await of(log, ANN) == NOTHING
    assert {tenant: await of(log, TenantId(tenant)) for tenant in before} == before
    assert await log.verify() == []


async def test_nothing_is_written_for_a_tenant_that_was_shut(shelf: Shelf, log: Log) -> None:
    await lived(log, "ann")
    run = stream("r9", "run", "ann")
    await log.append(Entry(run, (RunRequested("c1", "x"),)))
    spout = log.spout(run, fence=0, actor="m")
    await log.shut(ANN)
    for name in (run, stream("new", tenant="ann")):
        with pytest.raises(Closed) as told:
            await log.append(Entry(name, (said("late"),)))
        assert told.value.code == "tenant_gone"
    with pytest.raises(Closed):
        await log.append(Entry(stream("x", tenant="bob"), (said("with it"),)), Entry(run, (said("late"),)))
    assert await log.look(stream("x", tenant="bob")) is None
    await log.drop(ANN)
    spout.pour("content", 1, ["late"])
    with pytest.raises(Closed):
        await spout.below(0)
    assert await of(log, ANN) == NOTHING
    await log.append(Entry(stream("x", tenant="bob"), (said("still here"),)))


async def test_what_is_appended_while_a_tenant_goes_is_there_whole_or_not_at_all(shelf: Shelf, log: Log) -> None:
    async def write(tenant: str, number: int) -> bool:
        try:
            await log.append(Entry(stream(f"c{number}", tenant=tenant), (said(number),)))
        except Closed:
            return False
        return True

    async def leave() -> None:
        await log.shut(ANN)
        await log.drop(ANN)

    wanted = [write(tenant, number) for number in range(100) for tenant in ("ann", "bob")]
    await asyncio.gather(*wanted[:100], leave(), *wanted[100:])
    assert await of(log, ANN) == NOTHING
    assert len(await log.streams(BOB)) == 100
    assert await log.verify() == []


async def test_streams_of_a_tenant_come_page_by_page(log: Log) -> None:
    for number in range(7):
        for tenant in ("ann", "bob"):
            await log.append(Entry(stream(f"c{number}", tenant=tenant), (said(number),)))
    found, after = [], 0
    while page := await log.streams(ANN, after, 3):
        assert len(page) <= 3
        found += [state.name.key for state in page]
        after = page[-1].id
    assert found == [f"c{number}" for number in range(7)]


async def test_what_is_sealed_is_kept_replaced_and_lost_by_name(shelf: Shelf, log: Log) -> None:
    one, two, bobs = Sealed(ANN, "1", b"one"), Sealed(ANN, "2", b"two"), Sealed(BOB, "1", b"bob's")
    await log.seal(None, lambda there: ([one, two, bobs], there))
    await log.seal(ANN, lambda there: ([Sealed(ANN, "1", b"other")], [each for each in there if each.id == "2"]))
    log = shelf.open()
    assert await log.sealed(ANN) == [Sealed(ANN, "1", b"other")]
    assert await log.sealed(BOB) == [bobs]
    with pytest.raises(ZeroDivisionError):
        await log.seal(None, lambda there: ([], there if 1 / 0 else []))
    assert len(await log.sealed(ANN)) == 1
