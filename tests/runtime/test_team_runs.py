"""Teams on the log: every part an ordinary run, nothing begun twice, a person's word heeded in its turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from staging import Cast, Drawer, Playing, Stage, bounded

from logroom import kept, rebuilt
from quarterdeck.actions.approvals import answer
from quarterdeck.actions.runs import stop_run
from quarterdeck.actions.teams import TeamTask, change_plan, form_team, start_team_run, step_in
from quarterdeck.adapters.system import SystemIds
from quarterdeck.engine.approval import Answer
from quarterdeck.engine.money import Price
from quarterdeck.events import team as ev
from quarterdeck.events.base import Event
from quarterdeck.events.run import RunRequested
from quarterdeck.kernel.errors import Conflict, Invalid, ModelFailed, NotFound
from quarterdeck.kernel.ids import RunId, TenantId, run_stream, team_run_stream
from quarterdeck.kernel.parts import Persona, ToolCall, Usage
from quarterdeck.kernel.scope import LOCAL_OWNER, LOCAL_TENANT, Scope
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Burst, Ended, ModelEvent, ModelRequest, Query, Toolbox, Traits
from quarterdeck.runtime.conductor import TeamCrew
from quarterdeck.runtime.supervisor import Supervisor
from quarterdeck.runtime.team_supervisor import TeamSupervisor
from quarterdeck.views.tables import RUNS
from quarterdeck.views.talk import CONVERSATIONS
from quarterdeck.views.teams import TEAM_INTERVENTIONS

PLAN = (
    ev.Planned("a", "look", "ada", "look around"),
    ev.Planned("b", "count", "bob", "count it"),
    ev.Planned("c", "judge", "ada", "judge it", ("a", "b")),
)
Answering = Callable[[str, ModelRequest], Awaitable[str]]


def mine(asked: str) -> str:
    """The part of a prompt that says what this expert is to do."""
    return asked.rsplit("## Your part", maxsplit=1)[-1] if "## Your part" in asked else ""


async def usual(asked: str, _: ModelRequest) -> str:
    if "Divide the task" in asked:
        shapes = [
            {"id": p.id, "name": p.name, "expert": p.expert, "task": p.task, "depends_on": p.depends_on} for p in PLAN
        ]
        return json.dumps({"phases": shapes})
    return "the answer" if "the work is over" in asked else f"did: {mine(asked)[:40]}"


class Company:
    """A stage with a team on it, and whoever drives runs and teams."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.drivers = stage, list[TeamSupervisor]()

    async def staff(self, answering: Answering, toolbox: Toolbox | None = None, worker: str = "p.one") -> Playing:
        async def play(request: ModelRequest) -> AsyncIterator[ModelEvent]:
            asked = next(m.content for m in request.messages if m.role == "user")
            said = await answering(asked, request)
            if isinstance(said, ToolCall):
                yield Ended("tool_calls", (said,), Usage(1, 1))
                return
            for word in said.split(" "):
                yield Burst("content", [word + " "])
            yield Ended("stop", (), Usage(10, 10))

        model = Playing(play, Traits(tools=True))
        self.runs: Supervisor = await self.stage.staffed(model, toolbox, worker=worker)
        teams = TeamSupervisor(TeamCrew(self.stage.log, Cast(model), SystemIds(), f"{worker}.teams"))
        await teams.open()
        self.drivers.append(teams)
        return model

    async def let_go(self) -> None:
        await self.drivers.pop().close()
        await self.stage.let_go(self.runs)

    async def form(self) -> str:
        experts = [
            ev.Expert(Persona(name, name, f"You are {name}."), "", name == "lead") for name in ("lead", "ada", "bob")
        ]
        return await form_team(self.stage.desk, LOCAL_OWNER, "Crew", experts)

    async def ask(self, task: str = "Find out", **options: Any) -> str:
        return await start_team_run(self.stage.desk, LOCAL_OWNER, await self.form(), TeamTask(task, **options))

    async def say(self, run: str, text: str) -> str:
        return await step_in(self.stage.desk, LOCAL_OWNER, run, text)

    async def until(self, run: str, enough: Callable[[list[Event]], bool]) -> list[Event]:
        seen, cursor = list[Event](), self.stage.log.follow(team_run_stream(LOCAL_TENANT, run))
        async with bounded():
            while not enough(seen):
                seen += [event_of(row) for row in await cursor.rows()]
        return seen

    async def ended(self, run: str) -> list[Event]:
        seen = await self.until(run, lambda seen: bool(of(seen, ev.TeamRunFinished)))
        assert isinstance(seen[-1], ev.TeamRunFinished)
        return seen

    async def run_of(self, started: ev.PartStarted) -> RunRequested:
        rows = await self.stage.log.read(run_stream(LOCAL_TENANT, RunId(started.run or "")), 0, 1)
        event = event_of(rows[0])
        assert isinstance(event, RunRequested)
        return event

    async def receipt(self, ident: str) -> dict[str, Any]:
        line = await self.stage.log.get(TEAM_INTERVENTIONS, tenant="local", id=ident)
        assert line is not None
        return line


