"""Which task waits for which, and that none waits for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from quarterdeck.events.base import Event
from quarterdeck.events.card import TaskLinked


@dataclass(frozen=True, slots=True)
class Plan:
    """By each task that waits: those it waits for."""

    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def evolve(plan: Plan, event: Event) -> Plan:
    match event:
        case TaskLinked(task, _, depends_on):
            return replace(plan, needs={**plan.needs, task: depends_on})
        case _:
            return plan


def cycle(plan: Plan, task: str, depends_on: Sequence[str]) -> tuple[str, ...]:
    """The way from the task back to itself that these dependencies would close; nothing where there is none."""
    if task in depends_on:
        return (task, task)
    came_from: dict[str, str] = dict.fromkeys(depends_on, task)
    waiting = list(depends_on)
    while waiting:
        one = waiting.pop()
        for need in plan.needs.get(one, ()):
            if need == task:
                return _way(came_from, task, one)
            if need not in came_from:
                came_from[need] = one
                waiting.append(need)
    return ()


def _way(came_from: Mapping[str, str], task: str, last: str) -> tuple[str, ...]:
    way = [task, last]
    while way[-1] != task:
        way.append(came_from[way[-1]])
    return tuple(reversed(way))
