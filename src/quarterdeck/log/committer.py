"""The one thread that writes: it takes whatever has gathered from all runs, commits it at once, then rings.

A lone append waits for nobody. Under load the next batch gathers while this one is on its way to the disk, so that
many deltas share one transaction and one row. Nothing is told to anyone before it is committed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from quarterdeck.events.run import ContentStreamed, ReasoningStreamed
from quarterdeck.kernel.errors import Closed, Conflict, Problem, StorageBroken
from quarterdeck.kernel.ids import StreamName, TenantId
from quarterdeck.log.changes import noted
from quarterdeck.log.doorbell import Doorbell
from quarterdeck.log.entries import Appended, Entry
from quarterdeck.log.erasing import Erasure, erased_rows
from quarterdeck.log.filling import View
from quarterdeck.log.rows import DELTAS, SALT, admit, advanced, placed, recorded, refuse, repeated, row_of
from quarterdeck.log.spout import DeltaKind, Pour, Spout
from quarterdeck.log.tail import Tail
from quarterdeck.ports import Batch, Once, Row, Store, StreamState

STATES = 4096  # streams whose state is kept at hand
CROWD = 12  # streams in one commit from which on it pays to gather a little
GATHER_S = 0.008
SALTS = 256


@dataclass(slots=True)
class Append:
    """Entries that go in together or not at all. `done` is told on the loop that asked."""

    entries: tuple[Entry, ...]
    erasures: tuple[Erasure, ...]
    once: Once | None
    loop: asyncio.AbstractEventLoop
    done: Callable[[Appended | Exception], None]


@dataclass(slots=True)
class Chore:
    """Something else that must happen on the writing thread, between two commits."""

    act: Callable[[], object]
    loop: asyncio.AbstractEventLoop
    done: Callable[[object], None]


Job: TypeAlias = Append | Pour | Chore
Then: TypeAlias = dict[asyncio.AbstractEventLoop, list[Callable[[], None]]]


@dataclass(slots=True)
class _Work:
    """One commit in the making."""

    batch: Batch = field(default_factory=Batch)
    answers: list[tuple[Append, Appended | Exception]] = field(default_factory=list)
    pours: list[tuple[Pour, Exception | None]] = field(default_factory=list)
    rows: list[tuple[StreamName, Row]] = field(default_factory=list)


class Committer:
    def __init__(
        self, store: Store, tail: Tail, views: Sequence[View], now: Callable[[], float], alive: Callable[[str], bool]
    ) -> None:
        self._store, self._tail, self._views, self._now, self._alive = store, tail, views, now, alive
        self.bells: dict[asyncio.AbstractEventLoop, Doorbell] = {}
        self._states: OrderedDict[StreamName, StreamState] = OrderedDict()
        self._next_id = store.next_stream_id()
        self._jobs: list[Job] = []
        self._latest: dict[StreamName, Job] = {}
        self._lock = threading.Lock()
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._salts = _salts()
        self._hurried = False
        self._idle = True
        self._closing = False
        self._crowded = self._gathering = False
        self.broken: StorageBroken | None = None
        self.shut: set[TenantId] = set()
        self._thread = threading.Thread(target=self._run, name="quarterdeck-log", daemon=True)
        self._thread.start()

    # Called from any loop

    def submit(self, job: Append | Chore) -> None:
        with self._lock:
            if self._closing:
                raise StorageBroken("The log is closed.", code="log_closed")
            self._jobs.append(job)
            if isinstance(job, Append):
                self._latest.update(dict.fromkeys((entry.stream for entry in job.entries), job))
            wake = self._idle or (self._gathering and not self._hurried)
            self._idle, self._hurried = False, True
        if wake:
            self._news.put(None)

    def pour(self, spout: Spout, kind: DeltaKind, attempt: int, texts: list[str]) -> None:
        """Queue deltas, together with those of the same attempt that still wait."""
        with self._lock:
            if self._closing:
                raise StorageBroken("The log is closed.", code="log_closed")
            latest = self._latest.get(spout.name)
            if isinstance(latest, Pour) and latest.takes(spout, kind, attempt):
                latest.texts += texts
                return
            job = Pour(spout, kind, attempt, texts)
            self._jobs.append(job)
            self._latest[spout.name] = job
            wake, self._idle = self._idle, False
        if wake:
            self._news.put(None)

    def state(self, name: StreamName) -> StreamState | None:
        """The stream as last committed, if it is at hand."""
        return self._states.get(name)

    def known(self) -> dict[StreamName, StreamState]:
        """All streams at hand, as last committed; only called by a chore, on the thread."""
        return dict(self._states)

    def trimmed(self, name: StreamName, last_gone: Row, snapshot: bytes) -> StreamState:
        """Raise a stream's floor; only called by a chore, on the thread."""
        self._must_be_whole()
        known = self._known(Batch(), name)
        if last_gone.last <= known.floor:  # somebody else trimmed more in the meantime
            return known
        state = replace(known, floor=last_gone.last, floor_chain=last_gone.chain)
        self._store.trim(state, snapshot)
        self._states[name] = state
        self._tail.forget(name)
        return state

    def forget_onces(self, before: float) -> None:
        """Only called by a chore, on the thread."""
        self._must_be_whole()
        self._store.forget_onces(before)
        self._store.scrub()

    def drop(self, tenant: TenantId) -> None:
        """All that is a tenant's, to which nothing may be added any more; only called by a chore, on the thread."""
        self._must_be_whole()
        self._store.drop(tenant)
        for name in [name for name in self._states if name.tenant == tenant]:
            del self._states[name]
        self._tail.drop(tenant)

    def _must_be_whole(self) -> None:
        if self.broken is not None:
            raise StorageBroken(self.broken.detail)

    def close(self) -> None:
        with self._lock:
            self._closing = True
        self._news.put(None)
        self._thread.join()

    # The thread

    def _run(self) -> None:
        while jobs := self._take():
            self._commit(jobs)

    def _take(self) -> list[Job]:
        while True:
            if self._crowded:
                self._gather()
            with self._lock:
                jobs, self._jobs, self._latest = self._jobs, [], {}
                self._idle, self._hurried = not jobs, False
                closing = self._closing
            if jobs or closing:
                return jobs
            self._news.get()

    def _gather(self) -> None:
        """Where many streams pour at once, let a little more come in. An append hurries: somebody waits for it."""
        with self._lock:
            self._gathering = bool(self._jobs) and not (self._hurried or self._closing)
        if self._gathering:
            with contextlib.suppress(queue.Empty):
                self._news.get(timeout=GATHER_S)
            self._gathering = False

    def _commit(self, jobs: Sequence[Job]) -> None:
        try:
            work = self._assembled(jobs)
        except Exception as error:  # noqa: BLE001 - whatever it was, writing on would be worse, and all must be told
            self.broken = StorageBroken(f"The log stopped writing: {error!r}. Restart the server; nothing was lost.")
            work = _refused(jobs, self.broken)
        chores = [job for job in jobs if isinstance(job, Chore)]
        self._crowded = len(work.batch.streams) >= CROWD
        self._tell(work, [(chore, _outcome(chore.act)) for chore in chores])

    def _assembled(self, jobs: Sequence[Job]) -> _Work:
        work, at, salts = _Work(), self._now(), self._salts
        for job in jobs:
            if isinstance(job, Pour):
                self._pour(work, job, at, salts)
            elif isinstance(job, Append):
                self._append(work, job, at, salts)
        if work.rows or work.batch.onces or work.batch.erased:
            self._write(work)
        return work

    def _write(self, work: _Work) -> None:
        try:
            self._must_be_whole()
            self._store.commit(work.batch)
        except Problem as error:
            if isinstance(error, StorageBroken):
                self.broken = self.broken or error
            work.answers = [(job, error) for job, _ in work.answers]
            work.pours = [(pour, error) for pour, _ in work.pours]
            work.rows.clear()
            return
        for name, state in work.batch.streams.items():
            self._states[name] = state
            self._states.move_to_end(name)
        while len(self._states) > STATES:
            self._states.popitem(last=False)
        for name, row in work.rows:
            self._tail.add(name, row)
        if work.batch.erased:
            for state, _ in work.batch.erased:
                self._tail.forget(state.name)
            self._scrub()

    def _scrub(self) -> None:
        with contextlib.suppress(Problem):  # what was committed stays committed; the store tries again later
            self._store.scrub(shortly=True)

    def _known(self, batch: Batch, name: StreamName) -> StreamState:
        if name.tenant in self.shut:
            raise Closed("This tenant is gone; nothing is written for it any more.", code="tenant_gone")
        state = batch.streams.get(name) or self._states.get(name) or self._store.stream(name)
        if state is None:
            state = StreamState(self._next_id, name)
            self._next_id += 1
        return state

    def _pour(self, work: _Work, job: Pour, at: float, salts: Iterator[bytes]) -> None:
        spout, batch = job.spout, work.batch
        try:
            if spout.error is not None:
                raise spout.error
            before = self._known(batch, spout.name)
            refuse(before, spout.fence)
            event = (ContentStreamed if job.kind == "content" else ReasoningStreamed)(job.attempt, tuple(job.texts))
            row = row_of(before, event, at, next(salts), spout.actor, spout.cause)
        except Problem as error:
            spout.error = error  # at once, for what stands behind it in this very commit
            work.pours.append((job, error))
            return
        if before.head == 0:
            batch.fresh.add(spout.name)
        after = batch.streams[spout.name] = advanced(before, row)
        batch.rows.append((after, row))
        work.rows.append((spout.name, row))
        work.pours.append((job, None))

    def _append(self, work: _Work, job: Append, at: float, salts: Iterator[bytes]) -> None:
        try:
            answer, steps = self._judge(work.batch, job, at, salts)
            forgotten = erased_rows(job.erasures if answer.answer is None else (), self._committed, self._store)
        except Problem as error:
            work.answers.append((job, error))
            return
        for before, after, rows in steps:
            self._adopt(work, before, after, rows)
        work.batch.erased += forgotten
        if answer.answer is None and job.once is not None:
            work.batch.onces.append((job.once, at))
        work.answers.append((job, answer))

    def _judge(
        self, batch: Batch, job: Append, at: float, salts: Iterator[bytes]
    ) -> tuple[Appended, list[tuple[StreamState, StreamState, list[Row]]]]:
        """All entries of a job, or the first refusal: nothing of a refused job is kept."""
        if job.once is not None and (known := self._answered(batch, job.once)) is not None:
            return Appended(answer=known), []
        pending: dict[StreamName, StreamState] = {}
        steps: list[tuple[StreamState, StreamState, list[Row]]] = []
        places: list[tuple[int, int]] = []
        for entry in job.entries:
            if entry.behind is not None and entry.behind.error is not None:
                raise entry.behind.error
            known_state = pending.get(entry.stream) or self._known(batch, entry.stream)
            if entry.producer is not None and (mark := repeated(known_state, entry.producer)) is not None:
                places.append((mark.first, mark.last))
                continue
            before = admit(known_state, entry, self._alive)
            after, rows = placed(before, entry, at, salts)
            pending[entry.stream] = after
            steps.append((known_state, after, rows))
            places.append((known_state.head + 1, after.head))
        return Appended(tuple(places)), steps

    def _committed(self, name: StreamName) -> StreamState | None:
        return self._states.get(name) or self._store.stream(name)

    def _answered(self, batch: Batch, once: Once) -> bytes | None:
        known = next((o for o, _ in batch.onces if o.key == once.key), None) or self._store.once(once.key)
        if known is None:
            return None
        if known.digest != once.digest:
            raise Conflict("This Idempotency-Key was used before with another body.", code="idempotency_mismatch")
        return known.answer

    def _adopt(self, work: _Work, before: StreamState, after: StreamState, rows: list[Row]) -> None:
        batch, name = work.batch, after.name
        if before.head == 0:
            batch.fresh.add(name)
        if (before.epoch, before.owner, before.closed, before.marks) != (
            after.epoch,
            after.owner,
            after.closed,
            after.marks,
        ):
            batch.touched.add(name)
        batch.streams[name] = after
        for row in rows:
            batch.rows.append((after, row))
            work.rows.append((name, row))
            if row.kind not in DELTAS:
                fact = recorded(name, row)
                for view in self._views:
                    for change in view.apply(fact):
                        noted(batch.changes, change)

    def _tell(self, work: _Work, chores: Sequence[tuple[Chore, object]]) -> None:
        then: Then = {}
        for job, answer in work.answers:
            then.setdefault(job.loop, []).append(lambda job=job, answer=answer: job.done(answer))  # type: ignore[misc]
        for pour, error in work.pours:
            if pour.spout.settled(len(pour.texts), error):
                then.setdefault(pour.spout.loop, []).append(pour.spout.wake)
        for chore, result in chores:
            then.setdefault(chore.loop, []).append(lambda chore=chore, result=result: chore.done(result))  # type: ignore[misc]
        touched = {name for name, _ in work.rows}
        news = [(name, row) for name, row in work.rows if row.kind not in DELTAS]
        self._ring(touched, news, then)

    def _ring(
        self,
        touched: set[StreamName],
        news: Sequence[tuple[StreamName, Row]],
        then: Mapping[asyncio.AbstractEventLoop, Sequence[Callable[[], None]]],
    ) -> None:
        for loop, bell in tuple(self.bells.items()):
            if not bell.ring(touched, news, then.get(loop, ())):
                self.bells.pop(loop, None)


def _refused(jobs: Sequence[Job], error: Problem) -> _Work:
    work = _Work()
    work.answers = [(job, error) for job in jobs if isinstance(job, Append)]
    work.pours = [(job, error) for job in jobs if isinstance(job, Pour)]
    return work


def _salts() -> Iterator[bytes]:
    """Fresh random salts, asked of the system many at a time: each time gives the interpreter away, which must be won
    back."""
    while True:
        chunk = os.urandom(SALT * SALTS)
        for begin in range(0, len(chunk), SALT):
            yield chunk[begin : begin + SALT]


def _outcome(act: Callable[[], object]) -> object:
    """What a chore came to; whatever went wrong is handed to whoever asked for it."""
    try:
        return act()
    except Exception as error:  # noqa: BLE001 - the thread must live on
        return error
