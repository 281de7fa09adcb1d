"""The tasks of a project: open, list, look, change, assign, link, move; comments and what was done."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.board import cards, speech
from quarterdeck.actions.board.book import looker, project_for
from quarterdeck.kernel.board import Status
from quarterdeck.ports import Query as Find
from quarterdeck.server.board_wire import (
    Activity,
    Assignees,
    BoardTask,
    Comment,
    Dependencies,
    Going,
    NewComment,
    NewTask,
    TaskChange,
    Triggers,
    author_of,
)
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.board.chats import Content, shown_triggers
from quarterdeck.server.routes.board.members import Key, book_of
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.station import Here, Station
from quarterdeck.views.board import names_in
from quarterdeck.views.board_tasks import CARD_ACTIVITY, CARD_ASSIGNEES, CARD_COMMENTS, CARDS

router = APIRouter(prefix="/api/v1", tags=["board"])

New = Annotated[tuple[NewTask, bytes], Depends(json_body(NewTask))]
Change = Annotated[tuple[TaskChange, bytes], Depends(json_body(TaskChange))]
Assigning = Annotated[tuple[Assignees, bytes], Depends(json_body(Assignees))]
Linking = Annotated[tuple[Dependencies, bytes], Depends(json_body(Dependencies))]
Moving = Annotated[tuple[Going, bytes], Depends(json_body(Going))]
Saying = Annotated[tuple[NewComment, bytes], Depends(json_body(NewComment))]
Place = Annotated[int | None, Query(ge=0, lt=2**53, description="The `seq` of the last one seen.")]


@router.post("/projects/{project_id}/tasks", status_code=201, openapi_extra=described(NewTask))
async def open_task(here: Here, project_id: str, taken: New, key: Key = None) -> BoardTask:
    asked, body = taken
    wish = cards.NewTask(
        asked.title,
        asked.description,
        asked.status,
        asked.priority,
        tuple(asked.labels),
        tuple(asked.assignees),
        tuple(asked.depends_on),
        asked.reviewer,
    )
    ident = await cards.open_task(here.desk, here.scope, book_of(here), project_id, wish, key=key, body=body)
    return await task_of(here, ident)


@router.get("/projects/{project_id}/tasks")
async def list_tasks(
    here: Here,
    request: Request,
    response: Response,
    project_id: str,
    status: Status | None = None,
    after: After = None,
    limit: Limit = 50,
) -> list[BoardTask]:
    """In the order in which they were opened."""
    book = book_of(here)
    await project_for(book, await looker(here.scope, book), project_id)
    where: dict[str, object] = {"tenant": here.scope.tenant, "project": project_id}
    where |= {"status": status} if status is not None else {}
    lines = await here.desk.log.find(Find(CARDS, where, "id", after=checked_after(after), limit=limit))
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [await _shown(here, line) for line in lines]


@router.get("/tasks")
async def my_tasks(
    here: Here,
    request: Request,
    response: Response,
    status: Status | None = None,
    after: After = None,
    limit: Limit = 50,
) -> list[BoardTask]:
    """Those that are assigned to whoever asks: an agent's queue."""
    who = await looker(here.scope, book_of(here))
    where = {"tenant": here.scope.tenant, "member": who.id}
    lines = await here.desk.log.find(Find(CARD_ASSIGNEES, where, "card", after=checked_after(after), limit=limit))
    link_next(request, response, lines[-1]["card"] if len(lines) == limit else None)
    found = [await task_of(here, line["card"]) for line in lines]
    return [task for task in found if status is None or task.status == status]


@router.get("/tasks/{task_id}")
async def one_task(here: Here, task_id: str) -> BoardTask:
    await seen_card(here, task_id)
    return await task_of(here, task_id)


@router.patch("/tasks/{task_id}", openapi_extra=described(TaskChange))
async def edit_task(here: Here, task_id: str, taken: Change) -> BoardTask:
    asked = taken[0]
    labels = None if asked.labels is None else tuple(asked.labels)
    edit = cards.TaskEdit(asked.title, asked.description, asked.priority, labels, asked.reviewer)
    await cards.edit_task(here.desk, here.scope, book_of(here), task_id, edit)
    return await task_of(here, task_id)


