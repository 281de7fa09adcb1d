"""Projects, who is in them, and their chats."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.board import projects as wishes
from quarterdeck.actions.board.book import looker, project_for
from quarterdeck.engine.board.card import MOVES
from quarterdeck.engine.board.people import Member
from quarterdeck.kernel.errors import Invalid
from quarterdeck.ports import Query
from quarterdeck.server.board_wire import (
    Chat,
    Joining,
    MemberCard,
    NewChat,
    NewProject,
    Project,
    ProjectChange,
    StatusLine,
    member_card,
)
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.board.members import Key, Slug, book_of
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.station import Here, Station
from quarterdeck.views.board import CHATS, PROJECT_MEMBERS, PROJECTS, names_in

router = APIRouter(prefix="/api/v1/projects", tags=["board"])

New = Annotated[tuple[NewProject, bytes], Depends(json_body(NewProject))]
Change = Annotated[tuple[ProjectChange, bytes], Depends(json_body(ProjectChange))]
Joins = Annotated[tuple[Joining, bytes], Depends(json_body(Joining))]
Opens = Annotated[tuple[NewChat, bytes], Depends(json_body(NewChat))]


@router.post("", status_code=201, openapi_extra=described(NewProject))
async def open_project(here: Here, taken: New, key: Key = None) -> Project:
    """Whoever opens it is in it. `chat_id` is the chat that everybody is in."""
    asked, body = taken
    wish = wishes.NewProject(asked.name, asked.slug, asked.description, tuple(asked.members))
    ident = await wishes.open_project(here.desk, here.scope, book_of(here), wish, key=key, body=body)
    return await _project(here, ident)


@router.get("")
async def list_projects(
    here: Here,
    request: Request,
    response: Response,
    *,
    slug: Slug = None,
    archived: bool = False,
    after: After = None,
    limit: Limit = 50,
) -> list[Project]:
    """People see all of their tenant's, agents those they are in."""
    book = book_of(here)
    who = await looker(here.scope, book)
    if who.type == "agent":
        where: dict[str, object] = {"tenant": here.scope.tenant, "member": who.id}
        asked = Query(PROJECT_MEMBERS, where, "project", after=checked_after(after), limit=limit)
        mine = [line["project"] for line in await here.desk.log.find(asked)]
        link_next(request, response, mine[-1] if len(mine) == limit else None)
        found = [await _project(here, ident) for ident in mine]
        return [each for each in found if each.archived == archived and slug in {None, each.slug}]
    where = {"tenant": here.scope.tenant, "archived": int(archived)}
    where |= {"slug": slug} if slug is not None else {}
    lines = await here.desk.log.find(Query(PROJECTS, where, "id", after=checked_after(after), limit=limit))
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [_shown(line) for line in lines]


@router.get("/{project_id}")
async def one_project(here: Here, project_id: str) -> Project:
    await _seen(here, project_id)
    return await _project(here, project_id)


@router.patch("/{project_id}", openapi_extra=described(ProjectChange))
async def change_project(here: Here, project_id: str, taken: Change) -> Project:
    """One that is archived can be read and taken back."""
    await wishes.change_project(here.desk, here.scope, book_of(here), project_id, **taken[0].model_dump())
    return await _project(here, project_id)


@router.get("/{project_id}/members")
async def project_members(here: Here, project_id: str) -> list[MemberCard]:
    """In the order of their slugs."""
    await _seen(here, project_id)
    return [member_card(member) for member in await book_of(here).members_of(project_id)]


@router.post("/{project_id}/members", status_code=201, openapi_extra=described(Joining))
async def join_project(here: Here, project_id: str, taken: Joins) -> MemberCard:
    """Who is in it already stays in it."""
    joined = await wishes.join_project(here.desk, here.scope, book_of(here), project_id, taken[0].member)
    return member_card(joined)


@router.delete("/{project_id}/members/{member_id}", status_code=204)
async def leave_project(here: Here, project_id: str, member_id: str) -> None:
    await wishes.leave_project(here.desk, here.scope, book_of(here), project_id, member_id)


@router.get("/{project_id}/statuses")
async def project_statuses(here: Here, project_id: str) -> list[StatusLine]:
    """The columns of the board, and where a task may go from each."""
    await _seen(here, project_id)
    return [StatusLine(status=status, next=list(ways)) for status, ways in MOVES.items()]


@router.get("/{project_id}/chats")
async def project_chats(
    here: Here, request: Request, response: Response, project_id: str, after: After = None, limit: Limit = 50
) -> list[Chat]:
    """The main chat, threads, and those direct chats that are yours to see."""
    who = await _seen(here, project_id)
    where = {"tenant": here.scope.tenant, "project": project_id}
    lines = await here.desk.log.find(Query(CHATS, where, "id", after=checked_after(after), limit=limit))
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    everything = "*" in here.scope.rights
    chats = [chat_of(line) for line in lines]
    return [chat for chat in chats if everything or chat.kind != "direct" or who.id in chat.members]


@router.post("/{project_id}/chats", status_code=201, openapi_extra=described(NewChat))
async def open_chat(here: Here, project_id: str, taken: Opens, key: Key = None) -> Chat:
    """A thread, if you name the `root` message; a direct chat, if you name `members`."""
    asked, body = taken
    book = book_of(here)
    if (asked.root is None) == (asked.members is None):
        raise Invalid("Name either the `root` message of a thread or the `members` of a direct chat.", code="bad_chat")
    if asked.root is not None:
        wish = wishes.NewThread(project_id, asked.root, asked.name)
        ident = await wishes.open_thread(here.desk, here.scope, book, wish, key=key, body=body)
    else:
        members = asked.members or []
        ident = await wishes.open_direct(here.desk, here.scope, book, project_id, members, key=key, body=body)
    line = await here.desk.log.get(CHATS, tenant=here.scope.tenant, id=ident)
    assert line is not None
    return chat_of(line)


def chat_of(line: dict[str, Any]) -> Chat:
    known = {name: line[name] for name in ("id", "kind", "name", "root", "opened_at", "spoken_at")}
    return Chat(project_id=line["project"], members=list(names_in(line["members"])), **known)


async def _seen(here: Station, project_id: str) -> Member:
    book = book_of(here)
    who = await looker(here.scope, book)
    await project_for(book, who, project_id)
    return who


async def _project(here: Station, ident: str) -> Project:
    line = await here.desk.log.get(PROJECTS, tenant=here.scope.tenant, id=ident)
    assert line is not None
    return _shown(line)


def _shown(line: dict[str, Any]) -> Project:
    known = {name: line[name] for name in ("id", "name", "slug", "description", "opened_at")}
    return Project(chat_id=line["chat"], archived=bool(line["archived"]), **known)
