"""Conversations, and what was said in them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.ports import Query as Find
from quarterdeck.server import reach
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.station import Here
from quarterdeck.server.wire import Conversation, ConversationLine, Said
from quarterdeck.views.talk import CONVERSATIONS, MESSAGES

router = APIRouter(prefix="/v1/conversations", tags=["conversations"])

MOST_MESSAGES = 10_000
Last = Annotated[int, Query(ge=1, le=MOST_MESSAGES, description="How many messages at most: the latest.")]


@router.get("")
async def list_conversations(
    here: Here, request: Request, response: Response, after: After = None, limit: Limit = 50
) -> list[ConversationLine]:
    """In descending order of their ids, which for ids that the server gave is the latest first."""
    where = reach.whose(here)
    query = Find(CONVERSATIONS, where, "id", descending=True, after=checked_after(after), limit=limit)
    lines = await here.desk.log.find(query)
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [ConversationLine(**_public(line)) for line in lines]


@router.get("/{conversation_id}")
async def one_conversation(here: Here, conversation_id: str, last: Last = MOST_MESSAGES) -> Conversation:
    """With what was said in it last, in order."""
    there = await reach.conversation(here, conversation_id)
    line, where = there.line, {"tenant": there.scope.tenant, "conversation": conversation_id}
    messages = await here.desk.log.find(Find(MESSAGES, where, "place", descending=True, limit=last))
    return Conversation(**_public(line), messages=[_said(message) for message in reversed(messages)])


def _public(line: dict[str, Any]) -> dict[str, Any]:
    known = {name: line[name] for name in ConversationLine.model_fields if name in line}
    return {**known, "tenant_id": line["tenant"], "employee_id": line["employee"]}


def _said(line: dict[str, Any]) -> Said:
    return Said(role=line["role"], content=line["content"], status=line["status"], task_id=line["run"], at=line["at"])
