"""Messages of a conversation: say something, have it answered as it comes, watch again, stop, steer, regenerate."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.runs import Ask, stop_run
from quarterdeck.actions.staff import persona
from quarterdeck.actions.steering import intervene
from quarterdeck.actions.talk import Question, Saying, ask_again, asked_before, say, say_and_answer
from quarterdeck.kernel.errors import Conflict, Unavailable
from quarterdeck.kernel.ids import ConversationId, conversation_stream
from quarterdeck.ports import Query as Find
from quarterdeck.server import reach
from quarterdeck.server.approval_wire import Intervene, Intervention, intervention
from quarterdeck.server.body import described, json_body
from quarterdeck.server.resume import attached
from quarterdeck.server.routes.paging import Limit, link_next
from quarterdeck.server.routes.tasks import Begin, LastId, Place
from quarterdeck.server.routes.tenants import Key
from quarterdeck.server.sse import TYPED
from quarterdeck.server.station import Here, Station
from quarterdeck.server.talk_wire import Message, NewMessage, message
from quarterdeck.server.wire import Stopping, StopRequest
from quarterdeck.views.approvals import INTERVENTIONS
from quarterdeck.views.message_wire import MessageDoor
from quarterdeck.views.tables import RUNS
from quarterdeck.views.talk import MESSAGES

router = APIRouter(prefix="/api/v1/conversations/{conversation_id}/messages", tags=["platform messages"])

New = Annotated[tuple[NewMessage, bytes], Depends(json_body(NewMessage))]
TakenReason = Annotated[tuple[StopRequest, bytes], Depends(json_body(StopRequest, optional=True))]
TakenWord = Annotated[tuple[Intervene, bytes], Depends(json_body(Intervene))]
AfterPlace = Annotated[int | None, Query(ge=0, lt=2**53, description="Where the page before this one ended.")]
SSE: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events.", "content": {"text/event-stream": {}}}
}
LATEST = 100  # how far back the question of the last answer is looked for


@router.post("", openapi_extra=described(NewMessage))
async def add_message(here: Here, conversation_id: str, taken: New, key: Key = None) -> Message:
    """Store what the user says; nobody answers. `…/messages/stream` does both."""
    there = await reach.conversation(here, conversation_id)
    titled = bool(there.line["title"])
    said = await say(here.desk, there.scope, conversation_id, taken[0].content, titled=titled, key=key, body=taken[1])
    return message(await _line(here, there, said.message))


@router.get("")
async def list_messages(
    here: Here,
    request: Request,
    response: Response,
    conversation_id: str,
    order: Annotated[Literal["asc", "desc"], Query(description="`desc` begins with the latest.")] = "asc",
    after: AfterPlace = None,
    limit: Limit = 100,
) -> list[Message]:
    """In the order in which they were said."""
    there = await reach.conversation(here, conversation_id)
    query = Find(MESSAGES, _within(there), "place", descending=order == "desc", after=after, limit=limit)
    lines = await here.desk.log.find(query)
    link_next(request, response, lines[-1]["place"] if len(lines) == limit else None)
    return [message(line) for line in lines]


@router.post("/stream", openapi_extra=described(NewMessage), responses=SSE, response_class=Response)
async def stream_message(here: Here, conversation_id: str, taken: New, key: Key = None) -> Response:
    """Say something and watch the answer come. Leaving does not stop it: `GET …/messages/{id}/stream` goes on."""
    there = await reach.conversation(here, conversation_id)
    ask = await _ask(here, there, taken[0].content)
    titled = bool(there.line["title"])
    said = await say_and_answer(here.desk, there.scope, ask, titled=titled, key=key, body=taken[1])
    return await _watched(here, said)


@router.get("/{message_id}")
async def one_message(here: Here, conversation_id: str, message_id: str) -> Message:
    there = await reach.conversation(here, conversation_id)
    return message(await _line(here, there, message_id))


@router.get(
    "/{message_id}/stream",
    response_class=Response,
    responses={**SSE, 204: {"description": "It has ended and all was seen."}},
)
async def watch_message(
    here: Here,
    conversation_id: str,
    message_id: str,
    after: Place = None,
    begin: Begin = "start",
    last_event_id: LastId = None,
) -> Response:
    """Watch an answer from the beginning, or from the last event that was seen."""
    run = await _run(here, conversation_id, message_id)
    door = MessageDoor(run.line["id"], run.line["conversation"], here.desk.log.epoch)
    return await attached(here, run, last_event_id or after, begin, door, TYPED)


@router.post("/{message_id}/stop", status_code=202, openapi_extra=described(StopRequest, required=False))
async def stop_message(here: Here, conversation_id: str, message_id: str, taken: TakenReason) -> Stopping:
    """End an answer at once; what there is of it is kept."""
    run = await _run(here, conversation_id, message_id)
    await stop_run(here.desk, run.scope, run.line["id"], taken[0].reason)
    return Stopping(task_id=run.line["id"])


@router.post("/{message_id}/interventions", status_code=202, openapi_extra=described(Intervene))
async def steer_message(here: Here, conversation_id: str, message_id: str, taken: TakenWord) -> Intervention:
    """Say something to whoever is answering. The receipt tells from which step on it was heeded."""
    run = await _run(here, conversation_id, message_id)
    ident = await intervene(here.desk, run.scope, run.line["id"], taken[0].mode, taken[0].text)
    line = await here.desk.log.get(INTERVENTIONS, tenant=run.scope.tenant, id=ident)
    assert line is not None
    return intervention(line)


@router.post("/{message_id}/regenerate", responses=SSE, response_class=Response)
async def regenerate(here: Here, conversation_id: str, message_id: str, key: Key = None) -> Response:
    """Answer the last message anew. The answer there was stays in the list, as superseded."""
    there = await reach.conversation(here, conversation_id)
    await _line(here, there, message_id)
    if (before := await asked_before(here.desk, there.scope, conversation_id, key)) is not None:
        return await _watched(here, before)
    name = conversation_stream(there.scope.tenant, ConversationId(conversation_id))
    state = await here.desk.log.look(name)
    assert state is not None
    asked, answer = await _last(here, there, message_id)
    question = Question(asked["id"], asked["place"], None if answer is None else answer["place"], state.head)
    ask = await _ask(here, there, asked["content"])
    return await _watched(here, await ask_again(here.desk, there.scope, ask, question, key=key))


async def _last(here: Station, there: reach.Found, message_id: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The last question and its answer, which the message must be one of."""
    query = Find(MESSAGES, _within(there), "place", descending=True, limit=LATEST)
    lines = [line for line in await here.desk.log.find(query) if line["status"] != "superseded"]
    answer = lines[0] if lines and lines[0]["role"] == "assistant" else None
    run = answer["run"] if answer is not None else None
    asked = next((line for line in lines if line["role"] == "user" and (answer is None or line["run"] == run)), None)
    if asked is None or message_id not in {asked["id"], answer["id"] if answer is not None else None}:
        raise Conflict("Only the last message of a conversation can be answered anew.", code="not_the_last_message")
    if answer is None and asked["run"] is not None and await _is_open(here, there, asked["run"]):
        raise Conflict("It is being answered; stop that first.", code="still_running")
    return asked, answer


