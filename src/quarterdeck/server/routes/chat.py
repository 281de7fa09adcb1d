"""Ask something: streamed as it comes, or in one answer."""

from __future__ import annotations

from typing import Annotated, Any, cast

import orjson
from fastapi import APIRouter, Depends, Header
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.runs import Ask, Started, start_run
from quarterdeck.events.run import RunFinished, RunWaiting
from quarterdeck.kernel.errors import ModelFailed, Unavailable
from quarterdeck.kernel.ids import run_stream
from quarterdeck.log.rows import event_of
from quarterdeck.server import reach
from quarterdeck.server.body import described, json_body
from quarterdeck.server.problems import answer as problem
from quarterdeck.server.problems import of_model
from quarterdeck.server.resume import attached
from quarterdeck.server.sse import TO_REST, EventStream
from quarterdeck.server.station import Here, Station, station_of
from quarterdeck.server.wire import Answer, ChatRequest
from quarterdeck.views.run_wire import RunDoor, done_payload

router = APIRouter(prefix="/v1", tags=["chat"])

taken_body = json_body(ChatRequest)
TakenBody = Annotated[tuple[ChatRequest, bytes], Depends(taken_body)]
Key = Annotated[str | None, Header(alias="Idempotency-Key", description="The same key never starts a second run.")]
SSE: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events.", "content": {"text/event-stream": {}}}
}


@router.post("/chat/stream", openapi_extra=described(ChatRequest), responses=SSE, response_class=Response)
async def chat_stream(here: Here, taken: TakenBody, key: Key = None) -> Response:
    """Start a run and watch it. Leaving does not stop it; `GET /v1/tasks/{task_id}/stream` goes on from any event."""
    started = await _start(here, taken, key, "chat_stream")
    if started.again:
        return await attached(here, await reach.task(here, started.task), None, "start")
    cursor = here.desk.log.follow(run_stream(here.scope.tenant, started.task))
    door = RunDoor(started.task, started.conversation, here.desk.log.epoch)
    return EventStream(cursor, door, here.streams, last=TO_REST)


async def _chat_stream(request: Request) -> Response:
    key = request.headers.get("idempotency-key")
    return await chat_stream(await station_of(request), await taken_body(request), key)


# What goes past the framework. The routes above describe it, and differ in nothing.
STRAIGHT = {("POST", "/v1/chat/stream"): _chat_stream}


@router.post("/chat", openapi_extra=described(ChatRequest), response_model=Answer)
async def chat(here: Here, taken: TakenBody, key: Key = None) -> Response | Answer:
    """Start a run and wait for its answer."""
    started = await _start(here, taken, key, "chat")
    ended = await _ended(here, started)
    if isinstance(ended, RunWaiting):
        return _waits(ended, started)
    if ended.outcome == "failed":
        failed = ModelFailed(ended.code or "failed", ended.detail or "The run failed.", retryable=False)
        return of_model(failed) if not ended.answer else _half_answer(ended, started)
    done = done_payload(ended)
    return Answer(
        task_id=started.task,
        conversation_id=started.conversation,
        status=ended.outcome,
        answer=ended.answer,
        generation_stats=done["generation_stats"],
        usage=done["usage"],
    )


async def _start(here: Station, taken: tuple[ChatRequest, bytes], key: str | None, route: str) -> Started:
    asked, body = taken
    if here.streams.draining:
        raise Unavailable("The server is shutting down; ask again in a moment.", code="draining")
    await here.model_ready()
    ask = Ask(
        asked.message,
        asked.conversation_id,
        asked.workspace,
        asked.loop,
        asked.reasoning,
        asked.debug,
        asked.deadline_s or here.deadline_s,
    )
    return await start_run(here.desk, here.scope, ask, key=key, body=body, route=route)


async def _ended(here: Station, started: Started) -> RunFinished | RunWaiting:
    name = run_stream(here.scope.tenant, started.task)
    state = await here.desk.log.look(name)
    assert state is not None
    cursor = here.desk.log.follow(name, state.floor)
    leave = here.streams.add(cursor)
    try:
        while True:
            rows = await cursor.rows()
            if rows and rows[-1].kind in TO_REST:
                return cast(RunFinished | RunWaiting, event_of(rows[-1]))
            if not rows and here.streams.draining:
                raise _goes_on_later(started)
    finally:
        leave()


def _waits(waiting: RunWaiting, started: Started) -> Response:
    """Accepted, and not done: a person is asked first."""
    told: dict[str, object] = {"task_id": started.task, "conversation_id": started.conversation}
    told["status"] = waiting.status
    told |= {"answer": "", "generation_stats": {}, "usage": {}}
    return Response(orjson.dumps(told), 202, media_type="application/json")


def _goes_on_later(started: Started) -> Unavailable:
    detail = (
        f"The server is shutting down. The run goes on when it is back: GET /v1/tasks/{started.task} has its answer."
    )
    extra = {"task_id": started.task, "conversation_id": started.conversation}
    return Unavailable(detail, code="draining", extra=extra)


def _half_answer(ended: RunFinished, started: Started) -> Response:
    """A run that failed within its answer: the failure is told, and what there is is handed over as what it is."""
    extra = {"task_id": started.task, "conversation_id": started.conversation, "partial_answer": ended.answer}
    return problem(502, ended.code or "failed", ended.detail or "The run failed.", extra)
