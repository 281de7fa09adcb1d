"""After a run: follows the log for runs to look back at, and those that a crash left half done. Never delays a run.

What a role came to, and the memory or lesson made of it, are one commit: however often it is taken up, nothing is
done twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections import deque
from dataclasses import dataclass, replace

from quarterdeck.engine.after import AfterState, AskRole, Close, Skip, Wait, decide, evolve
from quarterdeck.engine.after.replies import read_lesson, read_policy, read_reflection
from quarterdeck.engine.memory import sameness
from quarterdeck.events.after import (
    AfterClaimed,
    AfterFinished,
    AfterReleased,
    AfterRequested,
    AfterRole,
    MemoryKept,
    MemoryPolicyDecided,
    ReflectionCompleted,
    RoleFailed,
)
from quarterdeck.events.base import Event
from quarterdeck.events.memory import LessonProposed, MemoryScope, MemoryStored
from quarterdeck.kernel.errors import Closed, Fenced, ModelFailed, Moved, Problem
from quarterdeck.kernel.ids import StreamName, TenantId, after_stream, experience_stream, memory_stream
from quarterdeck.log.doorbell import News
from quarterdeck.log.entries import Claim, Entry
from quarterdeck.log.fold import Fold
from quarterdeck.log.log import Log
from quarterdeck.ports import Ids, Query
from quarterdeck.runtime.call import was_cancelled
from quarterdeck.runtime.pulse import Pulse
from quarterdeck.runtime.roles import ModelClient, Providers, plain
from quarterdeck.views.memory import AFTERS, MEMORIES

ROLE_S = 120.0
PAUSE_S = 2.0
BEAT_S = 10.0
AGAIN_S = 2.0
AT_ONCE = 2
LONGEST_DETAIL = 500

logger = logging.getLogger("quarterdeck.runtime")


def after_run(run: StreamName, asked: AfterRequested, actor: str) -> Entry:
    """What whoever ends a run appends with its last event, so that it is looked back at."""
    return Entry(after_stream(run.tenant, run.key), (asked,), actor=actor, cause=run.key)


@dataclass(frozen=True, slots=True)
class AfterCrew:
    """What every look back shares. The worker's name is its own: it keeps claims of its own."""

    log: Log
    providers: Providers
    ids: Ids
    worker: str


