"""Tenants: created once, found again, and each with a slug of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.tenants import change_tenant, create_tenant
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.kernel.errors import Conflict, Invalid, NotAllowed, NotFound
from quarterdeck.kernel.ids import TenantId, slug_stream
from quarterdeck.kernel.scope import LOCAL_OWNER, LOCAL_TENANT, Scope
from quarterdeck.log.log import Log
from quarterdeck.log.memory import MemoryStore
from quarterdeck.ports import Query
from quarterdeck.views.tables import TABLES, VIEWS
from quarterdeck.views.tenants import TENANTS, tenant_line


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    log = Log(MemoryStore(), SystemClock(), TABLES, VIEWS)
    yield Desk(log, SystemIds(), SystemClock())
    await log.close()


async def test_a_tenant_is_there_as_soon_as_it_was_created(desk: Desk) -> None:
    ident = await create_tenant(desk, LOCAL_OWNER, "  Чайка\n& Sons ", "seagull")
    line = await tenant_line(desk.log, ident)
    assert (line["name"], line["slug"], line["created_at"]) == ("Чайка & Sons", "seagull", line["changed_at"])


async def test_of_many_who_want_a_slug_at_once_one_gets_it(desk: Desk) -> None:
    wanted = [create_tenant(desk, LOCAL_OWNER, f"Tenant {n}", "gull") for n in range(40)]
    came = await asyncio.gather(*wanted, return_exceptions=True)
    refused = [each for each in came if isinstance(each, Conflict)]
    assert (len(refused), {each.code for each in refused}) == (39, {"slug_taken"})
    assert len(await desk.log.find(Query(TENANTS, {}, "id"))) == 1


async def test_the_same_request_creates_one_tenant_however_often_it_is_made(desk: Desk) -> None:
    again = [create_tenant(desk, LOCAL_OWNER, "A", "a", key="k1", body=b"x") for _ in range(20)]
    idents = await asyncio.gather(*again)
    assert len(set(idents)) == 1
    assert await create_tenant(desk, LOCAL_OWNER, "A", "a", key="k1", body=b"x") == idents[0]
    with pytest.raises(Conflict) as told:
        await create_tenant(desk, LOCAL_OWNER, "B", "b", key="k1", body=b"y")
    assert told.value.code == "idempotency_mismatch"
    with pytest.raises(Conflict) as told:
        await create_tenant(desk, LOCAL_OWNER, "A", "a", key="k2", body=b"x")
    assert told.value.code == "slug_taken"


async def test_a_slug_that_was_given_up_can_be_taken_by_another(desk: Desk) -> None:
    one = await create_tenant(desk, LOCAL_OWNER, "One", "first")
    two = await create_tenant(desk, LOCAL_OWNER, "Two", "second")
    with pytest.raises(Conflict):
        await change_tenant(desk, LOCAL_OWNER, two, slug="first")
    await change_tenant(desk, LOCAL_OWNER, one, name="Uno", slug="uno")
    await change_tenant(desk, LOCAL_OWNER, two, slug="first")
    assert [(await tenant_line(desk.log, each))["slug"] for each in (one, two)] == ["uno", "first"]
    await create_tenant(desk, LOCAL_OWNER, "Three", "second")


@pytest.mark.parametrize("slug", ["", "A", "a b", "-a", "a-", "ä", "a" * 64, "a/b", "a\n"])
async def test_a_slug_is_plain(desk: Desk, slug: str) -> None:
    with pytest.raises(Invalid) as told:
        await create_tenant(desk, LOCAL_OWNER, "A", slug)
    assert told.value.code == "bad_slug"


@pytest.mark.parametrize("slug", ["local", "house"])
async def test_the_servers_own_names_are_nobodys_slug(desk: Desk, slug: str) -> None:
    with pytest.raises(Conflict):
        await create_tenant(desk, LOCAL_OWNER, "A", slug)


@pytest.mark.parametrize("name", ["", " \n", "a\x07b", "n" * 201])
async def test_a_name_is_a_line_that_can_be_read(desk: Desk, name: str) -> None:
    with pytest.raises(Invalid):
        await create_tenant(desk, LOCAL_OWNER, name, "a")


async def test_only_an_operator_creates_tenants_and_gives_slugs(desk: Desk) -> None:
    ident = await create_tenant(desk, LOCAL_OWNER, "A", "a")
    admin = Scope(ident, "person:ann", frozenset({"*"}))
    with pytest.raises(NotAllowed):
        await create_tenant(desk, admin, "B", "b")
    with pytest.raises(NotAllowed):
        await change_tenant(desk, admin, ident, slug="b")
    await change_tenant(desk, admin, ident, name="Ann's")
    assert (await tenant_line(desk.log, ident))["name"] == "Ann's"


async def test_nobodys_id_is_not_found_and_the_local_tenant_is_always_there(desk: Desk) -> None:
    with pytest.raises(NotFound):
        await tenant_line(desk.log, TenantId("nobody"))
    assert (await tenant_line(desk.log, LOCAL_TENANT))["slug"] == "local"
    with pytest.raises(Conflict):
        await change_tenant(desk, LOCAL_OWNER, LOCAL_TENANT, name="Mine")


def test_a_slug_is_not_in_the_name_of_its_stream() -> None:
    assert "seagull" not in str(slug_stream("seagull"))
