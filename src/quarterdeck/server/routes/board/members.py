"""Members: add, list, look, change, remove; a new token."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Depends, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.actions.board import members as wishes
from quarterdeck.actions.board.book import looker, speaker
from quarterdeck.engine.board.people import Member
from quarterdeck.kernel.board import AGENT, MemberConfig, MemberType
from quarterdeck.ports import Query as Find
from quarterdeck.server.board_wire import (
    AddedMember,
    MemberCard,
    MemberChange,
    NewMember,
    NewToken,
    WholeMember,
    member_card,
    whole_member,
)
from quarterdeck.server.body import described, json_body
from quarterdeck.server.routes.paging import After, Limit, checked_after, link_next
from quarterdeck.server.station import Here, Station
from quarterdeck.views.access import TOKENS
from quarterdeck.views.board import MEMBERS
from quarterdeck.views.board_book import BoardBook, member_of

router = APIRouter(prefix="/api/v1/members", tags=["board"])

Key: TypeAlias = Annotated[
    str | None, Header(alias="Idempotency-Key", description="The same key never creates a second one.")
]
Slug: TypeAlias = Annotated[str | None, Query(max_length=200, description="Only the one that goes by it.")]
New = Annotated[tuple[NewMember, bytes], Depends(json_body(NewMember))]
Change = Annotated[tuple[MemberChange, bytes], Depends(json_body(MemberChange))]
LISTS = frozenset({"capabilities", "labels", "tools"})


@router.post("", status_code=201, openapi_extra=described(NewMember))
async def add_member(here: Here, taken: New, key: Key = None) -> AddedMember:
    """An agent's `token` is in the answer, this once."""
    asked, body = taken
    wish = wishes.NewMember(asked.type, asked.name, asked.slug, _config(asked))
    added = await wishes.add_member(here.desk, here.scope, wish, key=key, body=body)
    member = await wishes.there(book_of(here), added.id)
    return AddedMember(**whole_member(member), token=added.token)


@router.get("")
async def list_members(
    here: Here,
    request: Request,
    response: Response,
    type: MemberType | None = None,  # noqa: A002 - the word of the contract
    slug: Slug = None,
    after: After = None,
    limit: Limit = 50,
) -> list[WholeMember | MemberCard]:
    """In the order in which they were added. An agent sees how it is set up itself, and of others who they are."""
    who = await looker(here.scope, book_of(here))
    where: dict[str, object] = {"tenant": here.scope.tenant, "removed": 0}
    where |= {"type": type} if type is not None else {}
    where |= {"slug": slug} if slug is not None else {}
    lines = await here.desk.log.find(Find(MEMBERS, where, "id", after=checked_after(after), limit=limit))
    link_next(request, response, lines[-1]["id"] if len(lines) == limit else None)
    return [shown_to(who, member_of(line)) for line in lines]


@router.get("/me")
async def me(here: Here) -> WholeMember:
    """Whoever asks. A person who was no member becomes one."""
    return WholeMember(**whole_member(await speaker(here.desk, here.scope, book_of(here))))


# What a member may be without; null for anything else leaves it as it is.
WITHOUT = frozenset({"model", "provider", "tools"})


@router.get("/{member_id}")
async def one_member(here: Here, member_id: str) -> WholeMember | MemberCard:
    book = book_of(here)
    return shown_to(await looker(here.scope, book), await wishes.there(book, member_id))


@router.patch("/{member_id}", openapi_extra=described(MemberChange))
async def change_member(here: Here, member_id: str, taken: Change) -> WholeMember:
    """What is not named stays as it is. The agent is told at once."""
    book = book_of(here)
    named = taken[0].model_dump(include=taken[0].model_fields_set)
    asked = {each: value for each, value in named.items() if value is not None or each in WITHOUT}
    name = asked.pop("name", None)
    changes = {each: _plain(each, value) for each, value in asked.items()}
    await wishes.change_member(here.desk, here.scope, book, member_id, name, changes)
    return WholeMember(**whole_member(await wishes.there(book, member_id)))


@router.delete("/{member_id}", status_code=204)
async def remove_member(here: Here, member_id: str) -> None:
    """They leave every project, and their tokens end. What they said stays."""
    await wishes.remove_member(here.desk, here.scope, book_of(here), member_id, await _tokens(here, member_id))


@router.post("/{member_id}/token", status_code=201)
async def rotate_token(here: Here, member_id: str) -> NewToken:
    """A new token, shown this once. Those before it are no good from now on."""
    tokens = await _tokens(here, member_id)
    return NewToken(token=await wishes.rotate_token(here.desk, here.scope, book_of(here), member_id, tokens))


def book_of(here: Station) -> BoardBook:
    return BoardBook(here.desk.log, here.scope.tenant)


def shown_to(who: Member, member: Member) -> WholeMember | MemberCard:
    if who.type == "agent" and who.id != member.id:
        return member_card(member)
    return WholeMember(**whole_member(member))


async def _tokens(here: Station, member: str) -> list[str]:
    where = {"tenant": here.scope.tenant, "actor": f"{AGENT}{member}"}
    lines = await here.desk.log.find(Find(TOKENS, where, "id", limit=1000))
    return [line["id"] for line in lines if line["revoked_at"] is None]


def _config(asked: NewMember) -> MemberConfig:
    person = asked.type == "human"
    return MemberConfig(
        asked.chat_listen or ("all" if person else "mentions"),
        asked.task_listen or ("all" if person else "assigned"),
        asked.max_concurrent_tasks,
        tuple(asked.capabilities),
        tuple(asked.labels),
        asked.model,
        asked.provider,
        asked.prompt,
        asked.runtime,
        None if asked.tools is None else tuple(asked.tools),
    )


def _plain(name: str, value: Any) -> Any:
    return tuple(value) if name in LISTS and value is not None else value