class Lookback:
    """Takes one look back at a run from wherever its log stands to its end."""

    def __init__(self, crew: AfterCrew, name: StreamName, role_s: float = ROLE_S, pause_s: float = PAUSE_S) -> None:
        self._crew, self._name, self._role_s, self._pause_s = crew, name, role_s, pause_s
        self._client = ModelClient(crew.providers.of(name.tenant))
        self._fold: Fold[AfterState] = Fold(crew.log, name, AfterState(), evolve)
        self._actor = f"worker:{crew.worker}"
        self._epoch = 0

    async def drive(self) -> None:
        state = await self._fold.catch_up()
        if isinstance(decide(state), Wait):
            return
        await self._claim(state)
        while not isinstance(intent := decide(state := await self._fold.catch_up()), Wait):
            assert state.requested is not None
            match intent:
                case AskRole(role):
                    await self._ask(intent, role, state.requested)
                case Skip(role, detail):
                    await self._append(RoleFailed(role, "quarantined", detail))
                case Close():
                    await self._append(AfterFinished())

    async def release(self) -> None:
        """Let go in good order, so that whoever takes it up next does not count a crash."""
        if self._epoch:
            await self._append(AfterReleased(self._crew.worker, self._epoch))

    async def give_up(self) -> None:
        """End what our own code failed at."""
        state = await self._fold.catch_up()
        if self._epoch and not state.finished:
            await self._append(AfterFinished())

    async def _claim(self, state: AfterState) -> None:
        claim = Claim(self._crew.worker, state.epoch + 1)
        claimed = AfterClaimed(claim.worker, claim.epoch)
        await self._crew.log.append(Entry(self._name, (claimed,), actor=self._actor, claim=claim))
        self._epoch = claim.epoch

    async def _ask(self, ask: AskRole, role: AfterRole, asked: AfterRequested) -> None:
        try:
            async with asyncio.timeout(self._role_s):
                text = await self._reply(ask)
        except TimeoutError:
            await self._failed(role, "deadline_passed", f"No reply within {self._role_s:.0f} seconds.")
        except ModelFailed as failed:
            await self._failed(role, failed.code, failed.detail)
        except asyncio.CancelledError:
            if was_cancelled():
                raise
            await self._failed(role, "model_error", "The model's own code was cancelled.")
        except Exception as error:  # noqa: BLE001 - whatever a model's code does, it costs nobody anything
            await self._failed(role, "model_error", f"{type(error).__name__}: {error}")
        else:
            await (self._remember(text, asked) if role == "memory_policy" else self._reflect(text, asked))

    async def _reply(self, ask: AskRole) -> str:
        """A model whose trouble may pass is asked once more."""
        messages = plain(ask.messages)
        try:
            return (await self._client.chat(ask.role, messages)).content
        except ModelFailed as failed:
            if not failed.retryable:
                raise
            await asyncio.sleep(self._pause_s if failed.retry_after is None else failed.retry_after)
            return (await self._client.chat(ask.role, messages)).content

    async def _failed(self, role: AfterRole, code: str, detail: str) -> None:
        await self._append(RoleFailed(role, code, detail[:LONGEST_DETAIL]))

    async def _remember(self, text: object, asked: AfterRequested) -> None:
        decided = read_policy(text) if isinstance(text, str) else None
        if decided is None:
            await self._failed("memory_policy", "nonsense", "The reply was no decision that could be read.")
            return
        while True:
            stream = memory_stream(self._name.tenant)
            state = await self._crew.log.look(stream)
            stored = self._stored(decided, asked)
            known = None if stored is None else await self._known(stored)
            if stored is None or known is not None:
                await self._append(replace(decided, summary="", known=known))
                return
            also = self._also(stream, stored, head=0 if state is None else state.head)
            with contextlib.suppress(Moved):  # somebody remembered something meanwhile: perhaps this
                await self._append(decided, MemoryKept(stored.id), also=also)
                return

    def _stored(self, decided: MemoryPolicyDecided, asked: AfterRequested) -> MemoryStored | None:
        if not decided.should_store:
            return None
        place = os.path.realpath(asked.workspace) if asked.workspace else None
        scope: MemoryScope = "conversation" if decided.scope == "workspace" and place is None else decided.scope
        return MemoryStored(
            self._crew.ids.mint(),
            decided.summary,
            decided.memory_type,
            scope,
            place,
            asked.conversation,
            decided.importance,
            asked.run,
            asked.tainted,
        )

    async def _known(self, stored: MemoryStored) -> str | None:
        """A memory that says the same where this one would be found."""
        where = {"tenant": self._name.tenant, "digest": sameness(stored.text)}
        for line in await self._crew.log.find(Query(MEMORIES, where, "id")):
            near = {"workspace": stored.workspace, "conversation": stored.conversation}.get(stored.scope)
            same = line["scope"] == stored.scope and (stored.scope == "global" or line[stored.scope] == near)
            if same and (line["state"] == "active" or stored.tainted):
                return str(line["id"])
        return None

    async def _reflect(self, text: object, asked: AfterRequested) -> None:
        said = read_reflection(text) if isinstance(text, str) else ""
        if not said:
            await self._failed("critic", "nonsense", "The reply was empty.")
            return
        lesson = read_lesson(said)
        if lesson is None:
            await self._append(ReflectionCompleted(None, said))
            return
        proposed = LessonProposed(self._crew.ids.mint(), lesson, asked.run)
        also = self._also(experience_stream(self._name.tenant), proposed)
        await self._append(ReflectionCompleted(proposed.id, said), also=also)

    def _also(self, stream: StreamName, event: Event, head: int | None = None) -> Entry:
        """The cause names this look back, so that whatever is forgotten is also forgotten here."""
        return Entry(stream, (event,), actor=self._actor, cause=self._name.key, head=head)

    async def _append(self, *events: Event, also: Entry | None = None) -> None:
        entry = Entry(self._name, events, actor=self._actor, fence=self._epoch)
        await self._crew.log.append(entry, *([also] if also else []))


