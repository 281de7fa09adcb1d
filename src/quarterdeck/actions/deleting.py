"""Delete a conversation: what was said in it and done for it is erased for good, and the log keeps only that it was.

What its runs used stays known by number, and the audit of commands stays whole. A memory that was made of it is a
thing of its own, and is forgotten where memories are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.memory import rows_of
from quarterdeck.actions.talk import gone
from quarterdeck.events.after import AfterFinished
from quarterdeck.events.base import Event
from quarterdeck.events.run import (
    AttemptFinished,
    AttemptStarted,
    MemoryRecalled,
    MemoryUsed,
    RunClaimed,
    RunReleased,
    StageChanged,
    StopRequested,
)
from quarterdeck.events.steering import InterventionAccepted
from quarterdeck.events.talk import AnswerAskedAgain, ConversationDeleted, Counted, MessageAdded
from quarterdeck.events.tool import ApprovalRequested
from quarterdeck.kernel.errors import Closed, Conflict, Moved
from quarterdeck.kernel.ids import (
    ConversationId,
    RunId,
    StreamName,
    after_stream,
    approval_stream,
    conversation_stream,
    intervention_stream,
    run_stream,
)
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.erasing import Erasure
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of, is_erased

DELETED = "the conversation was deleted"
STOPPING_S = 15.0
TRIES = 20
# What of a run says nothing: that it was taken, how far it was, which model was asked. The memories it was told go
# where those are forgotten.
PLAIN = frozenset(
    event.KIND for event in (RunClaimed, RunReleased, StageChanged, AttemptStarted, MemoryRecalled, MemoryUsed)
)

# The keys of all looks back at a run.
Lookbacks: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]


@dataclass(slots=True)
class _Gathered:
    """All that goes with a conversation."""

    erasures: list[Erasure] = field(default_factory=list)
    counted: list[Counted] = field(default_factory=list)
    closing: list[Entry] = field(default_factory=list)


async def delete_conversation(desk: Desk, scope: Scope, conversation: str, lookbacks: Lookbacks) -> None:
    """Runs that are still at work are stopped first. When this returns, nothing of it is in any file."""
    log, name = desk.log, conversation_stream(scope.tenant, ConversationId(conversation))
    for _ in range(TRIES):
        state = await log.look(name)
        if state is None or state.closed:
            raise gone()
        runs = await _runs_of(log, name)
        await _all_ended(desk, scope, runs)
        gathered = _Gathered([await _all_of(log, name)])
        for run in runs:
            await _gather(log, gathered, run, await lookbacks(run.key), scope.actor)
        deleted = ConversationDeleted(tuple(run.key for run in runs), tuple(gathered.counted))
        last = Entry(name, (deleted,), actor=scope.actor, head=state.head)
        erasing = [erasure for erasure in gathered.erasures if erasure.places]
        try:
            await log.append(*gathered.closing, last, erasing=erasing)
        except (Moved, Closed):  # something was said, or learnt, in the meantime
            continue
        return
    raise Conflict("The conversation changes too quickly; try again.", code="busy")


async def _runs_of(log: Log, name: StreamName) -> list[StreamName]:
    found: dict[str, None] = {}
    async for row in rows_of(log, name):
        event = event_of(row)
        if isinstance(event, MessageAdded | AnswerAskedAgain) and event.run is not None:
            found[event.run] = None
    return [run_stream(name.tenant, RunId(run)) for run in found]


async def _all_ended(desk: Desk, scope: Scope, runs: Iterable[StreamName]) -> None:
    opened = [run for run in runs if (state := await desk.log.look(run)) is not None and not state.closed]
    for run in opened:
        try:
            await desk.log.append(Entry(run, (StopRequested(DELETED),), actor=scope.actor))
        except Closed:
            continue
    try:
        async with asyncio.timeout(STOPPING_S):
            for run in opened:
                await _ended(desk.log, run)
    except TimeoutError:
        raise Conflict(
            "A run of this conversation does not end; try again in a moment.", code="still_running"
        ) from None


async def _ended(log: Log, run: StreamName) -> None:
    state = await log.look(run)
    assert state is not None
    cursor = log.follow(run, state.head - 1)
    while not any(event_of(row).TERMINAL for row in await cursor.rows()):
        pass


async def _gather(log: Log, gathered: _Gathered, run: StreamName, lookbacks: Iterable[str], actor: str) -> None:
    state = await log.look(run)
    if state is None:
        return
    if state.floor:  # what was trimmed left a snapshot of itself
        await log.trim(run, state.head, b"{}")
        return
    places: list[int] = []
    streams: list[StreamName] = []
    async for row in rows_of(log, run):
        event = event_of(row)
        if row.kind not in PLAIN and not is_erased(row):
            places.append(row.first)
        if isinstance(event, AttemptFinished):
            gathered.counted.append(Counted(run.key, event.attempt, event.usage))
        streams += _told_in(run, event)
    gathered.erasures.append(Erasure(run, tuple(places), DELETED))
    gathered.erasures += [await _all_of(log, stream) for stream in streams]
    for key in lookbacks:
        await _gather_lookback(log, gathered, after_stream(run.tenant, key), actor)


def _told_in(run: StreamName, event: Event) -> list[StreamName]:
    """Streams beside the run's that hold what it asked, or was told."""
    match event:
        case ApprovalRequested(approval):
            return [approval_stream(run.tenant, approval)]
        case InterventionAccepted(intervention):
            return [intervention_stream(run.tenant, intervention)]
        case _:
            return []


async def _gather_lookback(log: Log, gathered: _Gathered, name: StreamName, actor: str) -> None:
    """One that is still at work is ended in the same moment, and finds its stream closed."""
    state = await log.look(name)
    if state is None:
        return
    if not state.closed:
        gathered.closing.append(Entry(name, (AfterFinished(),), actor=actor, head=state.head))
    gathered.erasures.append(await _all_of(log, name))


async def _all_of(log: Log, name: StreamName) -> Erasure:
    return Erasure(name, tuple([row.first async for row in rows_of(log, name) if not is_erased(row)]), DELETED)