def of(seen: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in seen if isinstance(event, kind)]


@pytest.fixture
async def company(stage: Stage) -> AsyncIterator[Company]:
    company = Company(stage)
    yield company
    for driver in company.drivers:
        await driver.close()


async def test_a_team_plans_works_and_answers_and_each_part_is_an_ordinary_run(company: Company) -> None:
    await company.staff(usual)
    run = await company.ask(budget_usd=None)
    seen = await company.ended(run)
    assert (seen[-1].outcome, seen[-1].answer.strip()) == ("completed", "the answer")  # type: ignore[attr-defined]
    begun = of(seen, ev.PartStarted)
    assert [part.part for part in begun] == ["plan.1", "phase.a.1", "phase.b.1", "phase.c.1", "synthesis.1"]
    requested = [await company.run_of(part) for part in begun]
    assert {asked.root for asked in requested} == {run}
    assert [asked.persona.name for asked in requested if asked.persona] == ["lead", "ada", "bob", "ada", "lead"]
    assert [asked.persona.tools for asked in requested if asked.persona] == [(), None, None, None, ()]
    assert "did: " in requested[3].message
    lines = await company.stage.log.find(Query(RUNS, {}, "id"))
    assert {line["status"] for line in lines} == {"completed"}
    assert await company.stage.log.find(Query(CONVERSATIONS, {}, "id")) == []
    assert kept(company.stage.store) == rebuilt(company.stage.store)


async def test_independent_phases_are_under_way_at_the_same_time(company: Company) -> None:
    meet = asyncio.Barrier(2)

    async def answering(asked: str, request: ModelRequest) -> str:
        if "look around" in mine(asked) or "count it" in mine(asked):
            await meet.wait()
        return await usual(asked, request)

    await company.staff(answering)
    assert of(await company.ended(await company.ask()), ev.TeamRunFinished)[0].outcome == "completed"


def hanging(where: str, reached: asyncio.Event) -> Answering:
    async def answering(asked: str, request: ModelRequest) -> str:
        if where in mine(asked) and "heed me" not in str(request.messages):
            reached.set()
            await asyncio.Event().wait()
        return await usual(asked, request)

    return answering


async def test_stop_ends_the_experts_and_sums_up_what_is_there(company: Company) -> None:
    reached = asyncio.Event()
    await company.staff(hanging("judge it", reached))
    run = await company.ask(plan=PLAN)
    async with bounded():
        await reached.wait()
    ident = await company.say(run, "停止")
    seen = await company.ended(run)
    assert (seen[-1].outcome, seen[-1].answer.strip()) == ("stopped", "the answer")  # type: ignore[attr-defined]
    assert of(seen, ev.PhaseChanged)[-1].state == "stopped"
    assert ((await company.receipt(ident))["status"], (await company.receipt(ident))["command"]) == ("applied", "stop")
    with pytest.raises(Conflict):
        await company.say(run, "too late")


