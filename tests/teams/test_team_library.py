"""A team in a program of one's own: any gateway will do, everything is told, and a person may step in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import agentkit.core.handoff_transport
import agentkit.experts.orchestrator
import agentkit.experts.plan
import agentkit.experts.team
import pytest

import quarterdeck.teams
from quarterdeck.teams import (
    Expert,
    ExpertConfig,
    ExpertTeam,
    InProcessHandoffTransport,
    ModelGateway,
    PhaseStatus,
    PhaseType,
    PlanPhase,
    TeamOrchestrator,
    TeamPlan,
)
from quarterdeck.testing.scripted import ScriptedModel, Turn

PLAN = json.dumps(
    {
        "phases": [
            {"id": "look", "name": "look", "expert": "ada", "task": "look around", "depends_on": []},
            {"id": "count", "name": "count", "expert": "bob", "task": "count it", "depends_on": []},
            {"id": "judge", "name": "judge", "expert": "ada", "task": "judge it", "depends_on": ["look", "count"]},
        ]
    }
)


@dataclass
class Said:
    content: Any


class Answers:
    """A gateway made of one function from a prompt to a text."""

    def __init__(self, answer: Callable[[str], Awaitable[Any]]) -> None:
        self._answer, self.asked = answer, list[str]()

    async def chat(self, messages: list[dict[str, str]], model: str | None = None, **options: Any) -> Said:
        self.asked.append(messages[0]["content"])
        return Said(await self._answer(messages[0]["content"]))


async def usual(asked: str) -> str:
    if "Divide the task" in asked:
        return PLAN
    return "the answer" if "the work is over" in asked else f"done: {asked[-400:]}"


def team_of(gateway: Any, *names: str) -> ExpertTeam:
    configs = [
        ExpertConfig(name, persona=f"knows {name}", is_lead=name == "lead") for name in names or ("lead", "ada", "bob")
    ]
    return ExpertTeam(Expert(config, gateway) for config in configs)


async def test_ten_lines_make_a_team_that_plans_works_and_answers() -> None:
    gateway = Answers(usual)
    team = team_of(gateway)
    heard: list[dict[str, Any]] = []
    team.subscribe(heard.append)
    result = await TeamOrchestrator(team).execute("Find out")
    assert (result.outcome, result.answer) == ("completed", "the answer")
    assert [(phase.id, phase.status) for phase in result.plan.phases] == [
        ("look", PhaseStatus.COMPLETED),
        ("count", PhaseStatus.COMPLETED),
        ("judge", PhaseStatus.COMPLETED),
    ]
    assert heard[-1]["type"] == "done"
    assert sum(note["type"] == "plan_update" for note in heard) >= 7
    assert gateway.asked[0].startswith("You are lead.\nWho you are: knows lead")


async def test_independent_phases_are_under_way_at_the_same_time() -> None:
    meet = asyncio.Barrier(2)

    async def answer(asked: str) -> str:
        mine = asked.rsplit("## Your part", maxsplit=1)[-1]
        if "look around" in mine or "count it" in mine:
            await meet.wait()
        return await usual(asked)

    async with asyncio.timeout(20):
        result = await TeamOrchestrator(team_of(Answers(answer))).execute("Find out")
    assert result.outcome == "completed"


async def test_stop_ends_what_runs_and_keeps_what_is_there() -> None:
    begun = asyncio.Event()

    async def answer(asked: str) -> str:
        if "judge it" in asked.rsplit("## Your part", maxsplit=1)[-1]:
            begun.set()
            await asyncio.Event().wait()
        return await usual(asked)

    team = team_of(Answers(answer))
    work = asyncio.create_task(TeamOrchestrator(team).execute("Find out"))
    async with asyncio.timeout(20):
        await begun.wait()
        await team.add_user_intervention("/stop")
        result = await work
    assert (result.outcome, result.answer) == ("stopped", "the answer")
    assert result.plan.phases[-1].status is PhaseStatus.STOPPED


async def test_a_debate_and_guidance_while_it_works() -> None:
    team = team_of(Answers(usual))
    said = []

    async def hear(note: dict[str, Any]) -> None:
        if note.get("change") == "phase" and not said:
            said.append(note)
            await team.add_user_intervention("/debate left or right?")
            await team.add_user_intervention("mind the costs")

    team.subscribe(hear)
    orchestrator = TeamOrchestrator(team)
    result = await orchestrator.execute("Find out")
    assert [phase.phase_type for phase in result.plan.phases].count(PhaseType.DEBATE) == 1
    assert result.plan.phase("debate1") is not None
    assert result.outcome == "completed"
    assert orchestrator._user_context == ["mind the costs"]


async def test_whatever_a_gateway_does_is_contained() -> None:
    async def answer(asked: str) -> Any:
        if "Divide the task" in asked:
            raise RuntimeError("no plan today")
        if "You are bob" in asked:
            return 42
        return "x" * 10_000_000

    result = await TeamOrchestrator(team_of(Answers(answer))).execute("Find out")
    assert result.outcome == "completed"
    assert len(result.answer) <= 40_000
    assert {phase.assigned_expert for phase in result.plan.phases} == {"ada"}


async def test_a_plan_of_ones_own_is_checked_and_carried_out() -> None:
    plan = TeamPlan("t", [PlanPhase("a", "a", "ada"), PlanPhase("b", "b", "bob", depends_on=["a"])])
    orchestrator = TeamOrchestrator(team_of(Answers(usual)))
    result = await orchestrator.execute("t", plan)
    assert result.plan is plan
    assert plan.is_complete
    assert TeamPlan.from_dict(plan.to_dict()) == plan
    plan.phases[0].depends_on.append("b")
    with pytest.raises(ValueError, match="circle"):
        await orchestrator.execute("t", plan)


async def test_the_plan_alone_may_be_asked_for() -> None:
    plan = await TeamOrchestrator(team_of(Answers(usual))).plan("Find out")
    assert [phase.id for phase in plan.ready_phases()] == ["look", "count"]
    assert plan.validate(["lead", "ada", "bob"]) == ()


async def test_our_own_models_are_gateways_too() -> None:
    turns = [
        Turn(when="Divide the task", content=[PLAN]),
        Turn(when="the work is over", content=["the ", "answer"]),
        Turn(content=["done"]),
    ]
    gateway = ModelGateway(ScriptedModel(turns))
    result = await TeamOrchestrator(team_of(gateway)).execute("Find out")
    assert (result.outcome, result.answer) == ("completed", "the answer")


async def test_members_come_and_go() -> None:
    team = team_of(None)
    with pytest.raises(ValueError, match="already"):
        team.add_expert(Expert(ExpertConfig("Ada")))
    with pytest.raises(ValueError, match="leads the team already"):
        team.add_expert(Expert(ExpertConfig("eve", is_lead=True)))
    removed = team.remove_expert("lead")
    assert removed is not None
    assert removed.team_id is None
    assert team.lead_expert is not None
    assert team.lead_expert.name == "ada"


async def test_notes_reach_all_who_listen_and_none_who_fail_costs_the_others() -> None:
    transport, heard = InProcessHandoffTransport(kept=2), list[Any]()

    def breaks(note: dict[str, Any]) -> None:
        raise RuntimeError("no")

    transport.register_handler("one", breaks)
    leave = transport.register_handler("one", heard.append)
    await transport.send("one", {"n": 1})
    await transport.send("two", {"n": 2})
    await transport.broadcast({"n": 3})
    leave()
    await transport.send("one", {"n": 4})
    assert heard == [{"n": 1}, {"n": 3}]
    assert transport.history("one") == [{"n": 3}, {"n": 4}]
    assert transport.history("one", 1) == [{"n": 4}]
    assert set(transport.channels) == {"one", "two"}


def test_an_expert_is_read_from_a_dictionary_and_strange_words_are_told() -> None:
    config = ExpertConfig("ada", bound_skills=["x"])
    assert ExpertConfig.from_dict(config.to_dict()) == config
    with pytest.raises(ValueError, match="no colour"):
        ExpertConfig.from_dict({"name": "ada", "colour": "red"})


def test_the_old_names_are_the_same_objects() -> None:
    assert agentkit.experts.orchestrator.TeamOrchestrator is TeamOrchestrator
    assert agentkit.experts.plan.TeamPlan is TeamPlan
    assert agentkit.experts.team is quarterdeck.teams.team
    assert agentkit.core.handoff_transport.InProcessHandoffTransport is InProcessHandoffTransport
