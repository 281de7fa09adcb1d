"""Work on a task: claim, heartbeat, release, submit, review, hand over."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from quarterdeck.actions.board import work
from quarterdeck.server.board_wire import BoardTask, Claimed, HandOver, Review, Submission
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.board.cards import task_of
from quarterdeck.server.routes.board.members import book_of
from quarterdeck.server.station import Here

router = APIRouter(prefix="/api/v1/tasks", tags=["board"])

Submitting = Annotated[tuple[Submission, bytes], Depends(json_body(Submission, optional=True))]
Reviewing = Annotated[tuple[Review, bytes], Depends(json_body(Review))]
Handing = Annotated[tuple[HandOver, bytes], Depends(json_body(HandOver))]


@router.post("/{task_id}/claim")
async def claim_task(here: Here, task_id: str) -> Claimed:
    """Take a task that is assigned to you in hand, if you have room for it. It is yours `until` then; renew it by a
    heartbeat."""
    until = await work.claim(here.desk, here.scope, book_of(here), task_id)
    return Claimed(task=await task_of(here, task_id), until=until)


@router.post("/{task_id}/heartbeat")
async def heartbeat(here: Here, task_id: str) -> Claimed:
    until = await work.heartbeat(here.desk, here.scope, book_of(here), task_id)
    return Claimed(task=await task_of(here, task_id), until=until)


@router.post("/{task_id}/release")
async def release_task(here: Here, task_id: str) -> BoardTask:
    """Let go of it; it waits in `todo` again."""
    await work.release(here.desk, here.scope, book_of(here), task_id)
    return await task_of(here, task_id)


@router.post("/{task_id}/submit", openapi_extra=described(Submission, required=False))
async def submit_task(here: Here, task_id: str, taken: Submitting) -> BoardTask:
    """Say that it is done; it waits for a review."""
    await work.submit(here.desk, here.scope, book_of(here), task_id, taken[0].summary)
    return await task_of(here, task_id)


@router.post("/{task_id}/review", openapi_extra=described(Review))
async def review_task(here: Here, task_id: str, taken: Reviewing) -> BoardTask:
    """Approve it, or send it back with words."""
    await work.review(here.desk, here.scope, book_of(here), task_id, taken[0].verdict, taken[0].words)
    return await task_of(here, task_id)


@router.post("/{task_id}/handover", openapi_extra=described(HandOver))
async def hand_over_task(here: Here, task_id: str, taken: Handing) -> BoardTask:
    """Give it to another member of the project, with words for them."""
    await work.hand_over(here.desk, here.scope, book_of(here), task_id, taken[0].to, taken[0].words)
    return await task_of(here, task_id)