async def test_words_reach_the_expert_who_is_at_work_now(company: Company) -> None:
    reached = asyncio.Event()

    async def answering(asked: str, request: ModelRequest) -> str:
        said = [message.content for message in request.messages if message.role == "user"]
        if "count it" in mine(asked):
            if not any("heed me" in words for words in said):
                reached.set()
                await told.wait()
                return "before"
            return "after the word"
        return await usual(asked, request)

    told = asyncio.Event()
    await company.staff(answering)
    run = await company.ask(plan=PLAN)
    async with bounded():
        await reached.wait()
    ident = await company.say(run, "@bob heed me")
    await company.until(run, lambda seen: bool(of(seen, ev.TeamInterventionHeeded)))
    told.set()
    seen = await company.ended(run)
    [ended] = [event for event in of(seen, ev.PartEnded) if event.part == "phase.b.1"]
    assert "after the word" in ended.text
    receipt = await company.receipt(ident)
    assert (receipt["phase"], receipt["addressed_to"], receipt["detail"]) == ("b", "bob", "For bob, running now: b.")


async def test_a_plan_waits_for_approval_and_may_be_changed_by_a_person(company: Company) -> None:
    await company.staff(usual)
    run = await company.ask(ask_first=True)
    await company.until(run, lambda seen: bool(of(seen, ev.PlanChanged)))
    desk = company.stage.desk
    with pytest.raises(Invalid, match="circle"):
        await change_plan(desk, LOCAL_OWNER, run, [ev.Planned("x", "x", "ada", "x", ("x",))])
    with pytest.raises(Invalid, match="not in the team"):
        await change_plan(desk, LOCAL_OWNER, run, [ev.Planned("x", "x", "eve", "x")])
    assert await change_plan(desk, LOCAL_OWNER, run, [ev.Planned("x", "only", "bob", "only this")]) == 2
    seen = await company.ended(run)
    assert [part.phase for part in of(seen, ev.PartStarted) if part.work == "phase"] == ["x"]
    with pytest.raises(Conflict):
        await change_plan(desk, LOCAL_OWNER, run, [ev.Planned("x", "only", "bob", "only this")])


async def test_a_debate_is_a_run_for_every_turn(company: Company) -> None:
    await company.staff(usual)
    run = await company.ask(
        plan=(ev.Planned("d", "argue", "lead", "left or right", (), "debate", "left or right"), *PLAN)
    )
    await company.say(run, "/debate up or down?")
    seen = await company.ended(run)
    assert len(of(seen, ev.DebateClosed)) == 2
    turns = [part for part in of(seen, ev.PartStarted) if part.phase == "d"]
    assert [part.work for part in turns][:3] == ["frame", "position", "position"]
    assert turns[-1].work == "verdict"
    assert len({part.run for part in turns}) == len(turns)


async def test_an_expert_whose_model_fails_is_relieved_by_another(company: Company) -> None:
    async def answering(asked: str, request: ModelRequest) -> str:
        if request.messages[0].content == "You are ada.":
            raise ModelFailed("provider_rejected", "No.", retryable=False)
        return await usual(asked, request)

    await company.staff(answering)
    seen = await company.ended(await company.ask(plan=PLAN))
    assert of(seen, ev.TeamRunFinished)[0].outcome == "completed"
    assert {event.phase: event.expert for event in of(seen, ev.PhaseChanged) if event.state == "completed"} == {
        "a": "bob",
        "b": "bob",
        "c": "bob",
    }


async def test_an_expert_asks_before_it_does_and_the_team_says_that_it_waits(company: Company) -> None:
    drawer = Drawer(frozenset({"write_note"}))

    async def answering(asked: str, request: ModelRequest) -> Any:
        if "count it" in mine(asked) and request.messages[-1].role == "user":
            return ToolCall("c1", "write_note", json.dumps({"name": "n", "text": "3"}))
        return await usual(asked, request)

    await company.staff(answering, drawer)
    run = await company.ask(plan=PLAN)
    seen = await company.until(run, lambda seen: bool(of(seen, ev.PartWaiting)))
    [waits] = of(seen, ev.PartWaiting)
    assert (waits.part, waits.status) == ("phase.b.1", "waiting_for_approval")
    asks = await company.stage.until(RunId(waits.run), lambda seen: bool(seen.rows))
    approval = next(event.approval for _, _, event in asks.rows if hasattr(event, "approval"))
    await answer(company.stage.desk, LOCAL_OWNER, approval, Answer("approved"))
    assert of(await company.ended(run), ev.TeamRunFinished)[0].outcome == "completed"
    assert drawer.notes == {"n": "3"}


