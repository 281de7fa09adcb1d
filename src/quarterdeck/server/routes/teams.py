"""Teams: form one, give it a task, watch it, step in, change its plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.teams import TeamTask, change_plan, experts_of, form_team, start_team_run, step_in
from quarterdeck.engine.team.language import language_of
from quarterdeck.engine.team.portrait import Traits, portrait
from quarterdeck.events.team import Expert
from quarterdeck.kernel.errors import Invalid, NotFound
from quarterdeck.kernel.ids import team_run_stream
from quarterdeck.kernel.parts import Persona
from quarterdeck.kernel.scope import Scope
from quarterdeck.ports import Query as Find
from quarterdeck.server import reach
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.routes.tasks import Begin, LastId, Place
from quarterdeck.server.routes.tenants import Key
from quarterdeck.server.station import Here, Station
from quarterdeck.server.team_stream import attached
from quarterdeck.server.team_wire import (
    NewExpert,
    NewPlan,
    NewTeam,
    NewTeamRun,
    Plan,
    Receipt,
    StepIn,
    Team,
    TeamRun,
    TeamRunWhole,
    planned,
    receipt,
    team,
    team_run,
)
from quarterdeck.views.board import MEMBERS
from quarterdeck.views.staff import EMPLOYEES
from quarterdeck.views.team_wire import picture, standing
from quarterdeck.views.teams import TEAM_INTERVENTIONS, TEAM_RUNS, TEAMS

router = APIRouter(prefix="/api/v1/teams", tags=["teams"])

TakenTeam = Annotated[tuple[NewTeam, bytes], Depends(json_body(NewTeam))]
TakenRun = Annotated[tuple[NewTeamRun, bytes], Depends(json_body(NewTeamRun))]
TakenWord = Annotated[tuple[StepIn, bytes], Depends(json_body(StepIn))]
TakenPlan = Annotated[tuple[NewPlan, bytes], Depends(json_body(NewPlan))]


@router.post("", status_code=201, openapi_extra=described(NewTeam))
async def new_team(here: Here, taken: TakenTeam, key: Key = None) -> Team:
    asked, body = taken
    experts = [await _expert(here, here.scope, each) for each in asked.experts]
    ident = await form_team(here.desk, here.scope, asked.name, experts, key=key, body=body)
    return team((await reach.team(here, ident)).line)


@router.get("")
async def list_teams(
    here: Here, request: Request, response: Response, after: After = None, limit: Limit = 50
) -> list[Team]:
    """In the order in which they were formed."""
    where = {"tenant": here.scope.tenant}
    lines = await here.desk.log.find(Find(TEAMS, where, "id", after=checked_after(after), limit=limit))
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [team(line) for line in lines]


@router.get("/{team_id}")
async def one_team(here: Here, team_id: str) -> Team:
    return team((await reach.team(here, team_id)).line)


@router.post("/{team_id}/runs", status_code=201, openapi_extra=described(NewTeamRun))
async def new_run(here: Here, team_id: str, taken: TakenRun, key: Key = None) -> TeamRun:
    """Give the team a task; answers once it is kept. Watch it at `…/runs/{id}/stream`."""
    asked, body = taken
    scope = (await reach.team(here, team_id)).scope
    lead = next(each.name for each in await experts_of(here.desk, scope, team_id) if each.lead)
    plan = tuple(planned(phase, lead) for phase in asked.plan)
    task = TeamTask(asked.task, plan, asked.approve_plan, asked.debate_style, asked.workspace, asked.budget)
    ident = await start_team_run(here.desk, scope, team_id, task, key=key, body=body)
    return TeamRun(**team_run((await reach.team_run(here, team_id, ident)).line))


@router.get("/{team_id}/runs")
async def list_runs(
    here: Here, request: Request, response: Response, team_id: str, after: After = None, limit: Limit = 50
) -> list[TeamRun]:
    """The latest first."""
    where = {"tenant": (await reach.team(here, team_id)).scope.tenant, "team": team_id}
    find = Find(TEAM_RUNS, where, "id", descending=True, after=checked_after(after), limit=limit)
    lines = await here.desk.log.find(find)
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [TeamRun(**team_run(line)) for line in lines]


@router.get("/{team_id}/runs/{run_id}")
async def one_run(here: Here, team_id: str, run_id: str) -> TeamRunWhole:
    """As it stands: the plan, who works on what, verdicts, what people said."""
    there = await reach.team_run(here, team_id, run_id)
    state, _ = await standing(here.desk.log, team_run_stream(there.scope.tenant, run_id))
    return TeamRunWhole(**{**team_run(there.line), **picture(state)})


@router.get(
    "/{team_id}/runs/{run_id}/stream",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}}, 204: {"description": "It has ended and all was seen."}},
)
async def watch_run(
    here: Here,
    team_id: str,
    run_id: str,
    after: Place = None,
    begin: Begin = "start",
    last_event_id: LastId = None,
) -> Response:
    """Attach at any time, resume from any event. Each expert's own words are at the stream of the run that is named."""
    there = await reach.team_run(here, team_id, run_id)
    return await attached(here, team_run_stream(there.scope.tenant, run_id), last_event_id or after, begin)


