"""Work on a task: claim, say that one still works, let go, submit, review, hand over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quarterdeck.actions.board.book import Book, speaker
from quarterdeck.actions.board.cards import let_go, moved, stepped, told, wakes, woken_by_giving
from quarterdeck.actions.board.members import resolved
from quarterdeck.actions.board.speech import LONGEST_MESSAGE
from quarterdeck.actions.desk import Desk
from quarterdeck.engine.board import card as rules
from quarterdeck.engine.board import inbox
from quarterdeck.engine.board.card import LEASE_S, Card
from quarterdeck.engine.board.inbox import Inbox
from quarterdeck.engine.board.people import Member
from quarterdeck.events.base import Event
from quarterdeck.events.card import (
    TaskAssigned,
    TaskClaimed,
    TaskClaimRenewed,
    TaskHandedOver,
    TaskMoved,
    TaskReviewed,
    TaskSubmitted,
    Verdict,
)
from quarterdeck.kernel.errors import Invalid
from quarterdeck.kernel.ids import inbox_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.fold import Fold


async def claim(desk: Desk, scope: Scope, book: Book, ident: str) -> float:
    """Take the task in hand; returns until when, unless that is renewed. To claim it again renews it."""
    who = await speaker(desk, scope, book)
    until = 0.0

    async def step(card: Card) -> Sequence[Entry]:
        nonlocal until
        now = desk.clock.now()
        until = now + LEASE_S
        if who.id in card.assignees and card.has(who.id, now):
            return told(scope, card, (TaskClaimRenewed(ident, who.voice, until),))
        return await claiming(desk, scope, book, who, card, until)

    await stepped(desk, book, who, ident, step)
    return until


async def claiming(desk: Desk, scope: Scope, book: Book, who: Member, card: Card, until: float) -> tuple[Entry, ...]:
    """What is appended so that this member has the task in hand. Of two claims of one member at once the second one is
    counted with the first."""
    now = desk.clock.now()
    fold = Fold(desk.log, inbox_stream(scope.tenant, who.id), Inbox(), inbox.evolve)
    in_hand = inbox.in_hand(await fold.catch_up(), now)
    blocked = bool(await book.unended(card.depends_on))
    rules.check_claim(card, who.voice, now, blocked=blocked, in_hand=in_hand, most=who.config.max_concurrent_tasks)
    lapsed = let_go(card, "lapsed")
    begun: list[Event] = [TaskClaimed(card.id, who.voice, until)]
    if card.status != "in_progress":
        begun.append(TaskMoved(card.id, who.voice, "in_progress", card.status))
    entries = told(scope, card, (*lapsed, *begun))
    own = next(each for each in entries if each.stream == fold.name)
    return tuple(replace(each, head=fold.seq) if each is own else each for each in entries)


async def heartbeat(desk: Desk, scope: Scope, book: Book, ident: str) -> float:
    """Still at it; returns until when the claim holds now."""
    who = await speaker(desk, scope, book)
    until = 0.0

    async def step(card: Card) -> Sequence[Entry]:
        nonlocal until
        now = desk.clock.now()
        rules.check_holds(card, who.voice, now)
        until = now + LEASE_S
        return told(scope, card, (TaskClaimRenewed(ident, who.voice, until),))

    await stepped(desk, book, who, ident, step)
    return until


async def release(desk: Desk, scope: Scope, book: Book, ident: str) -> None:
    """Let go of the task; it waits in `todo` again."""
    who = await speaker(desk, scope, book)

    async def step(card: Card) -> Sequence[Entry]:
        rules.check_holds(card, who.voice, desk.clock.now())
        return await moved(desk, scope, book, who, card, "todo", why="released")

    await stepped(desk, book, who, ident, step)


async def submit(desk: Desk, scope: Scope, book: Book, ident: str, summary: str, *, stream: str | None = None) -> None:
    """Say that it is done: from now on it waits for a review."""
    who = await speaker(desk, scope, book)

    async def step(card: Card) -> Sequence[Entry]:
        rules.check_holds(card, who.voice, desk.clock.now())
        submitted = TaskSubmitted(ident, who.voice, _words(summary), stream)
        return await moved(desk, scope, book, who, card, "in_review", submitted, why="submitted")

    await stepped(desk, book, who, ident, step)


async def review(desk: Desk, scope: Scope, book: Book, ident: str, verdict: Verdict, words: str) -> None:
    """Approve, and the task is done; or send it back with words, and whoever submitted it goes on."""
    who = await speaker(desk, scope, book)
    if verdict == "sent_back" and not words.strip():
        raise Invalid("Say in `words` what is missing, where you send work back.", code="words_missing")

    async def step(card: Card) -> Sequence[Entry]:
        rules.check_review(card, who.voice)
        reviewed = TaskReviewed(ident, who.voice, verdict, _words(words))
        if verdict == "approved":
            return await moved(desk, scope, book, who, card, "done", reviewed)
        entries = await moved(desk, scope, book, who, card, "todo", reviewed, why="sent_back")
        worker = None if card.submitted_by is None else await book.member(card.submitted_by)
        if worker is not None and worker.ours and worker.id in card.assignees:
            entries += wakes(desk, scope, card, [(worker, "sent_back", words)], who)
        return entries

    await stepped(desk, book, who, ident, step)


async def hand_over(desk: Desk, scope: Scope, book: Book, ident: str, to: str, words: str) -> None:
    """Give one's own task to another member of the project, with words for them. A person may hand over anybody's."""
    who = await speaker(desk, scope, book)
    [taker] = await resolved(book, [to])

    async def step(card: Card) -> Sequence[Entry]:
        if who.type == "agent":
            rules.may_work(card, who.voice)
        if not await book.is_in(card.project, taker.id):
            raise Invalid(f"{taker.slug} is not in the project; add them first.", code="not_in_project")
        giver = who.id if who.id in card.assignees else next(iter(card.assignees), who.id)
        if taker.id == giver:
            raise Invalid("The task is theirs already.", code="nothing_to_change")
        rest = tuple(each for each in card.assignees if each not in {giver, taker.id})
        assigned = (*rest, taker.id)
        added = () if taker.id in card.assignees else (taker.id,)
        dropped = (giver,) if giver in card.assignees else ()
        events: list[Event] = [
            TaskHandedOver(ident, who.voice, giver, taker.id, _words(words)),
            TaskAssigned(ident, who.voice, assigned, added, dropped),
        ]
        again = card.status in {"in_progress", "in_review"}
        now = replace(rules.evolve(card, events[-1]), status="todo" if again else card.status)
        woken = await woken_by_giving(desk, scope, book, who, now, [taker] if added else [], words)
        if again:
            return [*await moved(desk, scope, book, who, card, "todo", *events, why="handed_over"), *woken]
        return [*told(scope, card, events), *woken]

    await stepped(desk, book, who, ident, step)


def _words(words: str) -> str:
    if len(words) > LONGEST_MESSAGE:
        raise Invalid(f"The text is longer than {LONGEST_MESSAGE:,} characters.", code="text_too_long")
    return words
