"""Projects: open, change, who is in them; threads and direct chats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from quarterdeck.actions.board.book import TRIES, Book, chat_for, people_only, project_for, speaker
from quarterdeck.actions.board.members import resolved, slug_taken, take_handle, there
from quarterdeck.actions.desk import Desk
from quarterdeck.actions.memory import once_only
from quarterdeck.actions.tenants import checked_title
from quarterdeck.engine.board.people import Member
from quarterdeck.engine.board.slugs import checked_slug, slug_of
from quarterdeck.events.project import ChatOpened, MemberJoined, MemberLeft, ProjectChanged, ProjectOpened
from quarterdeck.kernel.errors import Invalid, Moved, NotFound
from quarterdeck.kernel.ids import project_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry

LONGEST_DESCRIPTION = 50_000
MOST_MEMBERS = 1_000
DIRECT = 2


@dataclass(frozen=True, slots=True)
class NewProject:
    """`members` by id or slug, beside whoever opens it."""

    name: str
    slug: str | None = None
    description: str = ""
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewThread:
    project: str
    root: str
    name: str | None = None


async def open_project(
    desk: Desk, scope: Scope, book: Book, wish: NewProject, *, key: str | None = None, body: bytes = b""
) -> str:
    people_only(scope, "open projects")
    who = await speaker(desk, scope, book)
    ident, chat = desk.ids.mint(), desk.ids.mint()
    name = checked_title(wish.name)
    slug = slug_of(name, ident, "project") if wish.slug is None else checked_slug(wish.slug)
    joining = {each.id: each for each in (who, *await resolved(book, wish.members))}
    opened = Entry(
        project_stream(scope.tenant, ident),
        (
            ProjectOpened(name, slug, chat, checked_text(wish.description)),
            ChatOpened(chat, "main", name),
            *(MemberJoined(each.voice, each.name) for each in joining.values()),
        ),
        actor=scope.actor,
    )
    once = once_only(scope, "open_project", key, body, {"id": ident})
    for _ in range(TRIES):
        taken, free = await take_handle(desk.log, scope, "project", slug, ident)
        try:
            appended = await desk.log.append(opened, taken, once=once)
        except Moved:
            if not free:
                raise slug_taken(slug) from None
            continue
        return ident if appended.answer is None else str(orjson.loads(appended.answer)["id"])
    raise slug_taken(slug)


async def change_project(
    desk: Desk,
    scope: Scope,
    book: Book,
    ident: str,
    *,
    name: str | None = None,
    description: str | None = None,
    archived: bool | None = None,
) -> None:
    """What is None stays as it is. One that is archived can still be read."""
    people_only(scope, "change projects")
    who = await speaker(desk, scope, book)
    known = await project_for(book, who, ident)
    if (name, description, archived) == (None, None, None):
        raise Invalid("There is nothing to change; name what should.", code="nothing_to_change")
    event = ProjectChanged(
        known.name if name is None else checked_title(name),
        known.description if description is None else checked_text(description),
        known.archived if archived is None else archived,
    )
    await desk.log.append(Entry(project_stream(scope.tenant, ident), (event,), actor=scope.actor))


async def join_project(desk: Desk, scope: Scope, book: Book, ident: str, member: str) -> Member:
    """By id or slug. Who is in it already stays in it."""
    people_only(scope, "add members to projects")
    await project_for(book, await speaker(desk, scope, book), ident, writing=True)
    [joining] = await resolved(book, [member])
    if not await book.is_in(ident, joining.id):
        event = MemberJoined(joining.voice, joining.name)
        await desk.log.append(Entry(project_stream(scope.tenant, ident), (event,), actor=scope.actor))
    return joining


async def leave_project(desk: Desk, scope: Scope, book: Book, ident: str, member: str) -> None:
    people_only(scope, "take members out of projects")
    await project_for(book, await speaker(desk, scope, book), ident)
    leaving = await there(book, member)
    if not await book.is_in(ident, leaving.id):
        raise NotFound("This member is not in the project.", code="member_not_found")
    await desk.log.append(Entry(project_stream(scope.tenant, ident), (MemberLeft(leaving.voice),), actor=scope.actor))


async def open_thread(
    desk: Desk, scope: Scope, book: Book, wish: NewThread, *, key: str | None = None, body: bytes = b""
) -> str:
    """A chat of its own that hangs on a message."""
    who = await speaker(desk, scope, book)
    message = await book.message(wish.root)
    if message is None:
        raise NotFound("There is no such message.", code="message_not_found")
    chat = await chat_for(scope, book, who, message.chat, writing=True)
    if chat.project != wish.project:
        raise NotFound("There is no such message.", code="message_not_found")
    title = "Thread" if wish.name is None else checked_title(wish.name)
    wanted = ChatOpened(
        desk.ids.mint(), "direct" if chat.kind == "direct" else "thread", title, wish.root, chat.members
    )
    return await _opened(desk, scope, chat.project, wanted, key, body)


async def open_direct(
    desk: Desk,
    scope: Scope,
    book: Book,
    project: str,
    members: Sequence[str],
    *,
    key: str | None = None,
    body: bytes = b"",
) -> str:
    """A chat between some members of a project, whoever opens it among them."""
    who = await speaker(desk, scope, book)
    await project_for(book, who, project, writing=True)
    between = {each.id: each for each in (who, *await resolved(book, members))}
    if len(between) < DIRECT:
        raise Invalid("A direct chat is between two members at least.", code="too_few_members")
    for each in between.values():
        if not await book.is_in(project, each.id):
            raise Invalid("One of the members that you name is not in the project.", code="unknown_member")
    name = ", ".join(sorted(each.slug for each in between.values()))[:200]
    wanted = ChatOpened(desk.ids.mint(), "direct", name, None, tuple(between))
    return await _opened(desk, scope, project, wanted, key, body)


async def _opened(desk: Desk, scope: Scope, project: str, wanted: ChatOpened, key: str | None, body: bytes) -> str:
    once = once_only(scope, f"open_chat\n{project}", key, body, {"id": wanted.chat})
    appended = await desk.log.append(
        Entry(project_stream(scope.tenant, project), (wanted,), actor=scope.actor), once=once
    )
    return wanted.chat if appended.answer is None else str(orjson.loads(appended.answer)["id"])


def checked_text(text: str, longest: int = LONGEST_DESCRIPTION) -> str:
    if len(text) > longest:
        raise Invalid(f"The text is longer than {longest:,} characters.", code="text_too_long")
    return text