@router.put("/{team_id}/runs/{run_id}/plan", openapi_extra=described(NewPlan))
async def put_plan(here: Here, team_id: str, run_id: str, taken: TakenPlan) -> Plan:
    """Your own plan of all that has not begun; what has begun or ended stays. It needs no further approval."""
    scope = (await reach.team_run(here, team_id, run_id)).scope
    lead = next(each.name for each in await experts_of(here.desk, scope, team_id) if each.lead)
    phases = [planned(phase, lead) for phase in taken[0].phases]
    version = await change_plan(here.desk, scope, run_id, phases)
    return Plan(run_id=run_id, plan_version=version)


@router.post("/{team_id}/runs/{run_id}/interventions", status_code=202, openapi_extra=described(StepIn))
async def say(here: Here, team_id: str, run_id: str, taken: TakenWord, key: Key = None) -> Receipt:
    """Step in. It is heeded in its turn at the next safe point; the receipt tells what became of it."""
    asked, body = taken
    scope = (await reach.team_run(here, team_id, run_id)).scope
    ident = await step_in(here.desk, scope, run_id, asked.text, key=key, body=body)
    return await _receipt(here, scope, run_id, ident)


@router.get("/{team_id}/runs/{run_id}/interventions")
async def list_interventions(
    here: Here,
    request: Request,
    response: Response,
    team_id: str,
    run_id: str,
    after: After = None,
    limit: Limit = 50,
) -> list[Receipt]:
    """In the order in which they were said."""
    where = {"tenant": (await reach.team_run(here, team_id, run_id)).scope.tenant, "run": run_id}
    find = Find(TEAM_INTERVENTIONS, where, "id", after=checked_after(after), limit=limit)
    lines = await here.desk.log.find(find)
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [receipt(line) for line in lines]


@router.get("/{team_id}/runs/{run_id}/interventions/{intervention_id}")
async def one_intervention(here: Here, team_id: str, run_id: str, intervention_id: str) -> Receipt:
    scope = (await reach.team_run(here, team_id, run_id)).scope
    return await _receipt(here, scope, run_id, intervention_id)


async def _receipt(here: Station, scope: Scope, run_id: str, ident: str) -> Receipt:
    line = await here.desk.log.get(TEAM_INTERVENTIONS, tenant=scope.tenant, id=ident)
    if line is None or line["run"] != run_id:
        raise NotFound("There is no such intervention.", code="intervention_not_found")
    return receipt(line)


async def _expert(here: Station, scope: Scope, asked: NewExpert) -> Expert:
    """Somebody of the team's own, or whoever an id of the house stands for, as they are now."""
    if asked.employee_id is not None and asked.member_id is not None:
        raise Invalid("An expert is an employee or a member of the board, not both.", code="bad_expert")
    if asked.employee_id is not None:
        return _told(asked, await _employee(here, scope, asked.employee_id))
    if asked.member_id is not None:
        return _told(asked, await _member(here, scope, asked.member_id))
    if not asked.name.strip():
        raise Invalid("An expert needs a `name`, an `employee_id` or a `member_id`.", code="bad_expert")
    return _told(asked, Persona(here.desk.ids.mint(), " ".join(asked.name.split())))


async def _employee(here: Station, scope: Scope, ident: str) -> Persona:
    line = await here.desk.log.get(EMPLOYEES, tenant=scope.tenant, id=ident)
    if line is None or line["archived"]:
        raise NotFound("There is no such employee.", code="employee_not_found")
    tools, skills = _names(line["tools"]), _names(line["skills"])
    who = (ident, line["name"], line["system_prompt"], line["model"], line["temperature"], tools, skills)
    return Persona(*who, memory=bool(line["memory"]))


async def _member(here: Station, scope: Scope, ident: str) -> Persona:
    line = await here.desk.log.get(MEMBERS, tenant=scope.tenant, id=ident)
    if line is None or line["removed"] or line["type"] != "agent":
        raise NotFound("There is no such agent on the board.", code="member_not_found")
    model = f"{line['provider']}/{line['model']}" if line["provider"] and line["model"] else None
    return Persona(ident, line["name"], line["prompt"] or "", model, tools=_names(line["tools"]))


def _names(kept: str | None) -> tuple[str, ...] | None:
    names: Any = None if kept is None else orjson.loads(kept)
    return None if names is None else tuple(names)


def _told(asked: NewExpert, known: Persona) -> Expert:
    """With what was said here in the place of what was known."""
    traits = Traits(asked.persona, asked.thinking_style, asked.speaking_style, asked.decision_framework)
    name = " ".join(asked.name.split()) or known.name
    said = " ".join((asked.persona, asked.prompt, known.prompt))
    prompt = "\n\n".join(filter(None, (portrait(name, traits, language_of(said)), known.prompt, asked.prompt)))
    persona = replace(
        known,
        name=name,
        prompt=prompt,
        model=asked.model or known.model,
        temperature=known.temperature if asked.temperature is None else asked.temperature,
        tools=known.tools if asked.tools is None else tuple(asked.tools),
        skills=known.skills if asked.skills is None else tuple(asked.skills),
    )
    return Expert(persona, " ".join((asked.persona or known.prompt).split())[:600], asked.lead)
