"""How far a look back at a run has come: a fold of its events, nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace

from quarterdeck.events import after as ev
from quarterdeck.events.base import Erased, Event


@dataclass(frozen=True, slots=True)
class AfterState:
    requested: ev.AfterRequested | None = None
    epoch: int = 0
    holder: str | None = None
    crashes: int = 0
    done: frozenset[ev.AfterRole] = frozenset()
    finished: bool = False


def evolve(state: AfterState, event: Event) -> AfterState:
    """The state after one more event. Total: an unknown event changes nothing."""
    match event:
        case ev.AfterRequested():
            return replace(state, requested=event)
        case ev.AfterClaimed(worker, epoch):
            return replace(_taken_over(state, worker), epoch=epoch, holder=worker)
        case ev.AfterReleased():
            return replace(state, holder=None)
        case ev.MemoryPolicyDecided() | Erased(ev.MemoryPolicyDecided.KIND):
            return _done(state, "memory_policy")
        case ev.ReflectionCompleted() | Erased(ev.ReflectionCompleted.KIND):
            return _done(state, "critic")
        case ev.RoleFailed(role):
            return _done(state, role)
        case ev.AfterFinished():
            return replace(state, finished=True)
        case _:
            return state


def _done(state: AfterState, role: ev.AfterRole) -> AfterState:
    return replace(state, done=state.done | {role}, crashes=0)


def _taken_over(state: AfterState, worker: str) -> AfterState:
    """From a worker that did not let go. Only where its whole process is gone does that count as a crash."""
    if state.holder is None or worker.partition(".")[0] == state.holder.partition(".")[0]:
        return state
    return replace(state, crashes=state.crashes + 1)
