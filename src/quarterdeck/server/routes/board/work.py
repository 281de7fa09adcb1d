"""Work on a task: claim, heartbeat, release, submit, review, hand over; what worked on it, and what waits for whom."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.board import work
from quarterdeck.actions.board.book import looker
from quarterdeck.actions.board.members import no_member, there
from quarterdeck.ports import Query as Find
from quarterdeck.server.board_wire import BoardTask, Claimed, HandOver, Review, Submission, Wake, Work
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.board.cards import seen_card, task_of
from quarterdeck.server.routes.board.members import book_of
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.station import Here, Station
from quarterdeck.views.agent_streams import AGENT_STREAMS
from quarterdeck.views.board import WAKES
from quarterdeck.views.tables import RUNS

router = APIRouter(prefix="/api/v1", tags=["board"])

Submitting = Annotated[tuple[Submission, bytes], Depends(json_body(Submission, optional=True))]
Reviewing = Annotated[tuple[Review, bytes], Depends(json_body(Review))]
Handing = Annotated[tuple[HandOver, bytes], Depends(json_body(HandOver))]


@router.post("/tasks/{task_id}/claim")
async def claim_task(here: Here, task_id: str) -> Claimed:
    """Take a task that is assigned to you in hand, if you have room for it. It is yours `until` then; renew it by a
    heartbeat."""
    until = await work.claim(here.desk, here.scope, book_of(here), task_id)
    return Claimed(task=await task_of(here, task_id), until=until)


@router.post("/tasks/{task_id}/heartbeat")
async def heartbeat(here: Here, task_id: str) -> Claimed:
    until = await work.heartbeat(here.desk, here.scope, book_of(here), task_id)
    return Claimed(task=await task_of(here, task_id), until=until)


@router.post("/tasks/{task_id}/release")
async def release_task(here: Here, task_id: str) -> BoardTask:
    """Let go of it; it waits in `todo` again."""
    await work.release(here.desk, here.scope, book_of(here), task_id)
    return await task_of(here, task_id)


@router.post("/tasks/{task_id}/submit", openapi_extra=described(Submission, required=False))
async def submit_task(here: Here, task_id: str, taken: Submitting) -> BoardTask:
    """Say that it is done; it waits for a review."""
    await work.submit(here.desk, here.scope, book_of(here), task_id, taken[0].summary)
    return await task_of(here, task_id)


@router.post("/tasks/{task_id}/review", openapi_extra=described(Review))
async def review_task(here: Here, task_id: str, taken: Reviewing) -> BoardTask:
    """Approve it, or send it back with words."""
    await work.review(here.desk, here.scope, book_of(here), task_id, taken[0].verdict, taken[0].words)
    return await task_of(here, task_id)


@router.post("/tasks/{task_id}/handover", openapi_extra=described(HandOver))
async def hand_over_task(here: Here, task_id: str, taken: Handing) -> BoardTask:
    """Give it to another member of the project, with words for them."""
    await work.hand_over(here.desk, here.scope, book_of(here), task_id, taken[0].to, taken[0].words)
    return await task_of(here, task_id)


@router.get("/tasks/{task_id}/work")
async def task_work(
    here: Here, request: Request, response: Response, task_id: str, after: After = None, limit: Limit = 50
) -> list[Work]:
    """The runs and streams that worked on it, in order."""
    await seen_card(here, task_id)
    where = {"tenant": here.scope.tenant, "task": task_id}
    lines = await here.desk.log.find(Find(AGENT_STREAMS, where, "id", after=checked_after(after), limit=limit))
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [await _work(here, line) for line in lines]


@router.get("/members/{member_id}/work")
async def member_work(
    here: Here, request: Request, response: Response, member_id: str, after: After = None, limit: Limit = 50
) -> list[Wake]:
    """What an agent that this server drives has to do and has done, the latest first. An agent sees its own."""
    who = await looker(here.scope, book_of(here))
    if who.type == "agent" and who.id != member_id:
        raise no_member()
    await there(book_of(here), member_id)
    where = {"tenant": here.scope.tenant, "member": member_id}
    asked = Find(WAKES, where, "id", descending=True, after=checked_after(after), limit=limit)
    lines = await here.desk.log.find(asked)
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [_wake(line) for line in lines]


async def _work(here: Station, line: dict[str, Any]) -> Work:
    run = None if line["run"] is None else await here.desk.log.get(RUNS, tenant=here.scope.tenant, id=line["run"])
    return Work(
        stream_id=line["id"],
        run_id=line["run"],
        member=line["agent"],
        slug=line["slug"],
        status=line["state"] if run is None else run["status"],
        begun_at=line["started_at"],
        ended_at=line["ended_at"],
    )


def _wake(line: dict[str, Any]) -> Wake:
    known = {name: line[name] for name in ("id", "reason", "status", "detail", "queued_at", "ended_at")}
    return Wake(project_id=line["project"], chat_id=line["chat"], task_id=line["task"], run_id=line["run"], **known)
