"""Stepping in: a word to a run that works, and going on with one that waited for a person."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header
from starlette.responses import Response

from quarterdeck.actions.approvals import give_password
from quarterdeck.actions.steering import Sent, edit_intervention, intervene, retract_intervention
from quarterdeck.kernel.errors import Conflict
from quarterdeck.ports import Query
from quarterdeck.server import reach
from quarterdeck.server.approval_wire import Continue, Edit, Intervene, Intervention, Password, intervention
from quarterdeck.server.body import described, json_body
from quarterdeck.server.sse import TO_REST, EventStream
from quarterdeck.server.station import Here, Station
from quarterdeck.views.approvals import INTERVENTIONS
from quarterdeck.views.run_wire import RunDoor

router = APIRouter(prefix="/v1/tasks/{task_id}", tags=["steering"])

TakenWord = Annotated[tuple[Intervene, bytes], Depends(json_body(Intervene))]
TakenEdit = Annotated[tuple[Edit, bytes], Depends(json_body(Edit))]
TakenContinue = Annotated[tuple[Continue, bytes], Depends(json_body(Continue))]
Key = Annotated[str | None, Header(alias="Idempotency-Key", description="The same key never says it twice.")]
TakenPassword = Annotated[tuple[Password, bytes], Depends(json_body(Password))]


@router.post("/interventions", status_code=202, openapi_extra=described(Intervene))
async def step_in(here: Here, task_id: str, taken: TakenWord, key: Key = None) -> Intervention:
    """Say something to a run that works. The receipt tells from which step on it was heeded."""
    run = await reach.task(here, task_id)
    asked, body = taken
    ident = await intervene(here.desk, run.scope, task_id, asked.mode, asked.text, Sent(key, body))
    return await _receipt(here, run, ident)


@router.get("/interventions")
async def list_interventions(here: Here, task_id: str) -> list[Intervention]:
    run = await reach.task(here, task_id)
    where = {"tenant": run.scope.tenant, "run": task_id}
    return [intervention(line) for line in await here.desk.log.find(Query(INTERVENTIONS, where, "id", limit=500))]


@router.get("/interventions/{intervention_id}")
async def one_intervention(here: Here, task_id: str, intervention_id: str) -> Intervention:
    return await _receipt(here, await reach.task(here, task_id), intervention_id)


@router.patch("/interventions/{intervention_id}", openapi_extra=described(Edit))
async def change_intervention(here: Here, task_id: str, intervention_id: str, taken: TakenEdit) -> Intervention:
    """Until it is heeded."""
    run = await reach.task(here, task_id)
    await edit_intervention(here.desk, run.scope, task_id, intervention_id, taken[0].text)
    return await _receipt(here, run, intervention_id)


@router.delete("/interventions/{intervention_id}")
async def take_back(here: Here, task_id: str, intervention_id: str) -> Intervention:
    """Until it is heeded."""
    run = await reach.task(here, task_id)
    await retract_intervention(here.desk, run.scope, task_id, intervention_id)
    return await _receipt(here, run, intervention_id)


async def _receipt(here: Station, run: reach.Found, ident: str) -> Intervention:
    line = await here.desk.log.get(INTERVENTIONS, tenant=run.scope.tenant, id=ident)
    if line is None or line["run"] != run.line["id"]:
        raise reach.missing("intervention")
    return intervention(line)


@router.post("/continue/stream", response_class=Response, openapi_extra=described(Continue))
async def continue_stream(here: Here, task_id: str, taken: TakenContinue) -> Response:
    """Watch how a run goes on from a decision."""
    line = (await reach.approval(here, taken[0].approval_id)).line
    if line["run"] != task_id:
        raise reach.missing("approval")
    if line["decided_place"] is None:
        raise Conflict("The approval has not been answered yet.", code="approval_pending")
    return await _from(here, task_id, line["decided_place"])


@router.post("/password/stream", response_class=Response, openapi_extra=described(Password))
async def password_stream(here: Here, task_id: str, taken: TakenPassword) -> Response:
    """Hand over the one-time password that an approved command waits for, and watch how the run goes on."""
    said = taken[0]
    run = await reach.task(here, task_id)
    place = await give_password(here.desk, run.scope, here.lockbox, task_id, said.approval_id, said.password)
    return await _from(here, task_id, place)


async def _from(here: Station, task_id: str, place: int) -> Response:
    run = await reach.task(here, task_id)
    door = RunDoor(run.line["id"], run.line["conversation"], here.desk.log.epoch)
    return EventStream(here.desk.log.follow(run.run, place - 1), door, here.streams, last=TO_REST)
