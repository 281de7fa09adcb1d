"""Drives one run: decide, do, append what happened, repeat. Knows no rules; the engine has them all.

A run that was left at any line is taken up here by the same loop. There is no other recovery code.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from quarterdeck.engine.run import (
    Ask,
    AskPassword,
    CallModel,
    Context,
    Finish,
    Intent,
    Record,
    Rest,
    Retry,
    RunState,
    RunTools,
    Wait,
    Weigh,
    decide,
    evolve,
)
from quarterdeck.engine.run.decide import suspect
from quarterdeck.engine.run.open_call import OpenCall
from quarterdeck.engine.run.stats import measured as stats_of
from quarterdeck.events.base import Event
from quarterdeck.events.run import (
    AttemptFinished,
    AttemptStarted,
    AttemptSuperseded,
    ContentStreamed,
    DeadlinePassed,
    RunClaimed,
    RunReleased,
    RunRequested,
    RunWaiting,
    StageChanged,
    WaitStatus,
)
from quarterdeck.events.tool import ApprovalDecided, PasswordRequested, ToolStarted
from quarterdeck.kernel.errors import LimitReached, Moved
from quarterdeck.kernel.ids import RunId, StreamName
from quarterdeck.log.entries import Claim, Entry
from quarterdeck.log.fold import Fold
from quarterdeck.log.spout import Spout
from quarterdeck.ports import Deed
from quarterdeck.runtime.asking import asked_for
from quarterdeck.runtime.auditing import Circumstances, audited
from quarterdeck.runtime.briefing import briefed
from quarterdeck.runtime.call import Caller, Measured
from quarterdeck.runtime.crew import Crew
from quarterdeck.runtime.ending import Ending
from quarterdeck.runtime.purse import Held
from quarterdeck.runtime.tools import Tools
from quarterdeck.runtime.twins import twins
from quarterdeck.runtime.ward import Ward

T = TypeVar("T")
SORRY = "Something went wrong in the server itself; its log says what."


class Runner:
    def __init__(self, crew: Crew, name: StreamName, ward: Ward) -> None:
        self._crew, self._name, self._ward = crew, name, ward
        self._caller: Caller
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
        self._due_at: float | None = None
        self._tools: Tools | None = None
        self._asked_by: str | None = None
        self._slight = False
        self.wake_at: float | None = None  # when a run that rests is to be looked at again by itself

    async def drive(self) -> None:
        """Take the run from wherever its log stands to its end, or to where it must wait for somebody."""
        state = await self._fold.catch_up()
        if state.requested is None or state.outcome is not None:
            return
        self._caller = Caller(self._crew.providers.of(self._name.tenant, state.requested.persona))
        model, self._slight = await self._caller.answerer()
        context = await briefed(self._crew, self._name, state, model, slight=self._slight)
        resting = state.holder is None and isinstance(decide(state, context), Wait)
        if resting and not self._expired(state):
            self._sleep_till(state)
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

    async def _carry_out(self, intent: Intent, state: RunState, context: Context) -> None:
        match intent:
            case CallModel():
                await self._call(intent, state, context)
            case Weigh(calls):
                await self._append(*[await self._at_hand(state).weigh(call) for call in calls])
            case Ask(calls):
                await self._ask(calls, state)
            case AskPassword(calls):
                wanted = (PasswordRequested(c.approval or "", c.call.id, _shown(c)) for c in calls)
                await self._record(tuple(wanted), state)
            case RunTools(calls):
                await self._run_tools(calls, state)
            case Record(events):
                await self._record(events, state)
            case Wait(status):
                await self._rest(status, state)
            case Retry(attempt, since, reason, delay_s):
                await self._append(AttemptSuperseded(attempt, since, reason, round(delay_s, 3)))
                await self._pause(delay_s)
            case Finish():
                await self._finish(intent, state, head=self._fold.seq)

    async def _call(self, call: CallModel, state: RunState, context: Context) -> None:
        model = await self._caller.model_name(call)
        try:
            assert state.requested is not None
            held = await self._held(call, model, state.requested)
        except LimitReached as limit:
            spent = Finish("failed", state.answer, limit.code, limit.detail)
            await self._finish(spent, state, head=self._fold.seq)
            return
        ended = await self._called(call, state, context, model)  # one that is lost is settled by the next attempt
        await self._crew.purse.settle(held, ended.usage if isinstance(ended, AttemptFinished) else None)

    async def _held(self, call: CallModel, model: str, asked: RunRequested) -> Held | None:
        run, root = RunId(self._name.key), None if asked.root is None else RunId(asked.root)
        return await self._crew.purse.hold(
            self._name.tenant,
            run,
            call.attempt,
            model,
            call.messages,
            tools=call.tools,
            root=root,
            cap=asked.budget_usd,
        )

    async def _called(self, call: CallModel, state: RunState, context: Context, model: str) -> Event | None:
        stage = () if state.stage == call.stage else (StageChanged(call.stage),)
        started = AttemptStarted(call.attempt, call.role, model)
        begin = await self._append(*call.before, *stage, started)
        assert state.requested is not None
        self._measured = Measured()
        native = state.requested.loop == "native"
        spout = self._spout()
        ended = await self._unless_interrupted(self._caller.carry_out(call, spout, self._measured, native=native))
        if ended is None:
            return None
        foreseen = self._foreseen(state, started, ended)
        last = decide(foreseen, context)
        if isinstance(ended, AttemptFinished) and isinstance(last, Finish) and not self._interrupted:
            head = begin + sum(sample.tokens for sample in self._measured.samples)
            await self._finish(last, foreseen, ended, head=head, behind=spout)
        if not self._over:
            await self._append(ended, behind=spout)
        return ended

    def _foreseen(self, state: RunState, started: AttemptStarted, ended: Event) -> RunState:
        """The state as it will be read back, so that a whole answer and the end of its run are one commit."""
        said = ContentStreamed(started.attempt, tuple(self._measured.said))
        return evolve(evolve(evolve(state, started), said), ended)

    async def _unless_interrupted(self, deed: Coroutine[Any, Any, T]) -> T | None:
        """What a deed came to, or None if it was broken off. Text that came before is in the log all the same."""
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

    async def _ask(self, calls: Sequence[OpenCall], state: RunState) -> None:
        expires_at = self._crew.clock.now() + self._crew.approval_s
        mint = self._crew.ids.mint
        await self._record(tuple(asked_for(self._name.key, c, mint(), expires_at) for c in calls), state)

    async def _run_tools(self, calls: Sequence[OpenCall], state: RunState) -> None:
        tools = self._at_hand(state)
        ready = [(c, await tools.ready(c)) for c in calls]
        if found := [event for _, way in ready if isinstance(way, tuple) for event in way]:
            await self._record(tuple(found), state)
            return
        stage = () if state.stage == "running_tool" else (StageChanged("running_tool"),)
        begun = tuple(ToolStarted(c.call, None if c.approval == c.spent else c.approval) for c in calls)
        if not await self._record((*stage, *begun), state):
            return
        deeds = [self._carried_out(tools, c, way, state) for c, way in ready if not isinstance(way, tuple)]
        await self._unless_interrupted(_together(deeds))

    async def _carried_out(self, tools: Tools, c: OpenCall, deed: Deed, state: RunState) -> None:
        begun = self._crew.clock.steady()
        ended = await tools.carry_out(c, deed, self._append)
        took_ms = round((self._crew.clock.steady() - begun) * 1000, 1)
        secrets = () if deed.password is None else (deed.password,)
        await self._append(ended, also=self._audited(state, (ended,), took_ms, secrets))

    def _audited(
        self, state: RunState, events: Sequence[Event], took_ms: float | None = None, secrets: Sequence[str] = ()
    ) -> tuple[Entry, ...]:
        where = None if state.requested is None else self._crew.workspace(self._name.tenant, state.requested.workspace)
        around = Circumstances(self._asked_by, where, took_ms)
        return audited(self._name, state, events, self._actor, around, secrets=secrets)

    async def _rest(self, status: WaitStatus, state: RunState) -> None:
        """Let go until somebody has done something; where they just have, or did not in time, look again."""
        if expired := self._expired(state):
            await self._record(expired, state)
            return
        left = None if self._due_at is None else max(0.0, self._due_at - self._crew.clock.now())
        with contextlib.suppress(Moved):
            await self._append(RunWaiting(status, left), head=self._fold.seq)
            self._over = True
            self._sleep_till(state)

    async def _record(self, events: tuple[Event, ...], state: RunState) -> bool:
        """Append, unless a person was quicker with what it is about."""
        with contextlib.suppress(Moved):
            also = (*twins(self._name, state, events, self._actor), *self._audited(state, events))
            await self._append(*events, also=also)
            return True
        return False

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
        stats = stats_of(self._measured.samples)
        events, also = Ending(self._crew, self._name, self._actor).of(finish, state, stats, tainted=self._slight)
        with contextlib.suppress(Moved):
            await self._append(*before, *events, also=also, head=head, behind=behind)
            self._over = True

    # The log

    async def _level(self) -> RunState:
        self._interrupted = False  # before looking, so that what is appended while we look still interrupts
        state = await self._fold.catch_up()
        if self._overdue and not state.overdue and state.outcome is None:
            await self._append(DeadlinePassed())
            state = await self._fold.catch_up()
        return state

    def _expired(self, state: RunState) -> tuple[Event, ...]:
        """What people were asked and have not answered in time."""
        now = self._crew.clock.now()
        late = (c for c in state.calls if c.approval and c.decision is None and (c.expires_at or now + 1) <= now)
        return tuple(ApprovalDecided(c.approval or "", c.call.id, "expired", "system") for c in late)

    def _sleep_till(self, state: RunState) -> None:
        open_till = [c.expires_at for c in state.calls if c.approval and c.decision is None and c.expires_at]
        self.wake_at = min(open_till, default=None)

    async def _append(
        self, *events: Event, also: Sequence[Entry] = (), head: int | None = None, behind: Spout | None = None
    ) -> int:
        """Append to the run under this runner's claim and return the last place; the first append makes the claim."""
        claim, self._claim = self._claim, None
        if claim is not None:
            events = (self._claimed(), *events)
        entry = Entry(self._name, events, actor=self._actor, fence=self._epoch, claim=claim, head=head, behind=behind)
        try:
            appended = await self._crew.log.append(entry, *also)
        except Moved:
            self._claim = claim
            raise
        return appended.places[0][1]

    def _claimed(self) -> RunClaimed:
        return RunClaimed(self._crew.worker, self._epoch)

    def _spout(self) -> Spout:
        return self._crew.log.spout(self._name, fence=self._epoch, actor=self._actor)

    def _at_hand(self, state: RunState) -> Tools:
        assert state.requested is not None
        if self._tools is None:
            crew = self._crew
            site = crew.site(self._name.tenant, RunId(self._name.key), state.requested)
            names = None if state.requested.persona is None else state.requested.persona.tools
            self._tools = Tools(crew.toolbox, crew.lockbox, crew.log, crew.clock, site, names)
        return self._tools

    async def _requested_at(self) -> float:
        rows = await self._crew.log.read(self._name, 0, 1)
        self._asked_by = rows[0].actor
        return rows[0].at

    # Deadlines

    def _watch_deadline(self, state: RunState, requested_at: float) -> asyncio.TimerHandle | None:
        """The time that people take to decide does not count."""
        assert state.requested is not None
        if state.requested.deadline_s is None:
            return None
        now = self._crew.clock.now()
        from_start = requested_at + state.requested.deadline_s
        self._due_at = from_start if state.left_s is None else now + state.left_s
        return asyncio.get_running_loop().call_later(max(0.0, self._due_at - now), self._deadline)

    def _deadline(self) -> None:
        self._overdue = True
        self.interrupt()


async def _together(deeds: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Side by side; where one breaks, the others are ended before that is told."""
    tasks = [asyncio.ensure_future(deed) for deed in deeds]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _shown(c: OpenCall) -> str:
    return c.weighed.shown if c.weighed is not None else c.call.name
