"""What was said to be heeded after an answer: it begins the next run, in the transaction that ends this one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quarterdeck.engine.run import Finish, RunState
from quarterdeck.events.base import Event
from quarterdeck.events.steering import InterventionApplied
from quarterdeck.events.talk import MessageAdded
from quarterdeck.kernel.ids import RunId, StreamName, run_stream
from quarterdeck.log.entries import Entry
from quarterdeck.ports import Ids


def successor(
    finish: Finish, state: RunState, run: StreamName, ids: Ids, actor: str
) -> tuple[tuple[InterventionApplied, ...], tuple[Event, ...], tuple[Entry, ...]]:
    """Who is heeded, what is said in the conversation, and the run that begins. Several make one message."""
    queued = [wish for wish in state.wishes if wish.mode == "queue"]
    if finish.outcome != "completed" or not queued or state.requested is None:
        return (), (), ()
    task = RunId(ids.mint())
    message = "\n\n".join(wish.text for wish in queued)
    requested = replace(state.requested, message=message)
    heeded = tuple(InterventionApplied(wish.id, state.attempts + 1, task) for wish in queued)
    begun = Entry(run_stream(run.tenant, task), (requested,), actor=actor, cause=run.key)
    return heeded, (MessageAdded("user", message, task),), (begun,)


def without(state: RunState, heeded: Sequence[InterventionApplied]) -> RunState:
    """The run with only those wishes open that nobody has heeded."""
    done = {event.intervention for event in heeded}
    return state._replace(wishes=tuple(wish for wish in state.wishes if wish.id not in done))
