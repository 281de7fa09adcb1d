"""Runs, called tasks at this door: list, look, watch from any place, stop."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.runs import stop_run
from quarterdeck.kernel.ids import RunId, StreamName
from quarterdeck.ports import Query as Find
from quarterdeck.ports import Row
from quarterdeck.server import reach
from quarterdeck.server.body import described, json_body
from quarterdeck.server.resume import at_floor, attached
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.station import Here, Station
from quarterdeck.server.wire import Stopping, StopRequest, Task, TaskEvent
from quarterdeck.views.after_wire import told_after
from quarterdeck.views.run_wire import RunDoor, Told
from quarterdeck.views.tables import RUNS

router = APIRouter(prefix="/v1/tasks", tags=["tasks"])

Status = Literal[
    "queued",
    "running",
    "waiting_for_approval",
    "waiting_for_password",
    "waiting_for_answer",
    "completed",
    "stopped",
    "failed",
    "quarantined",
]
ENDED = frozenset({"completed", "stopped", "failed", "quarantined"})
LastId = Annotated[str | None, Header(alias="Last-Event-ID", description="Goes before `after`.")]
Place = Annotated[str | None, Query(max_length=64, description="The id of the last event that was seen.")]
Begin = Annotated[Literal["start", "snapshot", "now"], Query(alias="from", description="Where a new reader begins.")]


@router.get("")
async def list_tasks(
    here: Here,
    request: Request,
    response: Response,
    conversation_id: Annotated[str | None, Query(max_length=128)] = None,
    status: Status | None = None,
    after: After = None,
    limit: Limit = 50,
) -> list[Task]:
    """The latest first; to an operator of the server, those of every tenant."""
    where = reach.whose(here)
    where |= {"conversation": conversation_id} if conversation_id is not None else {}
    where |= {} if status is None else {"status": status, "open": int(status not in ENDED)}
    lines = await here.desk.log.find(Find(RUNS, where, "id", descending=True, after=checked_after(after), limit=limit))
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [_task(line) for line in lines]


@router.get("/{task_id}")
async def one_task(here: Here, task_id: str) -> Task:
    return _task((await reach.task(here, task_id)).line)


@router.get("/{task_id}/events")
async def task_events(
    here: Here,
    request: Request,
    response: Response,
    task_id: str,
    after: Annotated[int, Query(ge=0, lt=2**53)] = 0,
    limit: Limit = 500,
) -> list[TaskEvent]:
    """What happened so far, in order. Where the past was trimmed, the first is a `stream.gap` with a snapshot."""
    run = await reach.task(here, task_id)
    line, log, name = run.line, here.desk.log, run.run
    door = RunDoor(line["id"], line["conversation"], log.epoch)
    rows = await log.read(name, after, limit)
    told = [_event(row, each) for row in rows for each in door.told(row) if each[0] > after]
    if rows and rows[0].first > after + 1:
        shot = await at_floor(log, name)
        gone = {"task_id": door.task, "from": after + 1, "to": shot.seq, "snapshot": shot.told()}
        told.insert(0, _event(rows[0], (shot.seq, "stream.gap", gone)))
    if len(told) < limit and not line["open"]:
        told += await _afterwards(here, name, after)
    link_next(request, response, told[limit - 1].seq if len(told) >= limit else None)
    return told[:limit]


async def _afterwards(here: Station, run: StreamName, after: int) -> list[TaskEvent]:
    """What was made of the run when it had ended, counted on behind its last event."""
    state = await here.desk.log.look(run)
    head = 0 if state is None else state.head
    later = enumerate(await told_after(here.desk.log, run.tenant, RunId(run.key)), head + 1)
    return [
        TaskEvent(seq=seq, at=each.at, event_type=each.event_type, payload=each.payload)
        for seq, each in later
        if seq > after
    ]


@router.get(
    "/{task_id}/stream",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}}, 204: {"description": "It has ended and all was seen."}},
)
async def watch_task(
    here: Here, task_id: str, after: Place = None, begin: Begin = "start", last_event_id: LastId = None
) -> Response:
    """Attach at any time, resume from any event."""
    run = await reach.task(here, task_id)
    return await attached(here, run, last_event_id or after, begin)


TakenReason = Annotated[tuple[StopRequest, bytes], Depends(json_body(StopRequest, optional=True))]


@router.post("/{task_id}/stop", status_code=202, openapi_extra=described(StopRequest, required=False))
async def stop_task(here: Here, task_id: str, taken: TakenReason) -> Stopping:
    """End a run at once; the answer so far is kept."""
    run = await reach.task(here, task_id)
    await stop_run(here.desk, run.scope, task_id, taken[0].reason)
    return Stopping(task_id=task_id)


def _event(row: Row, told: Told) -> TaskEvent:
    seq, name, payload = told
    return TaskEvent(seq=seq, at=row.at, event_type=name, payload=payload)


def _task(line: dict[str, Any]) -> Task:
    known = {name: line[name] for name in Task.model_fields if name in line}
    return Task(task_id=line["id"], tenant_id=line["tenant"], conversation_id=line["conversation"], **known)
