"""Teams as they cross the network: who is in one, what it is asked, how a run of it stands."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from pydantic import Field

from quarterdeck.events.team import Planned
from quarterdeck.server.staff_wire import Model, Names, Prompt, Temperature
from quarterdeck.server.wire import Inbound, Shape

Text = Annotated[str, Field(max_length=4_000)]


class NewExpert(Inbound):
    """Somebody of the team's own; or an employee or an agent of the board, whose settings it then takes over."""

    name: str = Field("", max_length=200, description="What the others and people call them.")
    employee_id: str | None = Field(None, max_length=128)
    member_id: str | None = Field(None, max_length=128)
    lead: bool = Field(default=False, description="Who plans, moderates and answers; the first if nobody is named.")
    persona: Text = ""
    thinking_style: Text = ""
    speaking_style: Text = ""
    decision_framework: Text = ""
    prompt: Prompt = ""
    model: Model = None
    temperature: Temperature = None
    tools: Names = None
    skills: Names = None


class NewTeam(Inbound):
    name: str = Field(max_length=1000)
    experts: list[NewExpert] = Field(max_length=50)


class Phase(Inbound):
    id: str = Field(max_length=128)
    name: str = Field("", max_length=1000, description="The id if left out.")
    expert: str = Field("", max_length=200, description="A debate's is the lead.")
    task: str = Field("", max_length=20_000)
    depends_on: list[str] = Field(default_factory=list, max_length=50)
    type: Literal["execution", "debate"] = "execution"
    topic: str = Field("", max_length=10_000)
    participants: list[str] = Field(default_factory=list, max_length=50)


class NewTeamRun(Inbound):
    task: str = Field(description="What the team is to do.")
    plan: list[Phase] = Field(default_factory=list, max_length=100, description="The lead makes one if left out.")
    approve_plan: bool = Field(default=False, description="The lead's plan waits until somebody approves it.")
    budget: float | None = Field(
        None, gt=0, le=1_000_000, allow_inf_nan=False, strict=False, description="USD that all of it may cost."
    )
    debate_style: str = Field("open", max_length=40)
    workspace: str | None = Field(None, max_length=4096, description="The folder the experts may work in.")


class NewPlan(Inbound):
    phases: list[Phase] = Field(max_length=100)


class StepIn(Inbound):
    text: str = Field(description="A command such as /stop or /debate, or words for the experts.")


class TeamExpert(Shape):
    name: str
    about: str
    lead: bool
    model: str | None
    tools: list[str] | None
    skills: list[str] | None


class Team(Shape):
    id: str
    name: str
    experts: list[TeamExpert]
    formed_at: float


class TeamRun(Shape):
    id: str
    team_id: str
    task: str
    status: Literal["queued", "running", "completed", "stopped", "failed"]
    plan_version: int
    answer: str
    code: str | None
    detail: str | None
    requested_by: str
    requested_at: float
    finished_at: float | None


class TeamRunWhole(TeamRun):
    """How it stands: the plan, who works on what, verdicts, what people said."""

    waits_for: Literal["approval", "resume"] | None
    phases: list[dict[str, Any]]
    parts: list[dict[str, Any]]
    verdicts: list[dict[str, Any]]
    guidance: list[dict[str, Any]]
    debates: int


class Receipt(Shape):
    """`status` is accepted, and then applied or ignored; `detail` says to what, or why."""

    id: str
    run_id: str
    text: str
    status: Literal["accepted", "applied", "ignored"]
    command: str | None
    code: str | None
    detail: str | None
    phase: str | None
    addressed_to: str | None
    said_by: str
    accepted_at: float
    heeded_at: float | None


class Plan(Shape):
    run_id: str
    plan_version: int


def team(line: dict[str, Any]) -> Team:
    experts = [
        TeamExpert(
            name=each["persona"]["name"],
            about=each["about"],
            lead=each["lead"],
            **{name: each["persona"][name] for name in ("model", "tools", "skills")},
        )
        for each in orjson.loads(line["experts"])
    ]
    return Team(id=line["id"], name=line["name"], experts=experts, formed_at=line["formed_at"])


def team_run(line: dict[str, Any]) -> dict[str, Any]:
    known = {name: line[name] for name in TeamRun.model_fields if name in line}
    return {**known, "team_id": line["team"]}


def receipt(line: dict[str, Any]) -> Receipt:
    known = {name: line[name] for name in Receipt.model_fields if name in line}
    return Receipt(run_id=line["run"], **known)


def planned(phase: Phase, lead: str) -> Planned:
    debate = phase.type == "debate"
    topic = (phase.topic or phase.task or phase.name) if debate else ""
    return Planned(
        phase.id,
        phase.name or phase.id,
        lead if debate else phase.expert or lead,
        phase.task or phase.name or phase.id,
        tuple(dict.fromkeys(phase.depends_on)),
        phase.type,
        topic,
        tuple(phase.participants),
    )