@router.put("/tasks/{task_id}/assignees", openapi_extra=described(Assignees))
async def assign_task(here: Here, task_id: str, taken: Assigning) -> BoardTask:
    """All of them: whoever is not named has it no longer."""
    await cards.assign(here.desk, here.scope, book_of(here), task_id, taken[0].members)
    return await task_of(here, task_id)


@router.put("/tasks/{task_id}/dependencies", openapi_extra=described(Dependencies))
async def link_task(here: Here, task_id: str, taken: Linking) -> BoardTask:
    """All of them. Tasks that would wait for each other are refused, with the `cycle`."""
    await cards.link(here.desk, here.scope, book_of(here), task_id, taken[0].depends_on)
    return await task_of(here, task_id)


@router.put("/tasks/{task_id}/status", openapi_extra=described(Going))
async def move_task(here: Here, task_id: str, taken: Moving) -> BoardTask:
    await cards.move(here.desk, here.scope, book_of(here), task_id, taken[0].status)
    return await task_of(here, task_id)


@router.get("/tasks/{task_id}/comments")
async def task_comments(
    here: Here, request: Request, response: Response, task_id: str, after: Place = None, limit: Limit = 50
) -> list[Comment]:
    await seen_card(here, task_id)
    where = {"tenant": here.scope.tenant, "card": task_id}
    lines = await here.desk.log.find(Find(CARD_COMMENTS, where, "place", after=after, limit=limit))
    link_next(request, response, lines[-1]["place"] if len(lines) == limit else None)
    return [_comment(line) for line in lines]


@router.post("/tasks/{task_id}/comments", status_code=201, openapi_extra=described(NewComment))
async def comment_task(here: Here, task_id: str, taken: Saying, key: Key = None) -> Comment:
    """An agent comments on tasks that were given to it."""
    asked, body = taken
    words = speech.Words(asked.content)
    ident = await speech.comment(here.desk, here.scope, book_of(here), task_id, words, key=key, body=body)
    line = await here.desk.log.get(CARD_COMMENTS, tenant=here.scope.tenant, id=ident)
    assert line is not None
    return _comment(line)


@router.get("/tasks/{task_id}/triggers")
async def task_triggers(here: Here, task_id: str, content: Content) -> Triggers:
    """Whom this comment would reach, and which agents would set to work, if it were made now."""
    found, held = await speech.task_triggers(here.desk, here.scope, book_of(here), task_id, content)
    return shown_triggers(found, held)


@router.get("/tasks/{task_id}/activity")
async def task_activity(
    here: Here, request: Request, response: Response, task_id: str, after: Place = None, limit: Limit = 50
) -> list[Activity]:
    """What was done to it, in order, and by whom."""
    await seen_card(here, task_id)
    where = {"tenant": here.scope.tenant, "card": task_id}
    lines = await here.desk.log.find(Find(CARD_ACTIVITY, where, "place", after=after, limit=limit))
    link_next(request, response, lines[-1]["place"] if len(lines) == limit else None)
    return [
        Activity(
            seq=line["place"],
            kind=line["kind"],
            member=line["member"],
            slug=line["slug"],
            detail=orjson.loads(line["detail"]),
            at=line["at"],
        )
        for line in lines
    ]


async def seen_card(here: Station, task_id: str) -> None:
    """Raise where whoever asks may not see it."""
    book = book_of(here)
    await cards.card_for(here.desk, book, await looker(here.scope, book), task_id)


async def task_of(here: Station, task_id: str) -> BoardTask:
    line = await here.desk.log.get(CARDS, tenant=here.scope.tenant, id=task_id)
    assert line is not None
    return await _shown(here, line)


async def _shown(here: Station, line: dict[str, Any]) -> BoardTask:
    lists: dict[str, Any] = {name: list(names_in(line[name])) for name in ("labels", "assignees", "depends_on")}
    known = {name: line[name] for name in BoardTask.model_fields if name in line and name not in lists}
    needs = lists["depends_on"]
    blocked_by = list(await book_of(here).unended(needs)) if needs else []
    return BoardTask(project_id=line["project"], blocked_by=blocked_by, **lists, **known)


def _comment(line: dict[str, Any]) -> Comment:
    return Comment(
        id=line["id"],
        task_id=line["card"],
        author=author_of(line),
        content=line["content"],
        mentions=list(names_in(line["mentions"])),
        held=line["held"],
        stream_id=line["stream"],
        at=line["at"],
    )
