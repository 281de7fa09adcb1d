"""Conversations: open, rename, say something, have it answered, have it answered again."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.memory import once_only
from quarterdeck.actions.runs import Ask, checked_message, requested, title_of
from quarterdeck.actions.tenants import checked_title
from quarterdeck.events.base import Event
from quarterdeck.events.talk import AnswerAskedAgain, ConversationOpened, ConversationRenamed, MessageAdded
from quarterdeck.kernel.errors import Closed, Conflict, Invalid, Moved, NotFound
from quarterdeck.kernel.ids import ConversationId, RunId, conversation_stream, run_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.ports import Once

LONGEST_USER = 200
UNTITLED = ""


@dataclass(frozen=True, slots=True)
class Opening:
    """A conversation to be. Without a title it is called after what is said first."""

    employee: str | None = None
    user: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Saying:
    """A message, and the run that answers it. `again` where this very request had said it before."""

    message: str
    run: RunId | None = None
    again: bool = False


async def open_conversation(
    desk: Desk, scope: Scope, opening: Opening, *, key: str | None = None, body: bytes = b""
) -> ConversationId:
    """Answers with its id once it is durable. The same `key` with the same `body` opens one."""
    ident = ConversationId(desk.ids.mint())
    title = UNTITLED if opening.title is None else checked_title(opening.title, "title")
    user = None if opening.user is None else _checked_user(opening.user)
    opened = ConversationOpened(title, None, opening.employee, user)
    once = once_only(scope, "open_conversation", key, body, {"id": ident})
    appended = await desk.log.append(
        Entry(conversation_stream(scope.tenant, ident), (opened,), actor=scope.actor), once=once
    )
    return ident if appended.answer is None else ConversationId(orjson.loads(appended.answer)["id"])


async def rename_conversation(desk: Desk, scope: Scope, conversation: str, title: str) -> None:
    await _append(desk, scope, conversation, (ConversationRenamed(checked_title(title, "title")),))


async def say(
    desk: Desk, scope: Scope, conversation: str, content: str, *, titled: bool, key: str | None, body: bytes
) -> Saying:
    """Store what the user says, and leave it at that."""
    ident = desk.ids.mint()
    said = MessageAdded("user", checked_message(content, "content"), id=ident)
    once = once_only(scope, f"say {conversation}", key, body, {"message": ident})
    answer = await _append(desk, scope, conversation, (*_named_after(content, titled=titled), said), once=once)
    return Saying(ident) if answer is None else Saying(orjson.loads(answer)["message"], again=True)


async def say_and_answer(
    desk: Desk, scope: Scope, ask: Ask, *, titled: bool, key: str | None = None, body: bytes = b""
) -> Saying:
    """Store what the user says and start the run that answers it, in one transaction."""
    assert ask.conversation is not None
    conversation = ConversationId(ask.conversation)
    message, run = desk.ids.mint(), RunId(desk.ids.mint())
    said = MessageAdded("user", checked_message(ask.message, "content"), run, id=message)
    start = Entry(run_stream(scope.tenant, run), (requested(ask, conversation),), actor=scope.actor)
    once = once_only(scope, f"say_and_answer {conversation}", key, body, {"message": message, "run": run})
    events = (*_named_after(ask.message, titled=titled), said)
    answer = await _append(desk, scope, conversation, events, start, once=once, cause=run)
    if answer is None:
        return Saying(message, run)
    first = orjson.loads(answer)
    return Saying(first["message"], RunId(first["run"]), again=True)


async def asked_before(desk: Desk, scope: Scope, conversation: str, key: str | None) -> Saying | None:
    """What this very request came to before, whatever has become of the conversation since."""
    wanted = once_only(scope, f"ask_again {conversation}", key, b"", {})
    known = None if wanted is None else await desk.log.once(wanted.key)
    if known is None:
        return None
    first = orjson.loads(known.answer)
    return Saying(first["message"], RunId(first["run"]), again=True)


@dataclass(frozen=True, slots=True)
class Question:
    """The last message of a conversation, to be answered again: its place, that of the answer there is, and where the
    conversation ended when it was looked at."""

    message: str
    place: int
    answer: int | None
    head: int


async def ask_again(desk: Desk, scope: Scope, ask: Ask, question: Question, *, key: str | None = None) -> Saying:
    """Another run answers; the answer that was there counts no longer."""
    assert ask.conversation is not None
    conversation, run = ConversationId(ask.conversation), RunId(desk.ids.mint())
    again = AnswerAskedAgain(question.place, run, question.answer)
    start = Entry(run_stream(scope.tenant, run), (requested(ask, conversation),), actor=scope.actor)
    once = once_only(scope, f"ask_again {conversation}", key, b"", {"message": question.message, "run": run})
    try:
        answer = await _append(desk, scope, conversation, (again,), start, once=once, cause=run, head=question.head)
    except Moved:
        raise Conflict("The conversation has gone on in the meantime; look again.", code="conversation_moved") from None
    if answer is None:
        return Saying(question.message, run)
    first = orjson.loads(answer)
    return Saying(first["message"], RunId(first["run"]), again=True)


async def _append(
    desk: Desk,
    scope: Scope,
    conversation: str,
    events: tuple[Event, ...],
    *also: Entry,
    once: Once | None = None,
    cause: str | None = None,
    head: int | None = None,
) -> bytes | None:
    """Into the conversation, and with it what goes elsewhere; the stored answer where this was done before."""
    name = conversation_stream(scope.tenant, ConversationId(conversation))
    if await desk.log.look(name) is None:
        raise gone()
    try:
        appended = await desk.log.append(
            *also, Entry(name, events, actor=scope.actor, cause=cause, head=head), once=once
        )
    except Closed:
        raise gone() from None
    return appended.answer


def gone() -> NotFound:
    return NotFound("There is no such conversation.", code="conversation_not_found")


def _named_after(message: str, *, titled: bool) -> tuple[Event, ...]:
    return () if titled else (ConversationRenamed(title_of(message)),)


def _checked_user(user: str) -> str:
    """Whatever a client calls its users: a line that can be printed."""
    if not user.strip() or not user.isprintable() or len(user) > LONGEST_USER:
        raise Invalid(f"`user_id` must be 1 to {LONGEST_USER} printable characters.", code="bad_user_id")
    return user.strip()
