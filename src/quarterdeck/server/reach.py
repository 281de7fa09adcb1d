"""Finding a thing by its id: within the caller's own tenant, and for an operator within every other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quarterdeck.actions.desk import Desk
from quarterdeck.kernel.errors import NotFound
from quarterdeck.kernel.ids import RunId, StreamName, TenantId, run_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.ports import Query, Table
from quarterdeck.server.station import Station
from quarterdeck.views.approvals import APPROVALS, RULES
from quarterdeck.views.staff import EMPLOYEES
from quarterdeck.views.tables import RUNS
from quarterdeck.views.talk import CONVERSATIONS
from quarterdeck.views.teams import TEAM_RUNS, TEAMS


@dataclass(frozen=True, slots=True)
class Found:
    """A line of a table, and the caller's scope within the tenant whose it is."""

    line: dict[str, Any]
    scope: Scope

    @property
    def run(self) -> StreamName:
        """The stream, where the line is a run's."""
        return run_stream(self.scope.tenant, RunId(self.line["id"]))


async def found(desk: Desk, scope: Scope, table: Table, ident: str) -> Found | None:
    """A name that several tenants use is the caller's own first; and nobody's where it could be one of several."""
    own = await desk.log.get(table, tenant=scope.tenant, id=ident)
    if own is not None:
        return Found(own, scope)
    if not scope.operator:
        return None
    lines = await desk.log.find(Query(table, {"id": ident}, "id", limit=2))
    if len(lines) != 1:
        return None
    return Found(lines[0], scope.within(TenantId(lines[0]["tenant"])))


async def task(here: Station, ident: str) -> Found:
    return await _there(here, RUNS, ident, "task")


async def conversation(here: Station, ident: str) -> Found:
    return await _there(here, CONVERSATIONS, ident, "conversation")


async def employee(here: Station, ident: str) -> Found:
    return await _there(here, EMPLOYEES, ident, "employee")


async def team(here: Station, ident: str) -> Found:
    return await _there(here, TEAMS, ident, "team")


async def team_run(here: Station, team_id: str, ident: str) -> Found:
    """A run of this team."""
    there = await _there(here, TEAM_RUNS, ident, "team_run")
    if there.line["team"] != team_id:
        raise NotFound("There is no such team_run.", code="team_run_not_found")
    return there


async def approval(here: Station, ident: str) -> Found:
    return await _there(here, APPROVALS, ident, "approval")


async def rule(here: Station, ident: str) -> Found:
    return await _there(here, RULES, ident, "rule")


async def _there(here: Station, table: Table, ident: str, what: str) -> Found:
    there = await found(here.desk, here.scope, table, ident)
    if there is None:
        raise missing(what)
    return there


def missing(what: str) -> NotFound:
    return NotFound(f"There is no such {what}.", code=f"{what}_not_found")


def whose(here: Station, tenant_id: str | None = None) -> dict[str, object]:
    """What a list is narrowed to: the caller's tenant, or for an operator the one that was asked for, else all."""
    if tenant_id is not None:
        return {"tenant": here.scope.within(TenantId(tenant_id)).tenant}
    return {} if here.scope.operator else {"tenant": here.scope.tenant}
