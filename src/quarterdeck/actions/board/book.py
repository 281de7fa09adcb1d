"""What an action looks up before it does anything; and who is speaking."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Protocol

from quarterdeck.actions.desk import Desk
from quarterdeck.engine.board.people import Chat, Member, Project, Uttered
from quarterdeck.engine.board.slugs import slug_of
from quarterdeck.events.member import HandleTaken, MemberAdded
from quarterdeck.kernel.board import MemberConfig, agent_of
from quarterdeck.kernel.errors import Conflict, Moved, NotAllowed, NotFound
from quarterdeck.kernel.ids import TenantId, handle_stream, member_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry

TRIES = 50
LISTENING_PERSON = MemberConfig(chat_listen="all", task_listen="all", max_concurrent_tasks=20)


class Book(Protocol):
    """The board of one tenant, to be looked things up in."""

    @property
    def tenant(self) -> TenantId: ...

    async def member(self, ident: str) -> Member | None: ...

    async def by_slug(self, slug: str) -> Member | None: ...

    async def by_account(self, account: str) -> Member | None: ...

    async def account_name(self, account: str) -> str | None:
        """What a person who signs in is called."""

    async def project(self, ident: str) -> Project | None: ...

    async def is_in(self, project: str, member: str) -> bool: ...

    async def projects_of(self, member: str) -> Sequence[str]: ...

    async def members_of(self, project: str) -> Sequence[Member]: ...

    async def ours_in(self, project: str) -> Sequence[Member]:
        """Those of its agents that we drive."""

    async def chat(self, ident: str) -> Chat | None: ...

    async def message(self, ident: str) -> Uttered | None: ...

    async def project_of_card(self, ident: str) -> str | None: ...

    async def unended(self, cards: Sequence[str]) -> Sequence[str]:
        """Those of these tasks that are neither done nor cancelled."""

    async def needing(self, card: str) -> Sequence[str]:
        """The tasks that wait for this one."""


async def speaker(desk: Desk, scope: Scope, book: Book) -> Member:
    """The member that is asking. A person who was none becomes one, under the name of their account."""
    if agent_of(scope.actor) is not None:
        return await _agent(scope, book)
    for _ in range(TRIES):
        known_by = await desk.log.look(handle_stream(scope.tenant, "account", scope.actor))
        known = await book.by_account(scope.actor)
        if known is not None:
            return known
        await _enrolled(desk, scope, book, 0 if known_by is None else known_by.head)
    raise Conflict("The members change too quickly; try again.", code="busy")


async def looker(scope: Scope, book: Book) -> Member:
    """Whoever only looks. A person who looks at the board need not be a member of it."""
    if agent_of(scope.actor) is not None:
        return await _agent(scope, book)
    return await book.by_account(scope.actor) or Member("", "human", "", "", LISTENING_PERSON, scope.actor)


async def _agent(scope: Scope, book: Book) -> Member:
    found = await book.member(agent_of(scope.actor) or "")
    if found is None or found.removed:
        raise NotAllowed("You are not a member any more.", code="member_removed")
    return found


async def _enrolled(desk: Desk, scope: Scope, book: Book, head: int) -> None:
    """Of several requests of one person at once, one makes the member: the account stands as it was looked at."""
    account, ident = handle_stream(scope.tenant, "account", scope.actor), desk.ids.mint()
    name = await book.account_name(scope.actor) or scope.actor.partition(":")[2]
    slug = slug_of(name, ident, "person")
    if await book.by_slug(slug) is not None:
        slug = f"{slug}-{ident.replace('-', '')[-8:]}"
    handle = handle_stream(scope.tenant, "member", slug)
    state = await desk.log.look(handle)
    added = MemberAdded("human", name, slug, LISTENING_PERSON, scope.actor)
    taken = HandleTaken(ident)
    with contextlib.suppress(Moved):  # somebody was quicker: look again
        await desk.log.append(
            Entry(member_stream(scope.tenant, ident), (added,), actor=scope.actor),
            Entry(handle, (taken,), actor=scope.actor, head=0 if state is None else state.head),
            Entry(account, (taken,), actor=scope.actor, head=head),
        )


def people_only(scope: Scope, what: str) -> None:
    if agent_of(scope.actor) is not None:
        raise NotAllowed(f"Only people may {what}.", code="people_only")


async def project_for(book: Book, who: Member, ident: str, *, writing: bool = False) -> Project:
    """A project that this member may see: people all of their tenant's, agents those they are in."""
    project = await book.project(ident)
    if project is None or (who.type == "agent" and not await book.is_in(ident, who.id)):
        raise NotFound("There is no such project.", code="project_not_found")
    if writing and project.archived:
        raise Conflict("The project is archived; take it back first.", code="project_archived")
    return project


async def chat_for(scope: Scope, book: Book, who: Member, ident: str, *, writing: bool = False) -> Chat:
    """A chat that this member may see. A direct one is for those it is between, and for whoever may see everything."""
    chat = await book.chat(ident)
    if chat is None or not (chat.admits(who.id) or (not writing and "*" in scope.rights)):
        raise NotFound("There is no such chat.", code="chat_not_found")
    try:
        await project_for(book, who, chat.project, writing=writing)
    except NotFound:
        raise NotFound("There is no such chat.", code="chat_not_found") from None
    return chat
