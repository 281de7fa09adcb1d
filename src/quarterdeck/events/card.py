"""What can happen to a task of a board: told in the task's own stream and, but for renewals, in its project's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from quarterdeck.events.base import Event
from quarterdeck.kernel.board import Priority, Status, Voice

ClaimEnd = Literal["submitted", "released", "moved", "handed_over", "unassigned", "lapsed", "sent_back", "failed"]
Verdict = Literal["approved", "sent_back"]


@dataclass(frozen=True, slots=True)
class TaskOpened(Event):
    """Always event 1 of its stream."""

    KIND: ClassVar[str] = "task.opened"
    task: str
    project: str
    by: Voice
    title: str
    description: str = ""
    status: Status = "todo"
    priority: Priority = "normal"
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    reviewer: str | None = None
    mentions: tuple[str, ...] = ()
    hops: int = 0


@dataclass(frozen=True, slots=True)
class TaskEdited(Event):
    """What its text says from now on, whole."""

    KIND: ClassVar[str] = "task.edited"
    task: str
    by: Voice
    title: str
    description: str
    priority: Priority
    labels: tuple[str, ...]
    reviewer: str | None = None
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskAssigned(Event):
    """To whom it is given from now on, all of them."""

    KIND: ClassVar[str] = "task.assigned"
    task: str
    by: Voice
    assignees: tuple[str, ...]
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskLinked(Event):
    """Which tasks have to be done before it, all of them."""

    KIND: ClassVar[str] = "task.linked"
    task: str
    by: Voice
    depends_on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskMoved(Event):
    KIND: ClassVar[str] = "task.moved"
    task: str
    by: Voice
    status: Status
    before: Status


@dataclass(frozen=True, slots=True)
class TaskUnblocked(Event):
    """The last of what it waited for is done."""

    KIND: ClassVar[str] = "task.unblocked"
    task: str
    done: str


@dataclass(frozen=True, slots=True)
class TaskCommented(Event):
    """`stream` is the agent stream it is the end of. `held` says why it wakes no agent, where it would have."""

    KIND: ClassVar[str] = "task.commented"
    task: str
    comment: str
    by: Voice
    content: str
    mentions: tuple[str, ...] = ()
    hops: int = 0
    held: str | None = None
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class TaskClaimed(Event):
    """A member works on it until then, unless it is renewed."""

    KIND: ClassVar[str] = "task.claimed"
    task: str
    by: Voice
    until: float


@dataclass(frozen=True, slots=True)
class TaskClaimRenewed(Event):
    KIND: ClassVar[str] = "task.claim_renewed"
    task: str
    by: Voice
    until: float


@dataclass(frozen=True, slots=True)
class TaskClaimEnded(Event):
    KIND: ClassVar[str] = "task.claim_ended"
    task: str
    member: str
    why: ClaimEnd


@dataclass(frozen=True, slots=True)
class TaskSubmitted(Event):
    KIND: ClassVar[str] = "task.submitted"
    task: str
    by: Voice
    summary: str
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class TaskReviewed(Event):
    KIND: ClassVar[str] = "task.reviewed"
    task: str
    by: Voice
    verdict: Verdict
    words: str = ""


@dataclass(frozen=True, slots=True)
class TaskHandedOver(Event):
    KIND: ClassVar[str] = "task.handed_over"
    task: str
    by: Voice
    giver: str
    taker: str
    words: str = ""
