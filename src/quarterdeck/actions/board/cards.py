"""Tasks of a board: open, edit, assign, link, move. Each step goes in only where the task is as it was looked at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import orjson

from quarterdeck.actions.board.book import TRIES, Book, project_for, speaker
from quarterdeck.actions.board.members import resolved
from quarterdeck.actions.board.projects import checked_text
from quarterdeck.actions.desk import Desk
from quarterdeck.actions.memory import once_only
from quarterdeck.actions.tenants import checked_title
from quarterdeck.engine.board import card as rules
from quarterdeck.engine.board import graph
from quarterdeck.engine.board.card import Card
from quarterdeck.engine.board.listening import Said, held, woken_by_assignment
from quarterdeck.engine.board.mentions import mentioned
from quarterdeck.engine.board.people import Member
from quarterdeck.events.base import Event
from quarterdeck.events.card import (
    ClaimEnd,
    TaskAssigned,
    TaskClaimed,
    TaskClaimEnded,
    TaskClaimRenewed,
    TaskEdited,
    TaskLinked,
    TaskMoved,
    TaskOpened,
    TaskUnblocked,
)
from quarterdeck.events.inbox import WakeQueued
from quarterdeck.kernel.board import Priority, Reason, Status
from quarterdeck.kernel.errors import Conflict, Invalid, Moved, NotFound
from quarterdeck.kernel.ids import card_stream, inbox_stream, plan_stream, project_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.fold import Fold

LONGEST_TITLE = 300
MOST_LABELS = 50
MOST_LINKS = 100
MOST_ASSIGNEES = 50


@dataclass(frozen=True, slots=True)
class NewTask:
    """Members by id or slug. `hops` counts the agents in the chain that led to it."""

    title: str
    description: str = ""
    status: Status = "todo"
    priority: Priority = "normal"
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    reviewer: str | None = None
    hops: int = 0


@dataclass(frozen=True, slots=True)
class TaskEdit:
    """What is None stays as it is. `reviewer` is taken away by an empty text."""

    title: str | None = None
    description: str | None = None
    priority: Priority | None = None
    labels: tuple[str, ...] | None = None
    reviewer: str | None = None


# A step: given the task as it stands, what is to be appended; nothing where it has been done already.
Step = Callable[[Card], Awaitable[Sequence[Entry]]]


async def stepped(desk: Desk, book: Book, who: Member, ident: str, step: Step) -> Card:
    """Take a step from how the task stands, unless it stood otherwise in the meantime: then look again."""
    for _ in range(TRIES):
        card = await card_for(desk, book, who, ident, writing=True)
        entries = await step(card)
        if not entries:
            return card
        try:
            await desk.log.append(*entries)
        except Moved:
            continue
        return card
    raise Conflict("The task changes too quickly; try again.", code="busy")


async def card_for(desk: Desk, book: Book, who: Member, ident: str, *, writing: bool = False) -> Card:
    """A task of a project that this member may see."""
    project = await book.project_of_card(ident)
    unknown = NotFound("There is no such task.", code="task_not_found")
    if project is None:
        raise unknown
    try:
        await project_for(book, who, project, writing=writing)
    except NotFound:
        raise unknown from None
    return await Fold(desk.log, card_stream(book.tenant, ident), Card(), rules.evolve).catch_up()


async def open_task(
    desk: Desk, scope: Scope, book: Book, project: str, wish: NewTask, *, key: str | None = None, body: bytes = b""
) -> str:
    """The task's id, once it is durable; whoever it wakes is woken in the same transaction."""
    who = await speaker(desk, scope, book)
    await project_for(book, who, project, writing=True)
    ident = desk.ids.mint()
    if wish.status not in {"backlog", "todo"}:
        raise Invalid("A new task begins in `backlog` or `todo`.", code="bad_move")
    given = await _in_project(book, project, wish.assignees)
    reviewer = None if not wish.reviewer else (await _in_project(book, project, [wish.reviewer]))[0].id
    depends_on = await _needed(book, project, wish.depends_on)
    title, text = checked_title(wish.title, "title"), checked_text(wish.description)
    event = TaskOpened(
        ident,
        project,
        who.voice,
        title,
        text,
        wish.status,
        wish.priority,
        checked_labels(wish.labels),
        tuple(each.id for each in given),
        depends_on,
        reviewer,
        await named(book, project, f"{title}\n{text}"),
        wish.hops,
    )
    card = rules.evolve(Card(), event)
    own = told(scope, card, (event,), head=0)
    plan = [Entry(plan_stream(scope.tenant, project), (TaskLinked(ident, who.voice, depends_on),), actor=scope.actor)]
    wakes = await woken_by_giving(desk, scope, book, who, card, given)
    once = once_only(scope, f"open_task\n{project}", key, body, {"id": ident})
    appended = await desk.log.append(*own, *(plan if depends_on else []), *wakes, once=once)
    return ident if appended.answer is None else str(orjson.loads(appended.answer)["id"])


