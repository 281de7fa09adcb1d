"""The read models of teams, of their runs, and of what people said to those."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from quarterdeck.events import team as ev
from quarterdeck.events.base import Recorded
from quarterdeck.ports import Change, Patch, Put, Table

TEAMS = Table(
    "team",
    {"tenant": "text", "id": "text", "name": "text", "experts": "text", "formed_at": "real"},
    key=("tenant", "id"),
    lookups=(("id",),),
)
TEAM_RUNS = Table(
    "team_run",
    {
        "tenant": "text",
        "id": "text",
        "team": "text",
        "task": "text",
        "status": "text",
        "open": "integer",
        "plan_version": "integer",
        "answer": "text",
        "code": "text",
        "detail": "text",
        "requested_by": "text",
        "requested_at": "real",
        "finished_at": "real",
    },
    key=("tenant", "id"),
    lookups=(("id",), ("tenant", "team", "id"), ("open", "id")),
)
TEAM_INTERVENTIONS = Table(
    "team_intervention",
    {
        "tenant": "text",
        "id": "text",
        "run": "text",
        "text": "text",
        "status": "text",
        "command": "text",
        "code": "text",
        "detail": "text",
        "phase": "text",
        "addressed_to": "text",
        "said_by": "text",
        "accepted_at": "real",
        "heeded_at": "real",
    },
    key=("tenant", "id"),
    lookups=(("tenant", "run", "id"),),
)
TABLES = (TEAMS, TEAM_RUNS, TEAM_INTERVENTIONS)


class TeamsView:
    """One line for each team, and for each of its runs."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        key = {"tenant": fact.tenant, "id": fact.stream.partition("/")[2]}
        match fact.event:
            case ev.TeamFormed(name, experts):
                formed = {"name": name, "experts": orjson.dumps(experts).decode(), "formed_at": fact.at}
                return [Put(TEAMS, {**key, **formed})]
            case ev.TeamRunRequested(team, task):
                asked = {"team": team, "task": task, "requested_by": fact.actor, "requested_at": fact.at}
                return [
                    Put(TEAM_RUNS, {**key, **asked, "status": "queued", "open": 1, "plan_version": 0, "answer": ""})
                ]
            case ev.TeamRunClaimed():
                return [Patch(TEAM_RUNS, key, {"status": "running"})]
            case ev.PlanChanged(version):
                return [Patch(TEAM_RUNS, key, {"plan_version": version})]
            case ev.TeamRunFinished(outcome, answer, code, detail):
                end = {"answer": answer, "code": code, "detail": detail, "finished_at": fact.at}
                return [Patch(TEAM_RUNS, key, {**end, "status": outcome, "open": 0})]
            case _:
                return []


class TeamInterventionsView:
    """One line for each thing a person said: the receipt."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        match fact.event:
            case ev.TeamInterventionAccepted(ident, run, text):
                said = {"run": run, "text": text, "said_by": fact.actor, "accepted_at": fact.at, "status": "accepted"}
                return [Put(TEAM_INTERVENTIONS, {"tenant": fact.tenant, "id": ident, **said})]
            case ev.TeamInterventionHeeded():
                key = {"tenant": fact.tenant, "id": fact.event.intervention}
                receipt = {"status": fact.event.outcome, "command": fact.event.command, "code": fact.event.code}
                more = {"detail": fact.event.detail, "phase": fact.event.phase, "addressed_to": fact.event.to}
                return [Patch(TEAM_INTERVENTIONS, key, {**receipt, **more, "heeded_at": fact.at})]
            case _:
                return []


VIEWS = (TeamsView(), TeamInterventionsView())
