"""What is said: messages in chats, comments on tasks; whom it mentions, and which of our agents it wakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from quarterdeck.actions.board.book import TRIES, Book, chat_for, looker, speaker
from quarterdeck.actions.board.cards import card_for, named, told
from quarterdeck.actions.desk import Desk
from quarterdeck.actions.memory import once_only
from quarterdeck.engine.board import listening
from quarterdeck.engine.board.card import Card, may_speak
from quarterdeck.engine.board.listening import Said
from quarterdeck.engine.board.people import Chat, Member
from quarterdeck.events.card import TaskCommented
from quarterdeck.events.inbox import WakeQueued
from quarterdeck.events.project import MessagePosted
from quarterdeck.kernel.board import Reason
from quarterdeck.kernel.errors import Conflict, Invalid, Moved
from quarterdeck.kernel.ids import inbox_stream, project_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.ports import Once

LONGEST_MESSAGE = 100_000


@dataclass(frozen=True, slots=True)
class Words:
    """Something to say. `hops` is None for what somebody says of their own accord: then it is counted here. `stream` is
    the agent stream that it is the end of. What is `quiet` wakes nobody."""

    content: str
    reply_to: str | None = None
    hops: int | None = None
    stream: str | None = None
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Uttering:
    """What has to be appended, all of it or nothing, so that something is said. `id` is its message or comment."""

    id: str
    event: MessagePosted | TaskCommented
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Trigger:
    """Whom words would reach: `hears` is told them, and `wakes` is why an agent would set to work, if it would."""

    member: Member
    hears: bool
    wakes: Reason | None


async def post_message(
    desk: Desk, scope: Scope, book: Book, chat: str, words: Words, *, key: str | None = None, body: bytes = b""
) -> str:
    """The message's id, once it is durable; and whom it wakes is durable with it."""
    who = await speaker(desk, scope, book)
    uttering = await in_chat(desk, scope, book, who, chat, words)
    once = _once(scope, f"post_message\n{chat}", key, body, uttering.id)
    appended = await desk.log.append(*uttering.entries, once=once)
    return uttering.id if appended.answer is None else str(orjson.loads(appended.answer)["id"])


async def comment(
    desk: Desk, scope: Scope, book: Book, task: str, words: Words, *, key: str | None = None, body: bytes = b""
) -> str:
    who = await speaker(desk, scope, book)
    for _ in range(TRIES):
        uttering = await on_task(desk, scope, book, who, task, words)
        once = _once(scope, f"comment\n{task}", key, body, uttering.id)
        try:
            appended = await desk.log.append(*uttering.entries, once=once)
        except Moved:
            continue
        return uttering.id if appended.answer is None else str(orjson.loads(appended.answer)["id"])
    raise Conflict("The task changes too quickly; try again.", code="busy")


async def in_chat(desk: Desk, scope: Scope, book: Book, who: Member, ident: str, words: Words) -> Uttering:
    """A message of this member, whoever carries it in: a request, the end of a stream, the end of a run."""
    chat = await chat_for(scope, book, who, ident, writing=True)
    content = checked_words(words.content)
    answered = None if words.reply_to is None else await book.message(words.reply_to)
    if words.reply_to is not None and (answered is None or answered.chat != chat.id):
        raise Invalid("`reply_to` is no message of this chat.", code="unknown_message")
    hops = words.hops if words.hops is not None else 1 + (0 if answered is None else answered.hops)
    mentions = await named(book, chat.project, content)
    said = Said(who.voice, mentions, 0 if who.type == "human" else hops, chat.turns)
    waking = _woken(await book.ours_in(chat.project), said, chat)
    held = "quiet" if words.quiet else listening.held(said)
    message = desk.ids.mint()
    event = MessagePosted(
        message,
        chat.id,
        who.voice,
        content,
        mentions,
        words.reply_to,
        said.hops,
        held if waking else None,
        words.stream,
    )
    wakes = (
        ()
        if held
        else tuple(
            WakeQueued(desk.ids.mint(), chat.project, why, content, who.slug, chat.id, None, message, said.hops)
            for _, why in waking
        )
    )
    own = Entry(project_stream(scope.tenant, chat.project), (event,), actor=scope.actor, cause=words.stream)
    queued = [
        Entry(inbox_stream(scope.tenant, member.id), (wake,), actor=scope.actor, cause=message)
        for (member, _), wake in zip(waking, wakes, strict=False)
    ]
    return Uttering(message, event, (own, *queued))


