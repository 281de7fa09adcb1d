"""A tenant leaves: it takes along what is its, and nothing of it stays in any file; nobody else notices."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.actions.memory import Note, store_memory
from quarterdeck.actions.runs import Ask, start_run
from quarterdeck.actions.teams import TeamTask, form_team, start_team_run
from quarterdeck.actions.tenant_config import Wish, configure
from quarterdeck.actions.tenants import close_tenant, create_tenant
from quarterdeck.actions.tokens import Wanted, issue_token
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.engine.tenancy import TenantState, evolve
from quarterdeck.events.team import Expert
from quarterdeck.kernel.errors import Closed, Invalid, NotFound
from quarterdeck.kernel.ids import RunId, TenantId, run_stream, team_run_stream, tenant_stream
from quarterdeck.kernel.parts import Persona
from quarterdeck.kernel.scope import LOCAL_OWNER
from quarterdeck.log.fold import Fold
from quarterdeck.log.verify import troubles
from quarterdeck.ports import Query
from quarterdeck.runtime.leaving import Leaving
from quarterdeck.server.station import Station
from quarterdeck.settings import Settings
from quarterdeck.testing.upstream import Answer, Upstream
from quarterdeck.testing.wire import Told, openai_stream, openai_unfinished
from quarterdeck.views.tables import RUNS
from quarterdeck.views.teams import TEAM_RUNS
from quarterdeck.views.tenants import LEAVING
from quarterdeck.wiring import LocalHouse
from quarterdeck.wiring.terms import tenant_folder

BOUND_S = 20
# One for each place that holds something of a tenant, in different scripts.
NAME, SLUG, KEY, SAID, ANSWER, FACT, FILE, TALK, ONCE = (
    "Zaubernuss & Söhne", "zaubernuss", "sk-live-Zaubernuss-5mK8", "где лежит тайна-8841", "answer-of-quittenbaum",
    "a fact about 梅花鹿鹿", "words in a file: mirabellen", "talk-of-holunder", "key-of-schlehdorn",
)  # fmt: skip
PLANTED = (NAME, SLUG, KEY, SAID, ANSWER, FACT, FILE, TALK, ONCE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def house_in(folder: Path) -> LocalHouse:
    return LocalHouse(lambda: Settings(folder / "quarterdeck.db", provider_allow=("127.0.0.1",), drain_s=0.0))


@pytest.fixture
async def house(folder: Path) -> AsyncIterator[LocalHouse]:
    house = house_in(folder)
    await house.enter()
    yield house
    await house.close()


async def settled(here: Station, tenant: TenantId, message: str, **more: Any) -> None:
    started = await start_run(here.desk, LOCAL_OWNER.within(tenant), Ask(message, loop="native", **more), key=ONCE)
    cursor = here.desk.log.follow(run_stream(tenant, RunId(started.task)))
    async with asyncio.timeout(BOUND_S):
        while not any(row.kind == "run.finished" for row in await cursor.rows()):
            pass


async def planted(house: LocalHouse, upstream: Upstream, slug: str = SLUG) -> TenantId:
    """A tenant with something of everything."""
    here, desk = await house.enter(), (await house.enter()).desk
    tenant = await create_tenant(desk, LOCAL_OWNER, NAME, slug)
    scope = LOCAL_OWNER.within(tenant)
    place = {"provider": "openai", "base_url": upstream.base_url, "model": "m"}
    await configure(desk, scope, tenant, Wish(place, [KEY]), here.tenancy.vault, here.tenancy.judge)
    await store_memory(desk, scope, Note(FACT))
    await settled(here, tenant, SAID, conversation=TALK)
    files = tenant_folder(house.ground().settings, tenant)
    (files / "sub").mkdir(parents=True)
    (files / "sub" / "note.txt").write_text(FILE)
    return tenant


def answering() -> Upstream:
    return Upstream(Answer(openai_stream(Told((ANSWER,)))))


def found_in(folder: Path) -> set[str]:
    """Which of the planted words are in any file, in whichever way text is written."""
    data = b"\n".join(path.read_bytes() for path in folder.parent.rglob("*") if path.is_file())
    ways = {word: {word.encode(), json.dumps(word)[1:-1].encode(), word.encode("utf-16-le")} for word in PLANTED}
    return {word for word, forms in ways.items() if any(form in data for form in forms)}


async def erased(here: Station, tenant: TenantId) -> dict[str, Any]:
    cursor = here.desk.log.follow(tenant_stream(tenant))
    async with asyncio.timeout(BOUND_S):
        while not any(row.kind == "tenant.erased" for row in await cursor.rows()):
            pass
    line = await here.desk.log.get(LEAVING, id=tenant)
    assert line is not None
    return line


async def test_nothing_of_a_tenant_that_left_is_in_any_file_and_the_log_still_verifies(
    house: LocalHouse, folder: Path
) -> None:
    here = await house.enter()
    async with answering() as upstream:
        gone, stays = await planted(house, upstream), await planted(house, upstream, "stays")
        assert found_in(folder) == set(PLANTED) - {KEY}, "what is looked for cannot be found even while it is there"
        await close_tenant(here.desk, LOCAL_OWNER, stays, "stays")
        await erased(here, stays)
        assert SAID in found_in(folder)
        await close_tenant(here.desk, LOCAL_OWNER, gone, SLUG)
        line = await erased(here, gone)
    assert (line["state"], line["streams"] >= 3, line["places"] >= 8, len(line["digest"])) == ("erased", True, True, 64)
    assert found_in(folder) == set()
    assert await here.desk.log.verify() == []
    await house.close()
    assert found_in(folder) == set()
    store = SqliteStore(folder / "quarterdeck.db")
    try:
        assert troubles(store) == []
        assert {state.name.tenant for state in store.streams()} == {"house"}
        assert store.sealed() == []
    finally:
        store.close()


async def test_the_other_tenants_keep_everything(house: LocalHouse) -> None:
    here = await house.enter()
    async with answering() as upstream:
        gone, stays = await planted(house, upstream), await planted(house, upstream, "stays")
        before = [state async for state in all_of(here, stays)]
        await close_tenant(here.desk, LOCAL_OWNER, gone, SLUG)
        await erased(here, gone)
        assert [state async for state in all_of(here, stays)] == before
        assert (tenant_folder(house.ground().settings, stays) / "sub" / "note.txt").read_text() == FILE
        trial = await here.tenancy.try_out(stays)
        assert trial.ok, trial
    assert await here.desk.log.verify() == []


async def all_of(here: Station, tenant: TenantId) -> AsyncIterator[tuple[str, int, bytes]]:
    for state in await here.desk.log.streams(tenant):
        yield str(state.name), state.head, state.chain


async def test_a_slug_is_free_again_and_its_new_owner_inherits_nothing(house: LocalHouse) -> None:
    here = await house.enter()
    async with answering() as upstream:
        gone = await planted(house, upstream)
        await close_tenant(here.desk, LOCAL_OWNER, gone, SLUG)
        await erased(here, gone)
    again = await create_tenant(here.desk, LOCAL_OWNER, "New", SLUG)
    assert again != gone
    assert await here.desk.log.streams(again) == []
    assert not (await here.tenancy.try_out(again)).ok


async def test_a_tenant_is_closed_only_by_its_own_slug_and_only_once(house: LocalHouse) -> None:
    here = await house.enter()
    async with answering() as upstream:
        gone = await planted(house, upstream)
        for slug in (None, "", "Zaubernuss", "stays"):
            with pytest.raises(Invalid) as told:
                await close_tenant(here.desk, LOCAL_OWNER, gone, slug)
            assert told.value.code == "not_confirmed"
        await close_tenant(here.desk, LOCAL_OWNER, gone, SLUG)
        with pytest.raises(NotFound):
            await close_tenant(here.desk, LOCAL_OWNER, gone, SLUG)
        await erased(here, gone)
        with pytest.raises(NotFound):
            await close_tenant(here.desk, LOCAL_OWNER, gone, SLUG)


async def test_what_works_is_ended_and_nothing_is_written_for_it_any_more(house: LocalHouse, folder: Path) -> None:
    here = await house.enter()
    hanging = Answer(openai_unfinished([ANSWER]), fault="hang")
    async with Upstream(hanging) as upstream:
        tenant = await create_tenant(here.desk, LOCAL_OWNER, NAME, SLUG)
        scope = LOCAL_OWNER.within(tenant)
        place = {"provider": "openai", "base_url": upstream.base_url, "model": "m"}
        await configure(here.desk, scope, tenant, Wish(place, [KEY]), here.tenancy.vault, here.tenancy.judge)
        started = [await start_run(here.desk, scope, Ask(SAID, loop="native")) for _ in range(3)]
        await issue_token(here.desk, scope, Wanted("person:ann", "owner", "hers"))
        async with asyncio.timeout(BOUND_S):
            while len(upstream.requests) < 3:
                await asyncio.sleep(0)
        await close_tenant(here.desk, LOCAL_OWNER, tenant, SLUG)
        await erased(here, tenant)
        with pytest.raises(Closed) as told:
            await start_run(here.desk, scope, Ask("One more"))
        assert told.value.code == "tenant_gone"
        for each in started:
            assert await here.desk.log.look(run_stream(tenant, each.task)) is None
    assert await here.desk.log.find(Query(RUNS, {"tenant": tenant}, "id")) == []
    assert found_in(folder) == set()


async def test_a_team_at_work_ends_with_its_tenant(house: LocalHouse, folder: Path) -> None:
    here = await house.enter()
    async with Upstream(Answer(openai_unfinished([ANSWER]), fault="hang")) as upstream:
        tenant = await create_tenant(here.desk, LOCAL_OWNER, NAME, SLUG)
        scope = LOCAL_OWNER.within(tenant)
        place = {"provider": "openai", "base_url": upstream.base_url, "model": "m"}
        await configure(here.desk, scope, tenant, Wish(place, [KEY]), here.tenancy.vault, here.tenancy.judge)
        experts = [Expert(Persona(name, name, FACT), "", name == "lead") for name in ("lead", "ada")]
        team = await form_team(here.desk, scope, NAME, experts)
        run = await start_team_run(here.desk, scope, team, TeamTask(SAID))
        async with asyncio.timeout(BOUND_S):
            while not upstream.requests:
                await asyncio.sleep(0)
        await close_tenant(here.desk, LOCAL_OWNER, tenant, SLUG)
        await erased(here, tenant)
        assert await here.desk.log.look(team_run_stream(tenant, run)) is None
    assert await here.desk.log.find(Query(TEAM_RUNS, {"tenant": tenant}, "id")) == []
    assert found_in(folder) == set()


class PowerCut(Exception):
    """Nothing that anybody handles."""


class Cut(Leaving):
    """Ends in the middle, before one of its steps."""

    def __init__(self, house: LocalHouse, before: str) -> None:
        async def keep(tenant: TenantId) -> None:
            """The files stay: the power is out."""

        super().__init__(house.ground().log, keep)

        async def out(*_: object) -> None:
            raise PowerCut

        setattr(self, before, out)


@pytest.mark.parametrize("before", ["_hush", "_counted", "_clear", "_forget"])
async def test_what_was_cut_off_is_gone_on_with_at_the_next_start(folder: Path, before: str) -> None:
    house = house_in(folder)
    here = await house.enter()
    async with answering() as upstream:
        gone = await planted(house, upstream)
        floor = await next(iter(house._floors.values()))
        await floor.leaving.close()  # who would do it at once
        await close_tenant(here.desk, LOCAL_OWNER, gone, SLUG)
        with pytest.raises(PowerCut):
            await Cut(house, before).erase(gone)
        await house.close()
    house = house_in(folder)
    try:
        here = await house.enter()
        line = await erased(here, gone)
        assert (line["state"], line["places"] >= 8) == ("erased", True)
        assert await here.desk.log.verify() == []
    finally:
        await house.close()
    assert found_in(folder) == set()


async def test_the_read_models_are_what_the_log_gives_after_a_tenant_left(house: LocalHouse, folder: Path) -> None:
    here = await house.enter()
    async with answering() as upstream:
        gone = await planted(house, upstream)
        await planted(house, upstream, "stays")
        await close_tenant(here.desk, LOCAL_OWNER, gone, SLUG)
        await erased(here, gone)
    fold = Fold(here.desk.log, tenant_stream(gone), TenantState(), evolve)
    assert (await fold.catch_up()).erased
    await house.close()
    code = (
        "import sys; from pathlib import Path; from logroom import kept, rebuilt;"
        "from quarterdeck.adapters.sqlite.store import SqliteStore; from quarterdeck.views.tables import TABLES;"
        "store = SqliteStore(Path(sys.argv[1])); store.prepare(TABLES);"
        "assert kept(store) == rebuilt(store); assert kept(store)['leaving']; store.close()"
    )
    ours = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    arguments = [sys.executable, "-c", code, str(folder / "quarterdeck.db")]
    ran = subprocess.run(arguments, env=ours, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr


# What it takes along


async def taken(here: Station, tenant: TenantId) -> zipfile.ZipFile:
    packed = zipfile.ZipFile(io.BytesIO(b"".join([piece async for piece in here.tenancy.luggage(tenant)])))
    assert packed.testzip() is None
    return packed


async def test_a_tenant_takes_along_everything_and_no_secret(house: LocalHouse) -> None:
    here = await house.enter()
    async with answering() as upstream:
        tenant, other = await planted(house, upstream), await planted(house, upstream, "other")
        issued = await issue_token(here.desk, LOCAL_OWNER.within(tenant), Wanted("person:ann", "owner", "hers"))
        (tenant_folder(house.ground().settings, tenant) / "way").symlink_to("/etc/hostname")
        packed = await taken(here, tenant)
    whole = b"\n".join(packed.read(name) for name in packed.namelist()).decode()
    assert set(packed.namelist()) == {
        "README.txt", "tenant.json", "conversations.ndjson", "memories.ndjson", "events.ndjson", "files/sub/note.txt"
    }  # fmt: skip
    assert {word for word in PLANTED if word in whole} == {NAME, SLUG, SAID, ANSWER, FACT, FILE, TALK}
    assert KEY not in whole
    assert issued.token not in whole
    assert other not in whole
    (talk,) = [json.loads(line) for line in packed.read("conversations.ndjson").splitlines()]
    assert [(said["role"], said["content"]) for said in talk["messages"]] == [("user", SAID), ("assistant", ANSWER)]
    events = [json.loads(line) for line in packed.read("events.ndjson").splitlines()]
    assert {"run.requested", "run.finished", "memory.stored", "tenant.created", "token.issued"} <= {
        event["kind"] for event in events
    }
    assert not [event for event in events if "digest" in event["data"] and event["kind"] == "token.issued"]


async def test_a_tenant_that_has_nothing_takes_along_nothing_but_its_name(house: LocalHouse) -> None:
    here = await house.enter()
    tenant = await create_tenant(here.desk, LOCAL_OWNER, "Bare", "bare")
    packed = await taken(here, tenant)
    assert json.loads(packed.read("tenant.json"))["slug"] == "bare"
    assert packed.read("conversations.ndjson") == b""