async def test_a_budget_holds_for_all_parts_together_and_what_is_there_is_told(company: Company) -> None:
    company.stage.prices = {"playing/*": Price(0.0, 1_000_000 / 1000)}

    async def answering(asked: str, request: ModelRequest) -> str:
        return await usual(asked, request)

    await company.staff(answering)
    seen = await company.ended(await company.ask(plan=PLAN, budget_usd=9.0))
    end = of(seen, ev.TeamRunFinished)[0]
    assert (end.outcome, end.code) == ("failed", "budget_exceeded")
    spent = [part for part in of(seen, ev.PartEnded) if part.end == "completed"]
    assert all(part.text.strip() in end.answer for part in spent)


async def test_what_one_worker_began_another_carries_on_and_nothing_begins_twice(company: Company) -> None:
    reached = asyncio.Event()
    await company.staff(hanging("count it", reached))
    run = await company.ask()
    async with bounded():
        await reached.wait()
    await company.until(
        run, lambda seen: any(e.phase == "a" and e.state == "completed" for e in of(seen, ev.PhaseChanged))
    )
    await company.let_go()
    guidance = await company.say(run, "said while nobody was there")
    await company.staff(usual, worker="p.two")
    seen = await company.ended(run)
    begun = [part.part for part in of(seen, ev.PartStarted)]
    assert begun == ["plan.1", "phase.a.1", "phase.b.1", "phase.c.1", "synthesis.1"]
    assert [claim.worker for claim in of(seen, ev.TeamRunClaimed)] == ["p.one.teams", "p.two.teams"]
    assert (await company.receipt(guidance))["status"] == "applied"


async def test_an_expert_that_a_person_stopped_at_another_door_holds_nothing_up(company: Company) -> None:
    reached = asyncio.Event()
    await company.staff(hanging("count it", reached))
    run = await company.ask(plan=PLAN)
    async with bounded():
        await reached.wait()
    seen = await company.until(run, lambda seen: any(part.phase == "b" for part in of(seen, ev.PartStarted)))
    [part] = [part for part in of(seen, ev.PartStarted) if part.phase == "b"]
    await stop_run(company.stage.desk, LOCAL_OWNER, part.run)
    seen = await company.ended(run)
    assert [event.state for event in of(seen, ev.PhaseChanged) if event.phase == "b"] == ["skipped"]
    assert of(seen, ev.TeamRunFinished)[0].outcome == "completed"


async def test_the_same_request_starts_one_run_and_another_tenant_sees_none(company: Company) -> None:
    team, desk = await company.form(), company.stage.desk
    runs = [await start_team_run(desk, LOCAL_OWNER, team, TeamTask("x"), key="k", body=b"x") for _ in range(2)]
    assert runs[0] == runs[1]
    words = [await step_in(desk, LOCAL_OWNER, runs[0], "go", key="w", body=b"go") for _ in range(2)]
    assert words[0] == words[1]
    stranger = Scope(TenantId("elsewhere"), "person:eve")
    with pytest.raises(NotFound):
        await start_team_run(desk, stranger, team, TeamTask("x"))
    with pytest.raises(NotFound):
        await step_in(desk, stranger, runs[0], "/stop")
    await company.staff(usual)
    assert of(await company.ended(runs[0]), ev.TeamRunFinished)[0].outcome == "completed"


@pytest.mark.parametrize(
    ("names", "leads", "why"),
    [((), (), "1 to 12"), (("a", "A"), (), "Two experts"), (("a", "b"), ("a", "b"), "Only one"), (("",), (), "name")],
)
async def test_a_team_must_be_one(company: Company, names: tuple[str, ...], leads: tuple[str, ...], why: str) -> None:
    experts = [ev.Expert(Persona(name, name), "", name in leads) for name in names]
    with pytest.raises(Invalid, match=why):
        await form_team(company.stage.desk, LOCAL_OWNER, "Crew", experts)