async def on_task(desk: Desk, scope: Scope, book: Book, who: Member, ident: str, words: Words) -> Uttering:
    """A comment of this member. It goes in only where the task is as it was looked at."""
    card = await card_for(desk, book, who, ident, writing=True)
    may_speak(card, who.voice)
    content = checked_words(words.content)
    hops = words.hops if words.hops is not None else card.hops + 1
    mentions = await named(book, card.project, content)
    said = Said(who.voice, mentions, 0 if who.type == "human" else hops, card.turns)
    waking = _woken_on(await book.ours_in(card.project), said, card)
    held = "quiet" if words.quiet else listening.held(said)
    ident_of_it = desk.ids.mint()
    event = TaskCommented(
        card.id, ident_of_it, who.voice, content, mentions, said.hops, held if waking else None, words.stream
    )
    queued = (
        ()
        if held
        else tuple(
            Entry(
                inbox_stream(scope.tenant, member.id),
                (
                    WakeQueued(
                        desk.ids.mint(), card.project, why, content, who.slug, None, card.id, ident_of_it, said.hops
                    ),
                ),
                actor=scope.actor,
                cause=ident_of_it,
            )
            for member, why in waking
        )
    )
    return Uttering(ident_of_it, event, (*told(scope, card, (event,)), *queued))


async def chat_triggers(scope: Scope, book: Book, chat: str, content: str) -> tuple[list[Trigger], str | None]:
    """Whom this would reach if it were said now, and why it would wake nobody, if so."""
    who = await looker(scope, book)
    known = await chat_for(scope, book, who, chat)
    mentions = await named(book, known.project, content)
    said = Said(who.voice, mentions, 0 if who.type == "human" else 1, known.turns)
    members = [each for each in await book.members_of(known.project) if known.admits(each.id)]
    held, direct = listening.held(said), known.kind == "direct"
    found = [
        Trigger(
            each,
            listening.hears_chat(each, who.id, mentions=mentions, direct=direct),
            None if held else listening.woken_by_message(each, said, direct=direct),
        )
        for each in members
    ]
    return [each for each in found if each.hears or each.wakes], held


async def task_triggers(
    desk: Desk, scope: Scope, book: Book, task: str, content: str
) -> tuple[list[Trigger], str | None]:
    who = await looker(scope, book)
    card = await card_for(desk, book, who, task)
    mentions = await named(book, card.project, content)
    said = Said(who.voice, mentions, 0 if who.type == "human" else card.hops + 1, card.turns)
    held = listening.held(said)
    found = [
        Trigger(
            each,
            listening.hears_task(each, who.id, assigned=each.id in card.assignees, mentioned=each.id in mentions),
            None if held else listening.woken_by_comment(each, said, assigned=each.id in card.assignees),
        )
        for each in await book.members_of(card.project)
    ]
    return [each for each in found if each.hears or each.wakes], held


def _woken(ours: Sequence[Member], said: Said, chat: Chat) -> list[tuple[Member, Reason]]:
    direct = chat.kind == "direct"
    found = [(each, listening.woken_by_message(each, said, direct=direct)) for each in ours if chat.admits(each.id)]
    return [(each, why) for each, why in found if why is not None]


def _woken_on(ours: Sequence[Member], said: Said, card: Card) -> list[tuple[Member, Reason]]:
    found = [(each, listening.woken_by_comment(each, said, assigned=each.id in card.assignees)) for each in ours]
    return [(each, why) for each, why in found if why is not None]


def checked_words(content: str) -> str:
    if not content.strip():
        raise Invalid("There is nothing in it; say something in `content`.", code="content_empty")
    if len(content) > LONGEST_MESSAGE:
        raise Invalid(f"The text is longer than {LONGEST_MESSAGE:,} characters.", code="text_too_long")
    return content


def _once(scope: Scope, route: str, key: str | None, body: bytes, ident: str) -> Once | None:
    return once_only(scope, route, key, body, {"id": ident})
