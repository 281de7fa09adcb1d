"""What of a project concerns an outside agent, by how it listens; and how far it has come with that."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from quarterdeck.engine.board.listening import hears_chat, hears_task
from quarterdeck.engine.board.people import Member
from quarterdeck.events import card
from quarterdeck.events.base import Event
from quarterdeck.events.project import MemberJoined, MemberLeft, MessagePosted

Why = Literal["mention", "message", "assignment", "comment", "sent_back", "unblocked", "task"]

_TASKS = (
    card.TaskOpened,
    card.TaskEdited,
    card.TaskAssigned,
    card.TaskMoved,
    card.TaskUnblocked,
    card.TaskCommented,
    card.TaskSubmitted,
    card.TaskReviewed,
    card.TaskHandedOver,
)
KINDS = frozenset(kind.KIND for kind in (MessagePosted, MemberJoined, MemberLeft, *_TASKS))


@dataclass(frozen=True, slots=True)
class Around:
    """What is not in the event: whether the member has the task; and who is in the chat, where it is a direct one."""

    assigned: bool = False
    direct: frozenset[str] | None = None


def due(me: Member, event: Event, around: Around) -> Why | None:
    """Why a member is to hear of this; None where it is not."""
    if isinstance(event, MessagePosted):
        return _message(me, event, around)
    return _task(me, event, around) if isinstance(event, _TASKS) else None


def _message(me: Member, event: MessagePosted, around: Around) -> Why | None:
    if around.direct is not None and me.id not in around.direct:
        return None
    direct = around.direct is not None
    if not hears_chat(me, event.by.member, mentions=event.mentions, direct=direct):
        return None
    return "mention" if me.id in event.mentions else "message"


def _task(me: Member, event: Event, around: Around) -> Why | None:
    by = getattr(event, "by", None)
    assigned = around.assigned or me.id in getattr(event, "assignees", ())
    mentioned = me.id in getattr(event, "mentions", ())
    if not hears_task(me, "" if by is None else by.member, assigned=assigned, mentioned=mentioned):
        return None
    match event:
        case card.TaskOpened(assignees=given) | card.TaskAssigned(added=given) if me.id in given:
            return "assignment"
        case card.TaskReviewed(verdict="sent_back") if assigned:
            return "sent_back"
        case card.TaskUnblocked() if assigned:
            return "unblocked"
        case card.TaskCommented():
            return "mention" if mentioned else "comment"
        case _:
            return "mention" if mentioned else "task"


@dataclass(frozen=True, slots=True)
class Handled:
    """Everything up to `floor` is done with, and of what is above, these places."""

    floor: int = 0
    above: frozenset[int] = frozenset()


def handled(known: Handled, seqs: Collection[int], out: Collection[int], read: int) -> Handled:
    """The same once these are done with, while those are out and everything up to `read` was looked at."""
    floor = max(known.floor, min(out) - 1 if out else read)
    above = frozenset(seq for seq in (*known.above, *seqs) if seq > floor)
    return Handled(floor, above)
