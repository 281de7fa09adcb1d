"""Events that stand in two streams: the run's, and that of the approval or the intervention they are about.

The second one decides who was first. It is written in the same transaction, and only where it still ends where the
run believes it does: of two clicks, or of a click and the end of a run, one wins and the other is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quarterdeck.engine.run import RunState
from quarterdeck.events import steering, tool
from quarterdeck.events.base import Event
from quarterdeck.kernel.ids import StreamName, approval_stream, intervention_stream
from quarterdeck.log.entries import Entry


def twins(run: StreamName, state: RunState, events: Sequence[Event], actor: str) -> tuple[Entry, ...]:
    """The entries that go in with these events of a run."""
    found: dict[StreamName, list[Event]] = {}
    for event in events:
        if (twin := _twin(run, event)) is not None:
            found.setdefault(twin[0], []).append(twin[1])
    heads = _heads(state)
    return tuple(
        Entry(stream, tuple(also), actor=actor, cause=run.key, head=heads.get(stream.key, 0))
        for stream, also in found.items()
    )


def _twin(run: StreamName, event: Event) -> tuple[StreamName, Event] | None:
    match event:
        case tool.ApprovalRequested() | tool.ApprovalDecided() | tool.PasswordRequested() | tool.PasswordGiven():
            return approval_stream(run.tenant, event.approval), event
        case tool.ToolStarted(call, str(approval)):
            return approval_stream(run.tenant, approval), tool.ApprovalConsumed(approval, call.id)
        case steering.InterventionApplied() | steering.InterventionExpired():
            return intervention_stream(run.tenant, event.intervention), event
        case _:
            return None


def _heads(state: RunState) -> Mapping[str, int]:
    approvals = {c.approval: c.version for c in state.calls if c.approval is not None}
    return {**approvals, **{wish.id: wish.version for wish in state.wishes}}
