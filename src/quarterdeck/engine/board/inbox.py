"""A member's inbox: what waits for it, what it has in hand, and what is next."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from quarterdeck.events import card
from quarterdeck.events import inbox as ev
from quarterdeck.events.base import Event

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Inbox:
    """`waiting` in the order they came; `working` by wake-up, with its run; `claims` by task, till when. `epoch` counts
    how often it was claimed."""

    epoch: int = 0
    waiting: tuple[ev.WakeQueued, ...] = ()
    working: Mapping[str, str] = field(default_factory=dict)
    begun: Mapping[str, ev.WakeQueued] = field(default_factory=dict)
    claims: Mapping[str, float] = field(default_factory=dict)

    @property
    def idle(self) -> bool:
        return not self.waiting and not self.working


def evolve(box: Inbox, event: Event) -> Inbox:
    match event:
        case ev.InboxClaimed(_, epoch):
            return replace(box, epoch=epoch)
        case ev.WakeQueued():
            return replace(box, waiting=(*box.waiting, event))
        case ev.WakeTaken(wake, run):
            found = {each.wake: each for each in box.waiting if each.wake == wake}
            rest = tuple(each for each in box.waiting if each.wake != wake)
            return replace(box, waiting=rest, working={**box.working, wake: run}, begun={**box.begun, **found})
        case ev.WakeEnded(wake):
            rest = tuple(each for each in box.waiting if each.wake != wake)
            return replace(box, waiting=rest, working=_without(box.working, wake), begun=_without(box.begun, wake))
        case card.TaskClaimed(task, _, until) | card.TaskClaimRenewed(task, _, until):
            return replace(box, claims={**box.claims, task: until})
        case card.TaskClaimEnded(task):
            return replace(box, claims=_without(box.claims, task))
        case _:
            return box


def in_hand(box: Inbox, now: float) -> int:
    """Claims that have not run out."""
    return sum(until > now for until in box.claims.values())


def next_up(box: Inbox, most: int, later: Collection[str] = ()) -> ev.WakeQueued | None:
    """What to begin with, where there is room: in the order it came, but nothing on a task or in a chat that is being
    worked on already, so that one answer follows another; and nothing that was put off till later."""
    if len(box.working) >= most:
        return None
    busy = {_place(each) for each in box.begun.values()}
    return next((each for each in box.waiting if _place(each) not in busy and each.wake not in later), None)


def _place(wake: ev.WakeQueued) -> str | None:
    return wake.task or wake.chat


def _without(known: Mapping[str, T], key: str) -> dict[str, T]:
    return {name: value for name, value in known.items() if name != key}
