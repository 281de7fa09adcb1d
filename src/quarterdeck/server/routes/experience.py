"""Lessons that runs taught: read them, accept them, reject them, forget them, ask for one."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.experience import EndedRun, accept_lesson, ask_reflection, forget_lesson, reject_lesson
from quarterdeck.kernel.errors import Conflict, NotFound
from quarterdeck.ports import Query as Find
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.station import Here, Station
from quarterdeck.server.wire import Lesson, Reflecting
from quarterdeck.views.memory import AFTERS, LESSONS
from quarterdeck.views.tables import RUNS

router = APIRouter(prefix="/v1", tags=["experience"])


@router.get("/experience")
async def list_lessons(
    here: Here, request: Request, response: Response, after: After = None, limit: Limit = 50
) -> list[Lesson]:
    """The latest first."""
    where = {"tenant": here.scope.tenant}
    query = Find(LESSONS, where, "id", descending=True, after=checked_after(after), limit=limit)
    lines = await here.desk.log.find(query)
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [_lesson(line) for line in lines]


@router.get("/experience/{lesson_id}")
async def one_lesson(here: Here, lesson_id: str) -> Lesson:
    return _lesson(await _line(here, lesson_id))


@router.post("/experience/{lesson_id}/accept")
async def accept(here: Here, lesson_id: str) -> Lesson:
    """From now on it is found again when it fits."""
    await accept_lesson(here.desk, here.scope, lesson_id, _find(here))
    return _lesson(await _line(here, lesson_id))


@router.post("/experience/{lesson_id}/reject")
async def reject(here: Here, lesson_id: str) -> Lesson:
    """It stays to be seen, and is not used."""
    await reject_lesson(here.desk, here.scope, lesson_id, _find(here))
    return _lesson(await _line(here, lesson_id))


@router.delete("/experience/{lesson_id}", status_code=204, response_class=Response)
async def forget(here: Here, lesson_id: str) -> Response:
    """Its text goes from the log, the tables and the index."""
    await forget_lesson(here.desk, here.scope, lesson_id, _find(here))
    return Response(status_code=204)


@router.post("/tasks/{task_id}/reflect", status_code=202)
async def reflect(here: Here, task_id: str) -> Reflecting:
    """Have a run that has ended looked back at. What it taught is proposed as a lesson."""
    log, tenant = here.desk.log, here.scope.tenant
    line = await log.get(RUNS, tenant=tenant, id=task_id)
    if line is None:
        raise NotFound("There is no such task.", code="task_not_found")
    if line["open"]:
        raise Conflict(f"Task {task_id} has not ended yet; ask when it has.", code="task_not_ended")
    going_on = await log.find(Find(AFTERS, {"tenant": tenant, "run": task_id, "open": 1, "reflection": 1}, "id"))
    if not going_on:
        run = EndedRun(task_id, line["conversation"], line["message"], line["answer"])
        await ask_reflection(here.desk, here.scope, run)
    return Reflecting(task_id=task_id)


def _find(here: Station) -> Any:
    async def find(ident: str) -> dict[str, Any] | None:
        return await here.desk.log.get(LESSONS, tenant=here.scope.tenant, id=ident)

    return find


async def _line(here: Station, ident: str) -> dict[str, Any]:
    line = await here.desk.log.get(LESSONS, tenant=here.scope.tenant, id=ident)
    if line is None:
        raise NotFound("There is no such lesson.", code="lesson_not_found")
    return line


def _lesson(line: dict[str, Any]) -> Lesson:
    return Lesson(**{name: line[name] for name in Lesson.model_fields})
