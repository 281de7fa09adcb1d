"""What runs ask of people, the answers, and the rules that were made of some."""

from __future__ import annotations

from typing import Annotated

import orjson
from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.approvals import answer, make_rule, revoke_rule
from quarterdeck.engine.approval import Answer
from quarterdeck.events.tool import Decision, Reach
from quarterdeck.ports import Query as Find
from quarterdeck.server import reach
from quarterdeck.server.approval_wire import Allow, Approval, Deny, Outcome, Rule, State, Write, approval
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.station import Here, Station
from quarterdeck.views.approvals import APPROVALS, RULES

router = APIRouter(prefix="/v1", tags=["approvals"])

TakenAllow = Annotated[tuple[Allow, bytes], Depends(json_body(Allow, optional=True))]
TakenDeny = Annotated[tuple[Deny, bytes], Depends(json_body(Deny, optional=True))]
TakenOutcome = Annotated[tuple[Outcome, bytes], Depends(json_body(Outcome))]
TakenRule = Annotated[tuple[Write, bytes], Depends(json_body(Write))]
OUTCOMES: dict[str, Decision] = {"happened": "happened", "again": "again", "give_up": "denied"}


@router.get("/approvals/pending")
async def pending_approvals(
    here: Here, request: Request, response: Response, after: After = None, limit: Limit = 100
) -> list[Approval]:
    """What waits for a person, the oldest first."""
    return await _listed(here, request, response, {"state": "pending"}, after, limit, descending=False)


@router.get("/approvals")
async def list_approvals(
    here: Here,
    request: Request,
    response: Response,
    task_id: Annotated[str | None, Query(max_length=128)] = None,
    status: State | None = None,
    after: After = None,
    limit: Limit = 50,
) -> list[Approval]:
    """The latest first."""
    where = {} if task_id is None else {"run": task_id}
    where |= {} if status is None else {"state": status}
    return await _listed(here, request, response, where, after, limit, descending=True)


@router.get("/approvals/{approval_id}")
async def one_approval(here: Here, approval_id: str) -> Approval:
    return approval((await reach.approval(here, approval_id)).line)


@router.post("/approvals/{approval_id}/allow_once", openapi_extra=described(Allow, required=False))
async def allow_once(here: Here, approval_id: str, taken: TakenAllow) -> Approval:
    """Exactly this, one time; or with your own `arguments`."""
    return await _allow(here, approval_id, taken[0], "once")


@router.post("/approvals/{approval_id}/allow_run", openapi_extra=described(Allow, required=False))
async def allow_run(here: Here, approval_id: str, taken: TakenAllow) -> Approval:
    """Exactly this, as often as this run needs it."""
    return await _allow(here, approval_id, taken[0], "run")


@router.post("/approvals/{approval_id}/allow_always", openapi_extra=described(Allow, required=False))
async def allow_always(here: Here, approval_id: str, taken: TakenAllow) -> Approval:
    """Exactly this, in every run, until the rule is revoked or expires. Not for shells, interpreters or sudo."""
    return await _allow(here, approval_id, taken[0], "always")


@router.post("/approvals/{approval_id}/deny", openapi_extra=described(Deny, required=False))
async def deny(here: Here, approval_id: str, taken: TakenDeny) -> Approval:
    return await _answered(here, approval_id, Answer("denied", words=taken[0].words))


@router.post("/approvals/{approval_id}/outcome", openapi_extra=described(Outcome))
async def tell_outcome(here: Here, approval_id: str, taken: TakenOutcome) -> Approval:
    """What became of a call that a crash cut off: it happened, do it again, or let it be."""
    said = Answer(OUTCOMES[taken[0].outcome], words=taken[0].words)
    return await _answered(here, approval_id, said)


@router.get("/rules")
async def list_rules(
    here: Here, request: Request, response: Response, after: After = None, limit: Limit = 100
) -> list[Rule]:
    """What is allowed for always, until it is revoked."""
    where = {**reach.whose(here), "active": 1}
    lines = await here.desk.log.find(Find(RULES, where, "id", after=checked_after(after), limit=limit))
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [Rule(**{name: line[name] for name in Rule.model_fields}) for line in lines]


@router.post("/rules", status_code=201, openapi_extra=described(Write))
async def write_rule(here: Here, taken: TakenRule) -> Rule:
    """Allow exactly this for always, before anybody asks. The same rule written twice is one rule."""
    ident = await make_rule(here.desk, here.scope, taken[0].rule)
    line = await here.desk.log.get(RULES, tenant=here.scope.tenant, id=ident)
    assert line is not None
    return Rule(**{name: line[name] for name in Rule.model_fields})


@router.delete("/rules/{rule_id}", status_code=204)
async def revoke(here: Here, rule_id: str) -> None:
    """From the next call on it is asked about again."""
    await revoke_rule(here.desk, (await reach.rule(here, rule_id)).scope, rule_id)


async def _allow(here: Station, approval_id: str, said: Allow, reach: Reach) -> Approval:
    arguments = None if said.arguments is None else orjson.dumps(said.arguments).decode()
    return await _answered(here, approval_id, Answer("approved", reach, said.words, arguments))


async def _answered(here: Station, approval_id: str, said: Answer) -> Approval:
    await answer(here.desk, (await reach.approval(here, approval_id)).scope, approval_id, said)
    return approval((await reach.approval(here, approval_id)).line)


async def _listed(
    here: Station,
    request: Request,
    response: Response,
    where: dict[str, str],
    after: str | None,
    limit: int,
    *,
    descending: bool,
) -> list[Approval]:
    wanted = {**reach.whose(here), **where}
    query = Find(APPROVALS, wanted, "id", descending=descending, after=checked_after(after), limit=limit)
    lines = await here.desk.log.find(query)
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [approval(line) for line in lines]
