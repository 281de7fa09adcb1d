"""Drives one run: decide, do, append what happened, repeat. Knows no rules; the engine has them all.

A run that was left at any line is taken up here by the same loop. There is no other recovery code.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from quarterdeck.engine.run import CallModel, Context, Finish, Rest, Retry, RunState, RunTools, decide, evolve
from quarterdeck.engine.run.decide import suspect
from quarterdeck.engine.run.stats import measured as stats_of
from quarterdeck.events.base import Event
from quarterdeck.events.run import (
    AttemptFinished,
    AttemptStarted,
    AttemptSuperseded,
    ContentStreamed,
    DeadlinePassed,
    RunClaimed,
    RunFinished,
    RunReleased,
    StageChanged,
    ToolFinished,
    ToolStarted,
)
from quarterdeck.events.talk import MessageAdded
from quarterdeck.kernel.errors import Moved, Problem, ToolFailed
from quarterdeck.kernel.ids import ConversationId, StreamName, conversation_stream
from quarterdeck.kernel.parts import ToolCall
from quarterdeck.log.entries import Claim, Entry
from quarterdeck.log.fold import Fold
from quarterdeck.log.log import Log
from quarterdeck.log.spout import Spout
from quarterdeck.ports import Clock, Toolbox
from quarterdeck.runtime.call import Caller, Measured, was_cancelled
from quarterdeck.runtime.history import history
from quarterdeck.runtime.roles import Models
from quarterdeck.runtime.ward import Ward

SORRY = "Something went wrong in the server itself; its log says what."


@dataclass(frozen=True, slots=True)
class Crew:
    """What every runner of a house shares."""

    log: Log
    models: Models
    toolbox: Toolbox
    clock: Clock
    worker: str


class Runner:
    def __init__(self, crew: Crew, name: StreamName, ward: Ward) -> None:
        self._crew, self._name, self._ward = crew, name, ward
        self._caller = Caller(crew.models)
        self._fold: Fold[RunState] = Fold(crew.log, name, RunState(), evolve)
        self._actor = f"worker:{crew.worker}"
        self._claim: Claim | None = None
        self._epoch = 0
        self._measured = Measured()
        self._doing: asyncio.Task[Any] | None = None
        self._interrupted = False
        self._pausing: asyncio.Future[None] | None = None
        self._overdue = False
        self._over = False

    async def drive(self) -> None:
        """Take the run from wherever its log stands to its end, or to where it must wait for somebody."""
        state = await self._fold.catch_up()
        context = await self._context(state)
        if isinstance(decide(state, context), Rest):
            return
        self._take(state)
        deadline = self._watch_deadline(state, await self._requested_at())
        state = evolve(state, self._claimed())
        try:
            if suspect(state):
                self._pausing = asyncio.get_running_loop().create_future()
                async with self._ward.turn(unless=self._pausing):
                    await self._go_on(state, context)
            else:
                await self._go_on(state, context)
        finally:
            if deadline is not None:
                deadline.cancel()

    async def _go_on(self, state: RunState, context: Context) -> None:
        while not isinstance(intent := decide(state, context), Rest):
            await self._carry_out(intent, state, context)
            if self._over:
                return
            state = await self._level()

    def interrupt(self) -> None:
        """Something was appended that should be looked at now: whatever is being waited for is broken off."""
        again, self._interrupted = self._interrupted, True
        if self._pausing is not None and not self._pausing.done():
            self._pausing.set_result(None)
        if self._doing is not None and not again:
            self._doing.cancel()

    async def release(self) -> None:
        """Let go in good order, so that whoever takes the run up next does not count a crash."""
        if self._claim is None and self._epoch:
            await self._append(RunReleased(self._crew.worker, self._epoch))

    async def give_up(self) -> None:
        """End a run that our own code failed at: a clear end is better than a run that never moves again."""
        state = await self._fold.catch_up()
        if state.requested is None or state.outcome is not None:
            return
        if not self._epoch:
            self._take(state)
        await self._finish(Finish("failed", state.content, "internal", SORRY), state)

    def _take(self, state: RunState) -> None:
        """Mean to claim; the first append does it."""
        self._epoch = state.epoch + 1
        self._claim = Claim(self._crew.worker, self._epoch)

    # Deeds

    async def _carry_out(
        self, intent: CallModel | RunTools | Retry | Finish, state: RunState, context: Context
    ) -> None:
        match intent:
            case CallModel():
                await self._call(intent, state, context)
            case RunTools(calls):
                await self._run_tools(calls, state)
            case Retry(attempt, since, reason, delay_s):
                await self._append(AttemptSuperseded(attempt, since, reason, round(delay_s, 3)))
                await self._pause(delay_s)
            case Finish():
                await self._finish(intent, state, head=self._fold.seq)

    async def _call(self, call: CallModel, state: RunState, context: Context) -> None:
        model = await self._caller.model_name(call)
        stage = () if state.stage == call.stage else (StageChanged(call.stage),)
        started = AttemptStarted(call.attempt, call.role, model)
        begin = await self._append(*stage, started)
        assert state.requested is not None
        self._measured = Measured()
        native = state.requested.loop == "native"
        spout = self._spout()
        ended = await self._unless_interrupted(self._caller.carry_out(call, spout, self._measured, native=native))
        if ended is None:
            return
        foreseen = self._foreseen(state, started, ended)
        last = decide(foreseen, context)
        if isinstance(ended, AttemptFinished) and isinstance(last, Finish) and not self._interrupted:
            head = begin + sum(sample.tokens for sample in self._measured.samples)
            await self._finish(last, foreseen, ended, head=head, behind=spout)
        if not self._over:
            await self._append(ended, behind=spout)

    def _foreseen(self, state: RunState, started: AttemptStarted, ended: Event) -> RunState:
        """The state as it will be read back, so that a whole answer and the end of its run are one commit."""
        said = ContentStreamed(started.attempt, tuple(self._measured.said))
        return evolve(evolve(evolve(state, started), said), ended)

    async def _unless_interrupted(self, deed: Coroutine[Any, Any, Event]) -> Event | None:
        """The event a deed came to, or None if it was broken off. Text that came before is in the log all the same."""
        if self._interrupted:
            deed.close()
            return None
        task = self._doing = asyncio.current_task()
        try:
            return await deed
        except asyncio.CancelledError:
            # Ours is taken back; a cancellation that came from outside as well is passed on.
            if task is None or not self._interrupted or task.uncancel():
                raise
            return None
        finally:
            self._doing = None

    async def _run_tools(self, calls: Sequence[ToolCall], state: RunState) -> None:
        stage = () if state.stage == "running_tool" else (StageChanged("running_tool"),)
        await self._append(*stage, *(ToolStarted(call) for call in calls))
        for call in calls:
            ended = await self._unless_interrupted(self._use(call))
            if ended is None:
                return
            await self._append(ended)

    async def _use(self, call: ToolCall) -> Event:
        try:
            return ToolFinished(call.id, call.name, ok=True, result=await self._crew.toolbox.use(call))
        except ToolFailed as why:
            return ToolFinished(call.id, call.name, ok=False, result=str(why))
        except Problem:
            raise
        except (
            Exception,
            asyncio.CancelledError,
        ) as error:  # whatever a tool's code does, the model gets to hear of it
            if isinstance(error, asyncio.CancelledError) and was_cancelled():
                raise
            return ToolFinished(call.id, call.name, ok=False, result=f"{type(error).__name__}: {error}")

    async def _pause(self, seconds: float) -> None:
        if not seconds or self._interrupted:
            return
        self._pausing = asyncio.get_running_loop().create_future()
        await asyncio.wait([self._pausing], timeout=seconds)
        self._pausing = None

    async def _finish(
        self, finish: Finish, state: RunState, *before: Event, head: int | None = None, behind: Spout | None = None
    ) -> None:
        """The end, unless something came in between that it does not know of: a stop, the last words of a stream."""
        assert state.requested is not None
        stats = stats_of(self._measured.samples)
        ended = RunFinished(finish.outcome, finish.answer, finish.code, finish.detail, stats, state.usage)
        status = "failed" if finish.outcome == "quarantined" else finish.outcome
        said = MessageAdded("assistant", finish.answer, self._name.key, status)
        stream = conversation_stream(self._name.tenant, ConversationId(state.requested.conversation))
        also = Entry(stream, (said,), actor=self._actor, cause=self._name.key)
        with contextlib.suppress(Moved):
            await self._append(*before, ended, also=also, head=head, behind=behind)
            self._over = True

    # The log

    async def _level(self) -> RunState:
        self._interrupted = False  # before looking, so that what is appended while we look still interrupts
        state = await self._fold.catch_up()
        if self._overdue and not state.overdue and state.outcome is None:
            await self._append(DeadlinePassed())
            state = await self._fold.catch_up()
        return state

    async def _append(
        self, *events: Event, also: Entry | None = None, head: int | None = None, behind: Spout | None = None
    ) -> int:
        """Append to the run under this runner's claim and return the last place; the first append makes the claim."""
        claim, self._claim = self._claim, None
        if claim is not None:
            events = (self._claimed(), *events)
        entry = Entry(self._name, events, actor=self._actor, fence=self._epoch, claim=claim, head=head, behind=behind)
        try:
            appended = await self._crew.log.append(entry, *([also] if also else []))
        except Moved:
            self._claim = claim
            raise
        return appended.places[0][1]

    def _claimed(self) -> RunClaimed:
        return RunClaimed(self._crew.worker, self._epoch)

    def _spout(self) -> Spout:
        return self._crew.log.spout(self._name, fence=self._epoch, actor=self._actor)

    async def _context(self, state: RunState) -> Context:
        if state.requested is None or state.outcome is not None:
            return Context()
        stream = conversation_stream(self._name.tenant, ConversationId(state.requested.conversation))
        told = await history(self._crew.log, stream, self._name.key)
        return Context(told, self._crew.toolbox.specs(), await self._caller.is_slight())

    async def _requested_at(self) -> float:
        rows = await self._crew.log.read(self._name, 0, 1)
        return rows[0].at

    # Deadlines

    def _watch_deadline(self, state: RunState, requested_at: float) -> asyncio.TimerHandle | None:
        assert state.requested is not None
        if state.requested.deadline_s is None:
            return None
        left = requested_at + state.requested.deadline_s - self._crew.clock.now()
        return asyncio.get_running_loop().call_later(max(0.0, left), self._deadline)

    def _deadline(self) -> None:
        self._overdue = True
        self.interrupt()