async def _is_open(here: Station, there: reach.Found, run: str) -> bool:
    line = await here.desk.log.get(RUNS, tenant=there.scope.tenant, id=run)
    return line is not None and bool(line["open"])


async def _ask(here: Station, there: reach.Found, content: str) -> Ask:
    if here.streams.draining:
        raise Unavailable("The server is shutting down; ask again in a moment.", code="draining")
    employee, tenant = there.line["employee"], there.scope.tenant
    who = None if employee is None else await persona(here.desk, there.scope, employee)
    return Ask(
        content,
        there.line["id"],
        there.line["workspace"],
        await here.loop_of(tenant, who),
        deadline_s=here.deadline_s,
        persona=who,
    )


async def _watched(here: Station, said: Saying) -> Response:
    assert said.run is not None
    run = await reach.task(here, said.run)
    door = MessageDoor(said.run, run.line["conversation"], here.desk.log.epoch)
    return await attached(here, run, None, "start", door, TYPED)


async def _run(here: Station, conversation_id: str, message_id: str) -> reach.Found:
    """The run that answers a message, by the message's id or by that of its answer, which need not be there yet."""
    there = await reach.conversation(here, conversation_id)
    found = await reach.found(here.desk, here.scope, RUNS, message_id)
    if found is not None and found.line["conversation"] == conversation_id and found.scope == there.scope:
        return found
    line = await _line(here, there, message_id)
    if line["run"] is None:
        raise Conflict("Nobody was asked to answer this message; regenerate does.", code="not_answered")
    return await reach.task(here, line["run"])


async def _line(here: Station, there: reach.Found, message_id: str) -> dict[str, Any]:
    lines = await here.desk.log.find(Find(MESSAGES, {**_within(there), "id": message_id}, "place", limit=1))
    if not lines:
        raise reach.missing("message")
    return lines[0]


def _within(there: reach.Found) -> dict[str, object]:
    return {"tenant": there.scope.tenant, "conversation": there.line["id"]}
