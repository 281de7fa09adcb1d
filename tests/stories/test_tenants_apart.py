"""Runs of tenants: each with its own provider, money, tools and folder, and none with anybody else's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.actions.runs import Ask, start_run
from quarterdeck.actions.tenant_config import Wish, configure
from quarterdeck.actions.tenants import create_tenant
from quarterdeck.adapters.system import SystemClock
from quarterdeck.events.base import Event
from quarterdeck.events.run import AttemptStarted, AttemptSuperseded, RunFinished
from quarterdeck.events.tool import ToolFinished, ToolWeighed
from quarterdeck.kernel.ids import ConversationId, RunId, TenantId, run_stream
from quarterdeck.kernel.parts import Persona, ToolCall
from quarterdeck.kernel.scope import LOCAL_OWNER, LOCAL_TENANT
from quarterdeck.kernel.tenancy import ModelPrice
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Query, Site
from quarterdeck.runtime.janitor import Janitor
from quarterdeck.server.station import Station
from quarterdeck.settings import Settings
from quarterdeck.testing.upstream import FAULTS, Answer, Upstream
from quarterdeck.testing.wire import Told, openai_stream
from quarterdeck.views.tables import RUNS
from quarterdeck.wiring import LocalHouse
from quarterdeck.wiring.ground import Ground
from quarterdeck.wiring.terms import tenant_folder, terms_of, workspaces

BOUND_S = 20
KEY = "sk-live-3fA9xQ7zT1bN5mK8"


@dataclass
class Stage:
    house: LocalHouse
    here: Station

    @property
    def ground(self) -> Ground:
        return self.house.ground()

    async def tenant(self, slug: str, *keys: str, **given: Any) -> TenantId:
        ident = await create_tenant(self.here.desk, LOCAL_OWNER, slug, slug)
        await self.change(ident, *keys, **given)
        return ident

    async def change(self, tenant: TenantId, *keys: str, **given: Any) -> None:
        tenancy, scope = self.here.tenancy, LOCAL_OWNER.within(tenant)
        wish = Wish(given, keys or None)
        await configure(self.here.desk, scope, tenant, wish, tenancy.vault, tenancy.judge)

    async def run(self, tenant: TenantId, message: str = "Hello", **more: Any) -> list[Event]:
        """The whole course of a run, once it has ended."""
        started = await start_run(self.here.desk, LOCAL_OWNER.within(tenant), Ask(message, loop="native", **more))
        name = run_stream(tenant, RunId(started.task))
        told: list[Event] = []
        cursor = self.here.desk.log.follow(name)
        async with asyncio.timeout(BOUND_S):
            while not (told and told[-1].TERMINAL):
                told += map(event_of, await cursor.rows())
        return told


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [{"content": ["the server's"]}]}))
    database = tmp_path / "data" / "quarterdeck.db"
    house = LocalHouse(lambda: Settings(database, model=f"scripted/{script}", provider_allow=("127.0.0.1",)))
    yield Stage(house, await house.enter())
    await house.close()


def end(told: list[Event]) -> RunFinished:
    assert isinstance(told[-1], RunFinished)
    return told[-1]


def models(told: list[Event]) -> list[str]:
    return [event.model for event in told if isinstance(event, AttemptStarted)]


def place(upstream: Upstream, **more: Any) -> dict[str, Any]:
    return {"provider": "openai", "base_url": upstream.base_url, "model": "m", **more}


async def test_each_tenant_is_answered_by_its_own_provider_with_its_own_key(stage: Stage) -> None:
    async with Upstream() as one, Upstream() as two:
        ann = await stage.tenant("ann", "key-of-ann-123", **place(one))
        bob = await stage.tenant("bob", "key-of-bob-123", **place(two))
        ends = await asyncio.gather(*(stage.run(tenant) for tenant in (ann, bob) * 5))
        assert {end(told).outcome for told in ends} == {"completed"}
        for upstream, key in ((one, "key-of-ann-123"), (two, "key-of-bob-123")):
            assert {each.headers["authorization"] for each in upstream.requests} == {f"Bearer {key}"}
            assert len(upstream.requests) == 5


async def test_a_refused_key_costs_an_attempt_and_the_next_one_answers(stage: Stage) -> None:
    async with Upstream(FAULTS["status-401"], Answer()) as upstream:
        ann = await stage.tenant("ann", "first-key-1234", "second-key-1234", **place(upstream))
        told = await stage.run(ann)
        assert end(told).outcome == "completed"
        assert len([event for event in told if isinstance(event, AttemptSuperseded)]) == 1
        used = [each.headers["authorization"] for each in upstream.requests]
        assert used == ["Bearer first-key-1234", "Bearer second-key-1234"]
        assert not any(b"key-1234" in row.data for row in await everything(stage, ann))


async def everything(stage: Stage, tenant: TenantId) -> list[Any]:
    store = stage.ground.log._store
    return [row for state, row in store.scan() if state.name.tenant == tenant]


@pytest.mark.parametrize(
    ("answer", "code"), [("status-401", "provider_auth"), ("status-404", "provider_not_found"), (None, "no_model")]
)
async def test_what_is_wrong_with_a_provider_is_one_sentence_and_the_conversation_goes_on_once_it_is_mended(
    stage: Stage, answer: str | None, code: str
) -> None:
    ann = await stage.tenant("ann")
    async with Upstream(FAULTS[answer or "status-401"]) as broken, Upstream() as good:
        if answer:
            await stage.change(ann, KEY, **place(broken))
        failed = end(await stage.run(ann, conversation="talk"))
        assert (failed.outcome, failed.code) == ("failed", code)
        assert failed.detail
        assert KEY not in failed.detail
        await stage.change(ann, KEY, **place(good))
        assert end(await stage.run(ann, "Again", conversation="talk")).outcome == "completed"
        assert "Hello" in good.requests[0].body.decode()


async def test_a_persona_has_a_model_of_its_own_at_its_tenants_provider(stage: Stage) -> None:
    async with Upstream() as upstream:
        ann = await stage.tenant("ann", KEY, **place(upstream))
        told = await stage.run(ann, persona=Persona("e1", "Eve", model="openai/big"))
        assert models(told) == ["openai/big"]
        assert upstream.requests[0].document["model"] == "big"


async def test_a_tenants_budget_and_prices_hold_for_it_alone(stage: Stage) -> None:
    prices = (ModelPrice("openai/*", 1_000.0, 1_000.0),)
    async with Upstream() as upstream:
        ann = await stage.tenant("ann", KEY, **place(upstream, prices=prices, run_budget_usd=1.0))
        bob = await stage.tenant("bob", KEY, **place(upstream))
        refused = end(await stage.run(ann))
        assert (refused.outcome, refused.code) == ("failed", "budget_exceeded")
        assert "`run_budget_usd`" in (refused.detail or "")
        assert upstream.requests == []
        assert end(await stage.run(bob)).outcome == "completed"
        await stage.change(ann, run_budget_usd=100.0, day_budget_usd=15.0)
        assert end(await stage.run(ann)).outcome == "completed"
        await stage.change(ann, day_budget_usd=0.0001)
        again = end(await stage.run(ann))
        assert (again.code, "`day_budget_usd`" in (again.detail or "")) == ("budget_exceeded", True)


async def test_the_tighter_of_the_servers_budget_and_the_tenants_holds(stage: Stage) -> None:
    ann = await stage.tenant("ann", provider="openai", run_budget_usd=5.0, prices=(ModelPrice("a/b", 0.0, 0.0),))
    strict = Settings(Path("/nowhere/x.db"), run_budget_usd=2.0, day_budget_usd=9.0)
    caps = (await terms_of(stage.ground.configs, strict)(ann)).caps
    assert (caps.run, caps.run_setting, caps.day) == (2.0, "QUARTERDECK_RUN_BUDGET_USD", 9.0)
    await stage.change(ann, run_budget_usd=1.0)
    caps = (await terms_of(stage.ground.configs, strict)(ann)).caps
    assert (caps.run, caps.run_setting) == (1.0, "`run_budget_usd`")


def calling(*calls: ToolCall) -> Answer:
    return Answer(openai_stream(Told((), calls=[(call.id, call.name, [call.arguments]) for call in calls])))


@pytest.mark.parametrize(
    ("tools", "call", "says"),
    [
        (None, ToolCall("c1", "file_read", '{"path": "x"}'), "There is no tool"),
        (None, ToolCall("c1", "shell_exec_safe", '{"command": "id"}'), "There is no tool"),
        (("file_read",), ToolCall("c1", "file_read", '{"path": "/etc/hostname"}'), "No tenant may do"),
        (("file_read",), ToolCall("c1", "file_read", '{"path": "../../quarterdeck.db"}'), "No tenant may do"),
        (
            ("shell_exec_safe",),
            ToolCall("c1", "shell_exec_safe", '{"command": "sudo id"}'),
            "No tenant may do",
        ),
    ],
)
async def test_what_a_tenant_was_not_given_and_what_leaves_its_folder_is_refused_without_a_question(
    stage: Stage, tools: tuple[str, ...] | None, call: ToolCall, says: str
) -> None:
    async with Upstream(calling(call), Answer()) as upstream:
        ann = await stage.tenant("ann", KEY, **place(upstream, tools=tools))
        told = await stage.run(ann, workspace="/")
        assert end(told).outcome == "completed"
        refused = [event for event in told if isinstance(event, ToolFinished)]
        assert len(refused) == 1
        assert not refused[0].ok
        assert says in refused[0].result
        offered = {tool["function"]["name"] for tool in upstream.requests[0].document.get("tools", ())}
        assert offered == set(tools) if tools else offered <= {"ask_user", "memory_search", "skill_read", "web_fetch"}


async def test_a_tenant_works_in_a_folder_of_its_own(stage: Stage) -> None:
    call = ToolCall("c1", "file_read", '{"path": "note.txt"}')
    async with Upstream(calling(call), Answer()) as upstream:
        ann = await stage.tenant("ann", KEY, **place(upstream, tools=("file_read",)))
        folder = tenant_folder(stage.ground.settings, ann)
        folder.mkdir(parents=True)
        (folder / "note.txt").write_text("Ann's note")
        told = await stage.run(ann)
        assert [event.risk for event in told if isinstance(event, ToolWeighed)] == ["low"]
        assert "Ann's note" in upstream.requests[1].body.decode()


def test_no_word_of_a_request_leads_out_of_a_tenants_folder(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "data" / "q.db")
    own = tmp_path / "data" / "tenants" / "t1"
    of = workspaces(settings)
    (own / "sub").mkdir(parents=True)
    (own / "way").symlink_to("/etc")
    assert of(TenantId("t1"), "sub") == str(own / "sub")
    for asked in (None, "/etc", "..", "../t2", "sub/../../t2", "way", "", str(tmp_path)):
        assert of(TenantId("t1"), asked) == str(own)


class Later(SystemClock):
    def __init__(self, days: float) -> None:
        self._by = days * 24 * 3600.0

    def now(self) -> float:
        return super().now() + self._by


async def test_each_tenants_runs_are_kept_as_long_as_it_said(stage: Stage) -> None:
    async with Upstream() as upstream:
        ann = await stage.tenant("ann", KEY, **place(upstream, keep_days=30.0))
        bob = await stage.tenant("bob", KEY, **place(upstream))
        eve = await stage.tenant("eve", KEY, **place(upstream, keep_days=90.0))
        for tenant in (ann, bob, eve):
            await stage.run(tenant)
    log = stage.here.desk.log

    async def trimmed() -> list[TenantId]:
        found = [await log.find(Query(RUNS, {"tenant": tenant}, "id")) for tenant in (ann, bob, eve)]
        states = [await log.look(run_stream(TenantId(run["tenant"]), RunId(run["id"]))) for (run,) in found]
        return [state.name.tenant for state in states if state is not None and state.floor]

    await Janitor(log, Later(29), None).tidy()
    assert await trimmed() == []
    await Janitor(log, Later(31), None).tidy()
    assert await trimmed() == [ann]
    await Janitor(log, Later(61), 60.0).tidy()
    assert await trimmed() == [ann, bob]


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("openai/gpt", "OPENAI_API_KEY is not set"),
        ("gpt", "it must read provider/model"),
        ("scripted/x", "no provider"),
    ],
)
async def test_a_persona_of_the_server_itself_that_wants_a_model_that_is_not_there_is_told_so(
    stage: Stage, model: str, says: str
) -> None:
    told = end(await stage.run(LOCAL_TENANT, persona=Persona("e1", "Eve", model=model)))
    assert (told.outcome, told.code) == ("failed", "no_model")
    assert says in (told.detail or "")


async def test_what_the_owner_may_reach_in_the_house_a_tenant_may_not(tmp_path: Path) -> None:
    database = tmp_path / "data" / "quarterdeck.db"
    async with Upstream() as inside:
        settings = Settings(database, fetch_allow=("127.0.0.1",), provider_allow=("127.0.0.1",))
        house = LocalHouse(lambda: settings)
        try:
            stage = Stage(house, await house.enter())
            fetch = ToolCall("c1", "web_fetch", json.dumps({"url": inside.url}))
            async with Upstream(calling(fetch), Answer()) as upstream:
                ann = await stage.tenant("ann", KEY, **place(upstream))
                told = await stage.run(ann)
            (refused,) = [event for event in told if isinstance(event, ToolFinished)]
            assert "is not a public address" in refused.result
            owners = await stage.ground.toolbox.weigh(fetch, Site(LOCAL_TENANT, RunId("r"), ConversationId("c"), "/"))
            assert owners.risk == "medium"
            assert inside.connections == 0
        finally:
            await house.close()
