"""A task of the board: what it is by its events, and which steps may follow. Refusals say what to do instead."""

from __future__ import annotations

from dataclasses import dataclass, replace

from quarterdeck.events import card as ev
from quarterdeck.events.base import Event
from quarterdeck.kernel.board import Priority, Status, Voice
from quarterdeck.kernel.errors import Conflict, NotAllowed

LEASE_S = 120.0
ENDED: frozenset[Status] = frozenset({"done", "cancelled"})
WAKING: frozenset[Status] = frozenset({"todo", "in_progress"})
MOVES: dict[Status, tuple[Status, ...]] = {
    "backlog": ("todo", "in_progress", "done", "cancelled"),
    "todo": ("backlog", "in_progress", "done", "cancelled"),
    "in_progress": ("backlog", "todo", "in_review", "done", "cancelled"),
    "in_review": ("todo", "in_progress", "done", "cancelled"),
    "done": ("todo", "in_progress"),
    "cancelled": ("backlog", "todo"),
}


@dataclass(frozen=True, slots=True)
class Card:
    """`voices` are those who were mentioned in it, and so may answer there. `turns` counts what agents have said since
    a person last did."""

    version: int = 0
    id: str = ""
    project: str = ""
    author: str = ""
    title: str = ""
    description: str = ""
    status: Status = "todo"
    priority: Priority = "normal"
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    reviewer: str | None = None
    depends_on: tuple[str, ...] = ()
    voices: frozenset[str] = frozenset()
    claimed_by: str | None = None
    claimed_until: float = 0.0
    submitted_by: str | None = None
    turns: int = 0
    hops: int = 0

    def has(self, member: str, now: float) -> bool:
        """Whether this member works on it at the moment."""
        return self.claimed_by == member and self.claimed_until > now

    def taken(self, now: float) -> bool:
        return self.claimed_by is not None and self.claimed_until > now


def evolve(card: Card, event: Event) -> Card:
    return _evolved(replace(card, version=card.version + event.span), event)


def _evolved(card: Card, event: Event) -> Card:  # noqa: PLR0911 - a flat match over a closed set
    match event:
        case ev.TaskOpened():
            return _opened(card, event)
        case ev.TaskEdited(_, _, title, description, priority, labels, reviewer, mentions):
            text = replace(card, title=title, description=description, priority=priority, labels=labels)
            return replace(text, reviewer=reviewer, voices=card.voices.union(mentions))
        case ev.TaskAssigned(_, _, assignees):
            return replace(card, assignees=assignees)
        case ev.TaskLinked(_, _, depends_on):
            return replace(card, depends_on=depends_on)
        case ev.TaskMoved(_, _, status):
            return replace(card, status=status)
        case ev.TaskCommented(_, _, by, _, mentions, hops):
            turns = card.turns + 1 if by.type == "agent" else 0
            return replace(card, voices=card.voices.union(mentions), turns=turns, hops=hops)
        case ev.TaskClaimed(_, by, until) | ev.TaskClaimRenewed(_, by, until):
            return replace(card, claimed_by=by.member, claimed_until=until)
        case ev.TaskClaimEnded():
            return replace(card, claimed_by=None, claimed_until=0.0)
        case ev.TaskSubmitted(_, by):
            return replace(card, submitted_by=by.member)
        case _:
            return card


def _opened(card: Card, event: ev.TaskOpened) -> Card:
    return replace(
        card,
        id=event.task,
        project=event.project,
        author=event.by.member,
        title=event.title,
        description=event.description,
        status=event.status,
        priority=event.priority,
        labels=event.labels,
        assignees=event.assignees,
        reviewer=event.reviewer,
        depends_on=event.depends_on,
        voices=frozenset(event.mentions),
        hops=event.hops,
    )


def given(card: Card, member: str) -> bool:
    """Whether the task is this member's business: it has it, made it, reviews it, or was named in it."""
    return member in card.assignees or member in {card.author, card.reviewer} or member in card.voices


def may_speak(card: Card, by: Voice) -> None:
    """People may speak on every task of a project; an agent on those that were given to it."""
    if by.type == "agent" and not given(card, by.member):
        raise _not_given()


def may_change(card: Card, by: Voice) -> None:
    """An agent changes what it made itself or has in hand."""
    if by.type == "agent" and by.member not in {*card.assignees, card.author}:
        raise _not_given()


def may_work(card: Card, by: Voice) -> None:
    """A task is worked on by whom it is assigned to."""
    if by.member in card.assignees:
        return
    if by.type == "agent":
        raise _not_given()
    raise Conflict("The task is not yours; put yourself among its `assignees` first.", code="task_not_assigned")


def _not_given() -> NotAllowed:
    return NotAllowed("This task was not given to you; somebody has to assign it first.", code="task_not_given")


def check_move(card: Card, by: Voice, status: Status, *, blocked: bool) -> None:
    """Raise where the task cannot go there from where it is, or this member may not take it there."""
    may_work(card, by) if by.type == "agent" else None
    if by.type == "agent" and status in {"done", "cancelled"}:
        raise NotAllowed("An agent submits its work for review; it does not close a task.", code="review_needed")
    if status not in MOVES[card.status]:
        way = ", ".join(MOVES[card.status])
        raise Conflict(f"A task in `{card.status}` goes on to one of {way}.", code="bad_move")
    if blocked and status in {"in_progress", "in_review", "done"}:
        raise waits()


def waits() -> Conflict:
    return Conflict("The task waits for others to be done first; see its `depends_on`.", code="task_blocked")


def check_claim(card: Card, by: Voice, now: float, *, blocked: bool, in_hand: int, most: int) -> None:
    """Raise where this member cannot begin on it now: not its own, not its time, somebody else's, or one too many."""
    may_work(card, by)
    if card.status not in WAKING:
        raise Conflict(f"A task in `{card.status}` cannot be claimed; move it to `todo` first.", code="bad_move")
    if blocked:
        raise waits()
    if card.taken(now) and card.claimed_by != by.member:
        raise Conflict("Somebody else works on this task.", code="task_claimed")
    if card.claimed_by != by.member and in_hand >= most:
        raise Conflict(
            f"You have {in_hand} tasks in hand and may have {most} at a time; finish one first.",
            code="too_many_tasks",
            extra={"in_hand": in_hand, "max_concurrent_tasks": most},
        )


def check_holds(card: Card, by: Voice, now: float) -> None:
    """Raise unless this member works on it at the moment."""
    may_work(card, by)
    if not card.has(by.member, now):
        raise Conflict("You do not have this task in hand, or not any more; claim it.", code="task_not_claimed")


def check_review(card: Card, by: Voice) -> None:
    """Only what was submitted is reviewed; an agent only as its reviewer, and never its own work."""
    if by.type == "agent" and (by.member != card.reviewer or by.member == card.submitted_by):
        raise NotAllowed("You are not the reviewer of this task.", code="not_the_reviewer")
    if card.status != "in_review":
        raise Conflict(f"There is nothing to review: the task is in `{card.status}`.", code="not_in_review")