class Aftercare:
    """Belongs to one event loop and claims as one worker, a few at a time."""

    def __init__(
        self,
        crew: AfterCrew,
        at_once: int = AT_ONCE,
        *,
        role_s: float = ROLE_S,
        pause_s: float = PAUSE_S,
        beat_s: float = BEAT_S,
        again_s: float = AGAIN_S,
    ) -> None:
        self._crew, self._at_once, self._role_s = crew, at_once, role_s
        self._pause_s, self._beat_s, self._again_s = pause_s, beat_s, again_s
        self._running: dict[StreamName, tuple[Lookback, asyncio.Task[None]]] = {}
        self._queue: deque[StreamName] = deque()
        self._timers: set[asyncio.TimerHandle] = set()
        self._draining = False
        self._pulse = Pulse(self._crew.log, self.worker, self.take_up, self._beat_s)

    @property
    def worker(self) -> str:
        return self._crew.worker

    async def open(self) -> None:
        """Begin to follow, and take up what was left open."""
        self._crew.log.beat(self.worker)
        self._leave = self._crew.log.listen(self._heard)
        await self.take_up()
        self._pulse.start()

    async def take_up(self) -> None:
        """Start on everything that is open and not worked on here. What a living worker has will refuse the claim."""
        after: str | None = None
        while lines := await self._crew.log.find(Query(AFTERS, {"open": 1}, "id", after=after, limit=500)):
            for line in lines:
                self._start(after_stream(TenantId(line["tenant"]), line["id"]))
            after = lines[-1]["id"]

    def _heard(self, news: News) -> None:
        for name, row in news:
            if row.kind == AfterRequested.KIND:
                self._start(name)

    def _start(self, name: StreamName) -> None:
        if self._draining or name in self._running or name in self._queue:
            return
        if len(self._running) >= self._at_once:
            self._queue.append(name)
            return
        lookback = Lookback(self._crew, name, self._role_s, self._pause_s)
        self._running[name] = (lookback, asyncio.create_task(self._drive(lookback, name)))

    async def _drive(self, lookback: Lookback, name: StreamName) -> None:
        again = False
        try:
            await lookback.drive()
        except (Fenced, Closed):
            pass  # somebody else has it, or it is over
        except Problem as problem:
            logger.warning("%s rests for a while: %s", name, problem.detail)
            again = problem.code != "storage_broken"
        except Exception:
            logger.exception("%s was given up", name)
            with contextlib.suppress(Problem):
                await lookback.give_up()
        finally:
            if not self._draining:
                self._running.pop(name, None)
        self._next()  # not where it was cancelled: then the loop ends, and what begins now would end with it
        if again:
            self._later(name)

    def _next(self) -> None:
        while self._queue and len(self._running) < self._at_once and not self._draining:
            self._start(self._queue.popleft())

    def _later(self, name: StreamName) -> None:
        def due() -> None:
            self._timers.discard(handle)
            self._start(name)

        handle = asyncio.get_running_loop().call_later(self._again_s, due)
        self._timers.add(handle)

    async def drain(self, grace_s: float = 0.0) -> None:
        """Take nothing new, give what is under way a while, then let go of it in good order: it goes on with the
        next start."""
        self._draining = True
        running = list(self._running.values())
        if running and grace_s:
            await asyncio.wait([task for _, task in running], timeout=grace_s)
        for lookback, task in running:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
                with contextlib.suppress(Problem):
                    await lookback.release()
        self._running.clear()

    async def close(self) -> None:
        for handle in self._timers:
            handle.cancel()
        self._pulse.stop()
        self._leave()
        await self.drain()
        self._crew.log.retire(self.worker)