async def edit_task(desk: Desk, scope: Scope, book: Book, ident: str, edit: TaskEdit) -> None:
    who = await speaker(desk, scope, book)
    if edit == TaskEdit():
        raise Invalid("There is nothing to change; name what should.", code="nothing_to_change")

    async def step(card: Card) -> Sequence[Entry]:
        rules.may_change(card, who.voice)
        title = card.title if edit.title is None else checked_title(edit.title, "title")
        text = card.description if edit.description is None else checked_text(edit.description)
        reviewer = card.reviewer
        if edit.reviewer is not None:
            reviewer = (await _in_project(book, card.project, [edit.reviewer]))[0].id if edit.reviewer else None
        event = TaskEdited(
            ident,
            who.voice,
            title,
            text,
            edit.priority or card.priority,
            card.labels if edit.labels is None else checked_labels(edit.labels),
            reviewer,
            await named(book, card.project, f"{title}\n{text}"),
        )
        return told(scope, card, (event,))

    await stepped(desk, book, who, ident, step)


async def assign(desk: Desk, scope: Scope, book: Book, ident: str, names: Sequence[str]) -> None:
    """Give the task to these members and nobody else. Whoever is new to it is woken; who had it in hand lets go."""
    who = await speaker(desk, scope, book)

    async def step(card: Card) -> Sequence[Entry]:
        rules.may_change(card, who.voice)
        given = await _in_project(book, card.project, names)
        ids = tuple(each.id for each in given)
        added = tuple(each for each in ids if each not in card.assignees)
        dropped = tuple(each for each in card.assignees if each not in ids)
        if not added and not dropped:
            return ()
        event = TaskAssigned(ident, who.voice, ids, added, dropped)
        woken = await woken_by_giving(desk, scope, book, who, card, [each for each in given if each.id in added])
        if card.claimed_by in dropped and card.status == "in_progress":
            return [*await moved(desk, scope, book, who, card, "todo", event, why="unassigned"), *woken]
        return [*told(scope, card, (event,)), *woken]

    await stepped(desk, book, who, ident, step)


async def link(desk: Desk, scope: Scope, book: Book, ident: str, needs: Sequence[str]) -> None:
    """These tasks, and no others, have to be done first. None may come to wait for itself."""
    who = await speaker(desk, scope, book)

    async def step(card: Card) -> Sequence[Entry]:
        rules.may_change(card, who.voice)
        depends_on = await _needed(book, card.project, needs)
        if depends_on == card.depends_on:
            return ()
        fold = Fold(desk.log, plan_stream(scope.tenant, card.project), graph.Plan(), graph.evolve)
        if way := graph.cycle(await fold.catch_up(), ident, depends_on):
            raise Conflict("Then these tasks would wait for each other.", code="cycle", extra={"cycle": list(way)})
        event = TaskLinked(ident, who.voice, depends_on)
        plan = Entry(plan_stream(scope.tenant, card.project), (event,), actor=scope.actor, head=fold.seq)
        return [*told(scope, card, (event,)), plan]

    await stepped(desk, book, who, ident, step)


async def move(desk: Desk, scope: Scope, book: Book, ident: str, status: Status) -> None:
    who = await speaker(desk, scope, book)

    async def step(card: Card) -> Sequence[Entry]:
        if status == card.status:
            return ()
        rules.check_move(card, who.voice, status, blocked=bool(await book.unended(card.depends_on)))
        return await moved(desk, scope, book, who, card, status)

    await stepped(desk, book, who, ident, step)


async def moved(
    desk: Desk,
    scope: Scope,
    book: Book,
    who: Member,
    card: Card,
    status: Status,
    *before: Event,
    why: ClaimEnd = "moved",
) -> list[Entry]:
    """A move and all that follows from it: a claim that ends, those who are woken, tasks that waited for this one."""
    ending = let_go(card, why) if status != "in_progress" else []
    events = (*before, TaskMoved(card.id, who.voice, status, card.status), *ending)
    after = rules.evolve(card, events[len(before)])
    entries = list(told(scope, card, events))
    if status in rules.ENDED or card.status in rules.ENDED:
        entries += await _let_through(desk, scope, book, who, after)
    if status == "todo" and why == "moved":
        entries += await woken_by_giving(desk, scope, book, who, after, await _assigned(book, card))
    return entries


def let_go(card: Card, why: ClaimEnd) -> list[Event]:
    return [] if card.claimed_by is None else [TaskClaimEnded(card.id, card.claimed_by, why)]


