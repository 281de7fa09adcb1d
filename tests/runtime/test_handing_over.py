"""Who works on a run: one worker at a time, another when that one is gone, and the next start after a shutdown."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from staging import BOUND_S, Cast, Drawer, Playing, Stage, bounded, name, saying

from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.events import run as ev
from quarterdeck.events.base import Event
from quarterdeck.kernel.errors import Fenced, StorageFull
from quarterdeck.kernel.ids import RunId
from quarterdeck.kernel.parts import ToolCall, ToolSpec
from quarterdeck.log.entries import Claim, Entry
from quarterdeck.log.memory import MemoryStore
from quarterdeck.ports import Batch, Burst, Ended, ModelEvent, ModelRequest, Site
from quarterdeck.testing.scripted import ScriptedModel, Turn


def half() -> ScriptedModel:
    return ScriptedModel([Turn(content=("Half ",), hang=1)])


async def begun(stage: Stage, **options: object) -> RunId:
    """A run whose text has begun to come."""
    task = await stage.ask(**options)  # type: ignore[arg-type]
    await stage.until(task, lambda seen: "Half " in seen.text())
    return task


async def test_of_two_supervisors_one_works_and_the_other_stays_away(stage: Stage) -> None:
    one, other = saying("All."), saying("All.")
    await stage.staffed(one, worker="p.one")
    await stage.staffed(other, worker="q.two")
    for _ in range(10):
        seen = await stage.ended(await stage.ask())
        assert len(seen.of(ev.RunClaimed)) == 1
    assert len(one.requests) + len(other.requests) == 10


async def test_a_worker_that_is_gone_is_replaced_by_the_one_that_lives(stage: Stage) -> None:
    """Its lease is over in the middle of a run: the next epoch, the next attempt, and its text is taken back."""
    first = await stage.staffed(half(), worker="p.one")
    task = await begun(stage)
    second = await stage.staffed(saying("All."), worker="q.two", beat_s=0.01)
    async with bounded():
        while second._running:  # until it has tried, and was refused
            await asyncio.sleep(0)
    stage.log.retire("p.one")
    seen = await stage.ended(task)
    assert [(claim.worker, claim.epoch) for claim in seen.of(ev.RunClaimed)] == [("p.one", 1), ("q.two", 2)]
    assert [attempt.attempt for attempt in seen.of(ev.AttemptStarted)] == [1, 2]
    [gone] = seen.of(ev.AttemptSuperseded)
    assert gone.reason.startswith("crashed")
    assert seen.end.answer == "All."
    await stage.let_go(first)
    assert (await stage.until(task, lambda seen: bool(seen.of(ev.RunFinished)))).rows == seen.rows


async def test_a_worker_that_was_replaced_notices_at_its_next_word_and_is_silent(stage: Stage) -> None:
    speak, spoke = asyncio.Event(), asyncio.Event()

    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield Burst("content", ["Half "])
        await speak.wait()
        try:
            for _ in range(1000):
                yield Burst("content", ["stale "])
                await asyncio.sleep(0)
            yield Ended("stop")
        finally:
            spoke.set()

    await stage.staffed(Playing(play), worker="p.one")
    task = await begun(stage)
    stage.log.retire("p.one")
    await stage.staffed(saying("All."), worker="q.two")
    seen = await stage.ended(task)
    speak.set()
    async with bounded():
        await spoke.wait()
    assert seen.end.answer == "All."
    assert "stale" not in seen.text()
    with pytest.raises(Fenced):
        await stage.log.append(Entry(name(await begun_elsewhere(stage)), (ev.StageChanged("answering"),), fence=1))


async def begun_elsewhere(stage: Stage) -> RunId:
    """A run that was claimed twice by workers that nobody here is."""
    task = RunId("elsewhere")
    await stage.log.append(Entry(name(task), (ev.RunRequested("talk", "Hi"),)))
    for epoch in (1, 2):
        await stage.log.append(Entry(name(task), (ev.RunClaimed("x", epoch),), claim=Claim("x", epoch)))
    return task


async def test_a_run_that_crashed_its_workers_is_left_alone_and_others_are_not(stage: Stage) -> None:
    story: list[Event] = [ev.RunRequested("talk", "poison")]
    for epoch in (1, 2, 3):
        story += [ev.RunClaimed(f"p{epoch}.loop", epoch), ev.AttemptStarted(epoch, "thinker", "m")]
    poison = RunId("poison")
    await claimed_by_the_dead(stage, poison, story)
    await stage.staffed(saying("All."))
    end = (await stage.ended(poison)).end
    assert (end.outcome, end.code) == ("quarantined", "quarantined")
    assert (await stage.answer_to()).answer == "All."


async def test_runs_that_may_be_to_blame_go_one_at_a_time(stage: Stage) -> None:
    """After two crashes in a row, so that the third tells which of them it was."""
    at_once, most = 0, 0

    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        for _ in range(20):
            await asyncio.sleep(0)
        at_once -= 1
        yield Ended("stop")

    for run in range(4):
        story: list[Event] = [ev.RunRequested("talk", "Hi")]
        story += [ev.RunClaimed(f"p{epoch}.loop", epoch) for epoch in (1, 2)]
        await claimed_by_the_dead(stage, RunId(f"suspect{run}"), story)
    await stage.staffed(Playing(play))
    for run in range(4):
        assert (await stage.ended(RunId(f"suspect{run}"))).end.outcome == "completed"
    assert most == 1


async def test_a_run_that_waits_for_its_turn_can_be_stopped(stage: Stage) -> None:
    for run in range(2):
        story: list[Event] = [ev.RunRequested("talk", "Hi")]
        story += [ev.RunClaimed(f"p{epoch}.loop", epoch) for epoch in (1, 2)]
        await claimed_by_the_dead(stage, RunId(f"suspect{run}"), story)
    await stage.staffed(half())
    speaking = {
        run: asyncio.ensure_future(stage.until(RunId(f"suspect{run}"), lambda seen: "Half " in seen.text()))
        for run in range(2)
    }
    await asyncio.wait(speaking.values(), return_when=asyncio.FIRST_COMPLETED)
    for run in sorted(speaking, key=lambda run: speaking[run].done()):  # the one that waits for its turn goes first
        speaking[run].cancel()
        await stage.stop(RunId(f"suspect{run}"))
        assert (await stage.ended(RunId(f"suspect{run}"))).end.outcome == "stopped"


async def claimed_by_the_dead(stage: Stage, task: RunId, story: list[Event]) -> None:
    """A run as workers left it that are gone with their processes."""
    for event in story:
        claim = Claim(event.worker, event.epoch) if isinstance(event, ev.RunClaimed) else None
        await stage.log.append(Entry(name(task), (event,), claim=claim))


# Shutdowns


async def test_a_drain_lets_short_runs_finish_and_long_ones_go_on_at_the_next_start(stage: Stage) -> None:
    go = asyncio.Event()

    async def play(request: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield Burst("content", ["Half "])
        if request.messages[-1].content == "short":
            await go.wait()
            yield Ended("stop")
        await asyncio.Event().wait()

    first = await stage.staffed(Playing(play), worker="p.one")
    short, long = await begun(stage, message="short"), await begun(stage, message="long")
    asyncio.get_running_loop().call_later(0.05, go.set)
    await stage.let_go(first, grace_s=0.3)
    assert (await stage.ended(short)).end.outcome == "completed"
    await stage.staffed(saying("All."), worker="q.two")
    seen = await stage.ended(long)
    assert seen.end.answer == "All."
    [gone] = seen.of(ev.AttemptSuperseded)
    assert gone.reason.startswith("server_stopped")
    assert len(seen.of(ev.RunReleased)) == 1


async def test_any_number_of_shutdowns_are_no_crash(stage: Stage) -> None:
    task, model = await stage.ask(), half()
    for nth in range(5):
        supervisor = await stage.staffed(model, worker=f"p{nth}.loop")
        await stage.until(task, lambda seen: len(seen.of(ev.ContentStreamed)) > nth)  # noqa: B023
        await stage.let_go(supervisor)
    await stage.staffed(saying("All."), worker="last.loop")
    seen = await stage.ended(task)
    assert (seen.end.outcome, len(seen.of(ev.RunReleased))) == ("completed", 5)


async def test_nothing_new_is_begun_during_a_drain_and_nothing_is_lost(stage: Stage) -> None:
    supervisor = await stage.staffed(half(), worker="p.one")
    old = await begun(stage)
    draining = asyncio.ensure_future(stage.let_go(supervisor, grace_s=0.2))
    await asyncio.sleep(0)
    new = await stage.ask()
    await draining
    assert not (await stage.until(new, lambda seen: bool(seen.rows))).of(ev.RunClaimed)
    await stage.staffed(saying("All."), worker="q.two")
    for task in (old, new):
        assert (await stage.ended(task)).end.answer == "All."


async def test_whoever_is_in_a_hurry_ends_the_grace(stage: Stage) -> None:
    supervisor = await stage.staffed(half())
    task = await begun(stage)
    draining = asyncio.ensure_future(stage.let_go(supervisor, grace_s=3600.0))
    await asyncio.sleep(0)
    supervisor.hurry()
    async with bounded():
        await draining
    assert len((await stage.until(task, lambda seen: bool(seen.of(ev.RunReleased)))).of(ev.RunReleased)) == 1


# Many


async def test_more_runs_than_may_work_at_once_wait_for_their_turn(stage: Stage) -> None:
    at_once, most = 0, 0

    async def play(request: ModelRequest) -> AsyncIterator[ModelEvent]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        yield Burst("content", [request.messages[-1].content])
        at_once -= 1
        yield Ended("stop")

    await stage.staffed(Playing(play), at_once=7)
    tasks = await asyncio.gather(*(stage.ask(f"run {n}") for n in range(500)))
    for n, task in enumerate(tasks):
        assert (await stage.ended(task)).end.answer == f"run {n}"
    assert most <= 7


async def test_a_run_that_waits_for_its_place_can_be_stopped_at_once(stage: Stage) -> None:
    await stage.staffed(half(), at_once=1)
    first = await begun(stage)
    waiting = await stage.ask()
    await stage.stop(waiting)
    seen = await stage.ended(waiting)
    assert (seen.end.outcome, seen.text()) == ("stopped", "")
    await stage.stop(first)
    await stage.ended(first)


async def test_runs_that_were_left_behind_are_taken_up_by_the_next_start(stage: Stage) -> None:
    tasks = [await stage.ask() for _ in range(600)]  # more than one page of them
    await stage.staffed(saying("All."))
    for task in tasks:
        assert (await stage.ended(task)).end.answer == "All."


# Loops


def test_a_run_left_by_a_loop_that_is_gone_goes_on_in_the_next(tmp_path: Path) -> None:
    """Four loops one after the other, each closed in the middle: no crash is counted, no word is lost."""
    for store in (MemoryStore(), SqliteStore(tmp_path / "runs.db")):
        stage = Stage(store)

        async def one_loop(nth: int, task: RunId | None, stage: Stage = stage) -> RunId:
            await stage.supervisor(half(), worker=f"process.{nth}").open()
            task = task or await stage.ask()
            await stage.until(task, lambda seen: len(seen.of(ev.ContentStreamed)) > nth)
            return task

        async def last_loop(task: RunId, stage: Stage = stage) -> None:
            await stage.staffed(saying("All."), worker="process.last")
            seen = await stage.ended(task)
            assert (seen.end.outcome, seen.end.answer) == ("completed", "All.")
            assert len(seen.of(ev.RunClaimed)) == 5
            assert await stage.log.verify() == []
            await stage.close()

        task: RunId | None = None
        for nth in range(4):
            task = asyncio.run(one_loop(nth, task))
            stage.log.retire(f"process.{nth}")
        assert task is not None
        asyncio.run(last_loop(task))


# A full disk


class Tight(MemoryStore):
    """A disk that can be full for as long as a test likes."""

    def __init__(self) -> None:
        super().__init__()
        self.full = threading.Event()
        self.refused = 0

    def commit(self, batch: Batch) -> None:
        if self.full.is_set():
            self.refused += 1
            raise StorageFull("The disk is full.")
        super().commit(batch)


async def test_a_run_on_a_full_disk_rests_and_goes_on_when_there_is_room() -> None:
    """Several times over: that is no crash. What could not be stored is never called part of an answer."""
    tight = Tight()
    cramped = Stage(tight)
    dry = 4

    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        if len(model.requests) <= dry:
            yield Burst("content", ["stored "])
            while "stored " not in "".join(row.data.decode() for row in await cramped.log.read(name(task))):
                await asyncio.sleep(0)
            tight.full.set()
            asyncio.get_running_loop().call_later(0.05, tight.full.clear)
            yield Burst("content", ["refused "])
        else:
            yield Burst("content", ["All."])
        yield Ended("stop")

    model = Playing(play)
    task = await cramped.ask()
    await cramped.staffed(model, again_s=0.02)
    seen = await cramped.ended(task)
    assert (seen.end.outcome, seen.end.answer) == ("completed", "All.")
    assert "refused" not in seen.text()
    assert tight.refused >= dry
    assert len(seen.of(ev.RunClaimed)) == dry + 1
    assert all(gone.reason.startswith("interrupted") for gone in seen.of(ev.AttemptSuperseded))
    await cramped.close()


async def test_the_last_words_of_a_reply_that_were_refused_are_not_passed_over() -> None:
    """The disk is full for one commit only: the text in it is lost, the end behind it must be refused as well."""

    class Once(Tight):
        def commit(self, batch: Batch) -> None:
            lost = [row for _, row in batch.rows if b"lost" in row.data and row.kind == ev.ContentStreamed.KIND]
            if lost and not self.refused:
                self.refused += 1
                raise StorageFull("The disk is full, for a moment.")
            MemoryStore.commit(self, batch)

    store = Once()
    stage = Stage(store)
    settled = asyncio.Event()

    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield Burst("content", ["lost "])
        if len(model.requests) == 1:
            while not store.refused:
                await asyncio.sleep(0)
        settled.set()
        yield Ended("stop")

    model = Playing(play)
    await stage.staffed(model, again_s=0.01)
    seen = await stage.ended(await stage.ask())
    assert (store.refused, len(model.requests)) == (1, 2)
    assert seen.text() == seen.end.answer == "lost "
    await stage.close()


async def test_another_models_trouble_is_its_own(stage: Stage) -> None:
    """One run whose model floods and breaks, beside one that goes on."""

    async def flood(request: ModelRequest) -> AsyncIterator[ModelEvent]:
        if request.messages[-1].content == "quiet":
            yield Burst("content", ["All."])
            yield Ended("stop")
            return
        for _ in range(50):
            yield Burst("content", ["x"] * 500)
        raise ValueError("enough")

    await stage.staffed(Cast(Playing(flood)))
    loud = await stage.ask("loud")
    assert (await stage.answer_to("quiet")).answer == "All."
    end = (await stage.ended(loud)).end
    assert (end.outcome, end.code, len(end.answer)) == ("failed", "model_error", 25_000)


async def test_a_claim_of_a_worker_that_is_gone_may_come_in_late(stage: Stage) -> None:
    """It was on its way to the disk when its loop was closed, and goes in between our looking and our claiming."""

    class Slow(Drawer):
        async def specs(self, site: Site) -> tuple[ToolSpec, ...]:
            if not self.used:
                self.used.append(ToolCall("late", "claim", "{}"))
                gone = Claim("process.gone", 1)
                await stage.log.append(Entry(name(site.run), (ev.RunClaimed(gone.worker, 1),), claim=gone))
            return await super().specs(site)

    await stage.staffed(saying("Done."), Slow())
    assert (await stage.ended(await stage.ask(loop="native"))).end.answer == "Done."


def test_a_loop_that_ends_begins_no_run_that_waits_its_turn(tmp_path: Path) -> None:
    """It is left to the next loop, which counts no crash of it."""
    stage = Stage(SqliteStore(tmp_path / "runs.db"))
    tasks: list[RunId] = []
    begun = asyncio.Event()

    async def hanging(request: ModelRequest) -> AsyncIterator[ModelEvent]:
        begun.set()
        await asyncio.Event().wait()
        yield Ended("stop")

    async def left_in_the_middle() -> None:
        supervisor = stage.supervisor(Playing(hanging), worker="p.a", at_once=1)
        await supervisor.open()
        tasks.extend([await stage.ask() for _ in range(3)])
        async with asyncio.timeout(BOUND_S):
            await begun.wait()

    async def next_loop() -> None:
        stage.log.retire("p.a")
        await stage.staffed(saying("Hi"), worker="p.b")
        epochs = [[claim.epoch for claim in (await stage.ended(task)).of(ev.RunClaimed)] for task in tasks]
        assert sorted(epochs) == [[1], [1], [1, 2]]
        await stage.close()

    asyncio.run(left_in_the_middle())
    gc.collect()  # what was begun by mistake says so when it is thrown away
    asyncio.run(next_loop())
