"""Chats: what was said, saying something, and whom that would reach."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.board import speech
from quarterdeck.actions.board.book import chat_for, looker
from quarterdeck.ports import Query as Find
from quarterdeck.server.board_wire import Chat, ChatMessage, NewMessage, Trigger, Triggers, member_card, message_of
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.board.members import Key, book_of
from quarterdeck.server.routes.board.projects import chat_of
from quarterdeck.server.routes.paging import Limit, link_next
from quarterdeck.server.station import Here
from quarterdeck.views.board import CHAT_MESSAGES, CHATS

router = APIRouter(prefix="/api/v1/chats", tags=["board"])

New = Annotated[tuple[NewMessage, bytes], Depends(json_body(NewMessage))]
Content = Annotated[str, Query(max_length=4000, description="What might be said.")]


@router.get("/{chat_id}")
async def one_chat(here: Here, chat_id: str) -> Chat:
    book = book_of(here)
    await chat_for(here.scope, book, await looker(here.scope, book), chat_id)
    line = await here.desk.log.get(CHATS, tenant=here.scope.tenant, id=chat_id)
    assert line is not None
    return chat_of(line)


@router.get("/{chat_id}/messages")
async def chat_messages(
    here: Here,
    request: Request,
    response: Response,
    chat_id: str,
    after: Annotated[int | None, Query(ge=0, lt=2**53, description="The `seq` of the last one seen.")] = None,
    order: Annotated[str, Query(pattern="^(asc|desc)$", description="`desc`: the latest first.")] = "asc",
    limit: Limit = 50,
) -> list[ChatMessage]:
    book = book_of(here)
    await chat_for(here.scope, book, await looker(here.scope, book), chat_id)
    where = {"tenant": here.scope.tenant, "chat": chat_id}
    asked = Find(CHAT_MESSAGES, where, "place", descending=order == "desc", after=after, limit=limit)
    lines = await here.desk.log.find(asked)
    link_next(request, response, lines[-1]["place"] if len(lines) == limit else None)
    return [message_of(line) for line in lines]


@router.post("/{chat_id}/messages", status_code=201, openapi_extra=described(NewMessage))
async def post_message(here: Here, chat_id: str, taken: New, key: Key = None) -> ChatMessage:
    """`@slug` mentions a member of the project. Who speaks is known by who is asking, whatever the text says."""
    asked, body = taken
    words = speech.Words(asked.content, asked.reply_to)
    ident = await speech.post_message(here.desk, here.scope, book_of(here), chat_id, words, key=key, body=body)
    line = await here.desk.log.get(CHAT_MESSAGES, tenant=here.scope.tenant, id=ident)
    assert line is not None
    return message_of(line)


@router.get("/{chat_id}/triggers")
async def chat_triggers(here: Here, chat_id: str, content: Content) -> Triggers:
    """Whom this would reach, and which agents would set to work, if it were said now."""
    found, held = await speech.chat_triggers(here.scope, book_of(here), chat_id, content)
    return shown_triggers(found, held)


def shown_triggers(found: list[speech.Trigger], held: str | None) -> Triggers:
    told = [Trigger(member=member_card(each.member), hears=each.hears, wakes=each.wakes) for each in found]
    return Triggers(held=held, members=told)