async def _let_through(desk: Desk, scope: Scope, book: Book, who: Member, card: Card) -> list[Entry]:
    """The plan is told, so that of two tasks that are done at once the second one sees the first."""
    plan = plan_stream(scope.tenant, card.project)
    state = await desk.log.look(plan)
    event = TaskMoved(card.id, who.voice, card.status, card.status)
    entries = [Entry(plan, (event,), actor=scope.actor, head=0 if state is None else state.head)]
    if card.status not in rules.ENDED:
        return entries
    for waiting in await book.needing(card.id):
        other = await Fold(desk.log, card_stream(scope.tenant, waiting), Card(), rules.evolve).catch_up()
        if set(await book.unended(other.depends_on)) - {card.id} or other.status in rules.ENDED:
            continue
        entries += told(scope, other, (TaskUnblocked(waiting, card.id),))
        given = await _assigned(book, other)
        entries += wakes(desk, scope, other, [(each, "unblocked", "") for each in given if _wakes(each, other)], who)
    return entries


def _wakes(member: Member, card: Card) -> bool:
    return member.ours and card.status in rules.WAKING and member.config.task_listen != "none"


async def woken_by_giving(
    desk: Desk, scope: Scope, book: Book, who: Member, card: Card, given: Sequence[Member], words: str = ""
) -> list[Entry]:
    """Those of our agents that set to work because the task is theirs now, unless it has to wait."""
    said = Said(who.voice, (), 0 if who.type == "human" else card.hops + 1, card.turns)
    if card.status not in rules.WAKING or held(said) or await book.unended(card.depends_on):
        return []
    found: list[tuple[Member, Reason, str]] = [
        (each, "assignment", words) for each in given if each.ours and woken_by_assignment(each, said)
    ]
    return wakes(desk, scope, card, found, who)


def wakes(
    desk: Desk, scope: Scope, card: Card, found: Sequence[tuple[Member, Reason, str]], who: Member
) -> list[Entry]:
    hops = 0 if who.type == "human" else card.hops + 1
    queued = [
        (each, WakeQueued(desk.ids.mint(), card.project, why, words, who.slug, None, card.id, None, hops))
        for each, why, words in found
    ]
    return [
        Entry(inbox_stream(scope.tenant, each.id), (wake,), actor=scope.actor, cause=card.id) for each, wake in queued
    ]


def told(scope: Scope, card: Card, events: Sequence[Event], head: int | None = None) -> tuple[Entry, ...]:
    """In the task's own stream, where it is as it was looked at; in its project; and claims in the member's inbox."""
    own = Entry(
        card_stream(scope.tenant, card.id),
        tuple(events),
        actor=scope.actor,
        head=card.version if head is None else head,
    )
    shown = tuple(event for event in events if not isinstance(event, TaskClaimRenewed))
    project = (Entry(project_stream(scope.tenant, card.project), shown, actor=scope.actor),) if shown else ()
    return (own, *project, *(_in_inbox(scope, event) for event in events if isinstance(event, _CLAIMS)))


_CLAIMS = (TaskClaimed, TaskClaimRenewed, TaskClaimEnded)


def _in_inbox(scope: Scope, event: Event) -> Entry:
    assert isinstance(event, _CLAIMS)
    member = event.member if isinstance(event, TaskClaimEnded) else event.by.member
    return Entry(inbox_stream(scope.tenant, member), (event,), actor=scope.actor)


async def _assigned(book: Book, card: Card) -> list[Member]:
    return [each for each in [await book.member(ident) for ident in card.assignees] if each is not None]


async def _in_project(book: Book, project: str, names: Sequence[str]) -> list[Member]:
    if len(names) > MOST_ASSIGNEES:
        raise Invalid(f"A task has {MOST_ASSIGNEES} assignees at most.", code="too_many_members")
    found = await resolved(book, names)
    for each in found:
        if not await book.is_in(project, each.id):
            raise Invalid(f"{each.slug} is not in the project; add them first.", code="not_in_project")
    return found


async def _needed(book: Book, project: str, needs: Sequence[str]) -> tuple[str, ...]:
    if len(needs) > MOST_LINKS:
        raise Invalid(f"A task waits for {MOST_LINKS} others at most.", code="too_many_links")
    for each in needs:
        if await book.project_of_card(each) != project:
            raise Invalid("One of the tasks in `depends_on` is not in this project.", code="unknown_task")
    return tuple(dict.fromkeys(needs))


async def named(book: Book, project: str, text: str) -> tuple[str, ...]:
    found = [await book.by_slug(slug) for slug in mentioned(text)]
    return tuple([each.id for each in found if each is not None and await book.is_in(project, each.id)])


def checked_labels(labels: Sequence[str]) -> tuple[str, ...]:
    if len(labels) > MOST_LABELS:
        raise Invalid(f"A task has {MOST_LABELS} labels at most.", code="too_many_labels")
    return tuple(dict.fromkeys(checked_title(label, "labels") for label in labels))
