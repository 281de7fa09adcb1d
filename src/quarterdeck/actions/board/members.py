"""Members: add, change, remove. A slug is one member's alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import orjson

from quarterdeck.actions.board.book import TRIES, Book, people_only
from quarterdeck.actions.desk import Desk
from quarterdeck.actions.memory import once_only
from quarterdeck.actions.tenants import checked_title
from quarterdeck.actions.tokens import Wanted, new_token
from quarterdeck.engine.board.people import Member
from quarterdeck.engine.board.slugs import checked_slug, slug_of
from quarterdeck.events.access import TokenRevoked
from quarterdeck.events.member import HandleFreed, HandleTaken, MemberAdded, MemberChanged, MemberRemoved
from quarterdeck.events.project import MemberLeft
from quarterdeck.kernel.board import AGENT, MemberConfig, MemberType
from quarterdeck.kernel.errors import Closed, Conflict, Invalid, Moved, NotFound
from quarterdeck.kernel.ids import StreamName, handle_stream, member_stream, project_stream, token_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log

LONGEST_PROMPT = 50_000
LONGEST_WORD = 100
MOST_WORDS = 50


@dataclass(frozen=True, slots=True)
class NewMember:
    """Without a slug one is made of the name."""

    type: MemberType
    name: str
    slug: str | None
    config: MemberConfig


@dataclass(frozen=True, slots=True)
class Added:
    """`token` is what an agent shows, told this once; None for a person, and where the very same request had added
    the member before."""

    id: str
    token: str | None = field(default=None, repr=False)


async def add_member(desk: Desk, scope: Scope, wish: NewMember, *, key: str | None = None, body: bytes = b"") -> Added:
    """Answers once the member is durable, and its token with it."""
    people_only(scope, "add members")
    ident = desk.ids.mint()
    name, config = checked_title(wish.name), checked_config(wish.type, wish.config)
    slug = slug_of(name, ident, "member") if wish.slug is None else checked_slug(wish.slug)
    once = once_only(scope, "add_member", key, body, {"id": ident})
    added = Entry(member_stream(scope.tenant, ident), (MemberAdded(wish.type, name, slug, config),), actor=scope.actor)
    issued = None if wish.type == "human" else new_token(desk, scope, token_of(ident, slug))
    tokens = () if issued is None else (issued.entry,)
    for _ in range(TRIES):
        taken, free = await take_handle(desk.log, scope, "member", slug, ident)
        try:
            appended = await desk.log.append(added, taken, *tokens, once=once)
        except Moved:
            if not free:
                raise slug_taken(slug) from None
            continue
        if appended.answer is not None:
            return Added(str(orjson.loads(appended.answer)["id"]))
        return Added(ident, None if issued is None else issued.token)
    raise slug_taken(slug)


def token_of(member: str, slug: str) -> Wanted:
    return Wanted(f"{AGENT}{member}", "agent", slug)


async def change_member(
    desk: Desk, scope: Scope, book: Book, ident: str, name: str | None, changes: dict[str, object]
) -> None:
    """What is not named stays as it is. Two changes at once both count."""
    people_only(scope, "change members")
    if name is None and not changes:
        raise Invalid("There is nothing to change; name what should.", code="nothing_to_change")
    for _ in range(TRIES):
        state = await desk.log.look(member_stream(scope.tenant, ident))
        known = await there(book, ident)
        config = checked_config(known.type, replace(known.config, **changes))  # type: ignore[arg-type]
        event = MemberChanged(known.name if name is None else checked_title(name), config)
        head = 0 if state is None else state.head
        try:
            await desk.log.append(Entry(member_stream(scope.tenant, ident), (event,), actor=scope.actor, head=head))
        except (Moved, Closed):
            continue
        return
    raise Conflict("The member changes too quickly; try again.", code="busy")


async def rotate_token(desk: Desk, scope: Scope, book: Book, ident: str, tokens: Sequence[str]) -> str:
    """A new token for an agent; those it had are no good from this moment on."""
    people_only(scope, "change tokens")
    known = await there(book, ident)
    if known.type != "agent":
        raise Conflict("Only agents have tokens of a member; people sign in.", code="no_token_for_people")
    issued = new_token(desk, scope, token_of(ident, known.slug))
    await desk.log.append(issued.entry, *_revoked(scope, tokens))
    return issued.token


def _revoked(scope: Scope, tokens: Sequence[str]) -> list[Entry]:
    return [
        Entry(token_stream(scope.tenant, token), (TokenRevoked(token, scope.actor),), actor=scope.actor)
        for token in tokens
    ]


async def remove_member(desk: Desk, scope: Scope, book: Book, ident: str, tokens: Sequence[str]) -> Member:
    """They leave every project, their slug is free, their tokens end, and what they said stays theirs."""
    people_only(scope, "remove members")
    known = await there(book, ident)
    left = [
        Entry(project_stream(scope.tenant, project), (MemberLeft(known.voice),), actor=scope.actor)
        for project in await book.projects_of(ident)
    ]
    handles = [handle_stream(scope.tenant, "member", known.slug)]
    handles += [] if known.account is None else [handle_stream(scope.tenant, "account", known.account)]
    gone = Entry(member_stream(scope.tenant, ident), (MemberRemoved(),), actor=scope.actor)
    try:
        freed = [Entry(name, (HandleFreed(ident),), actor=scope.actor) for name in handles]
        await desk.log.append(gone, *freed, *left, *_revoked(scope, tokens))
    except Closed:
        raise no_member() from None
    return known


async def there(book: Book, ident: str) -> Member:
    known = await book.member(ident)
    if known is None or known.removed:
        raise no_member()
    return known


async def resolved(book: Book, names: Sequence[str]) -> list[Member]:
    """Members by their ids or slugs, each once."""
    found: dict[str, Member] = {}
    for name in names:
        known = await book.member(name) or await book.by_slug(name)
        if known is None or known.removed:
            raise Invalid("One of the members that you name is not there.", code="unknown_member")
        found[known.id] = known
    return list(found.values())


def no_member() -> NotFound:
    return NotFound("There is no such member.", code="member_not_found")


def checked_config(kind: MemberType, config: MemberConfig) -> MemberConfig:
    """Bounded, and of one piece: only an agent is driven by us."""
    if kind == "human" and config.runtime == "built_in":
        raise Invalid("Only an agent has the runtime `built_in`.", code="bad_runtime")
    if len(config.prompt) > LONGEST_PROMPT:
        raise Invalid(f"The prompt is longer than {LONGEST_PROMPT:,} characters.", code="text_too_long")
    return replace(
        config, capabilities=_words(config.capabilities, "capabilities"), labels=_words(config.labels, "labels")
    )


def _words(words: tuple[str, ...], what: str) -> tuple[str, ...]:
    plain = tuple(dict.fromkeys(checked_title(word, what) for word in words))
    if len(plain) > MOST_WORDS or any(len(word) > LONGEST_WORD for word in plain):
        raise Invalid(f"`{what}` may be {MOST_WORDS} of at most {LONGEST_WORD} characters.", code="too_many_words")
    return plain


def slug_taken(slug: str) -> Conflict:
    return Conflict(f"The slug {slug!r} is taken; choose another.", code="slug_taken")


async def take_handle(log: Log, scope: Scope, kind: str, slug: str, owner: str) -> tuple[Entry, bool]:
    """What makes the slug this one's, and whether it looked free. One that is taken is asked for as if it were new: the
    same request made twice is answered all the same, and anybody else is refused."""
    name = handle_stream(scope.tenant, kind, slug)
    head = await _head(log, name)
    free = head % 2 == 0  # taken and freed take turns
    return Entry(name, (HandleTaken(owner),), actor=scope.actor, head=head if free else 0), free


async def _head(log: Log, name: StreamName) -> int:
    state = await log.look(name)
    return 0 if state is None else state.head
