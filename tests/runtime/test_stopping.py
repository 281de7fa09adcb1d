"""Stops and deadlines: at once, with what there is, and exactly one last event whoever is quicker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from staging import Cast, Drawer, Playing, Stage, bounded, name, saying

from quarterdeck.actions.steering import intervene
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.openai_chat import OpenAIChat
from quarterdeck.adapters.no_knowledge import NoKnowledge
from quarterdeck.events import run as ev
from quarterdeck.events import tool
from quarterdeck.kernel.errors import Conflict, NotFound
from quarterdeck.kernel.ids import RunId
from quarterdeck.kernel.parts import Remembered, ToolCall
from quarterdeck.kernel.scope import LOCAL_OWNER
from quarterdeck.ports import Burst, Deed, Done, Ended, ModelEvent, ModelRequest, Site
from quarterdeck.testing.scripted import Failure, ScriptedModel, Turn
from quarterdeck.testing.upstream import UNFINISHED, Answer, Upstream


@pytest.mark.parametrize("loop", ["roles", "native"])
async def test_a_stop_while_streaming_keeps_what_there_is_and_hangs_up(stage: Stage, loop: ev.Loop) -> None:
    http = Http()
    async with Upstream(Answer(UNFINISHED, fault="hang")) as upstream:
        await stage.staffed(OpenAIChat(model="told", base_url=upstream.base_url, http=http))
        task = await stage.ask(loop=loop, conversation="talk")
        await stage.until(task, lambda seen: "ans" in seen.text())
        await stage.stop(task)
        seen = await stage.ended(task)
        async with bounded():
            await upstream.requests[0].gone.wait()
    await http.aclose()
    assert (seen.end.outcome, seen.end.code, seen.end.answer) == ("stopped", "stopped", "Half an ans")
    assert seen.text() == "Half an ans"
    said = (await stage.said("talk"))[-1]
    assert (said.content, said.status) == ("Half an ans", "stopped")


@pytest.mark.parametrize("fault", ["hang before headers", "hang"])
async def test_a_stop_before_the_first_token(stage: Stage, fault: str) -> None:
    http = Http()
    async with Upstream(Answer(b"", fault=fault)) as upstream:  # type: ignore[arg-type]
        await stage.staffed(OpenAIChat(model="told", base_url=upstream.base_url, http=http))
        task = await stage.ask()
        await stage.until(task, lambda seen: bool(seen.of(ev.AttemptStarted)))
        await stage.stop(task)
        end = (await stage.ended(task)).end
    await http.aclose()
    assert (end.outcome, end.answer) == ("stopped", "")


class Pensive(NoKnowledge):
    """Knows nothing, and from its second question on takes its time to say so."""

    def __init__(self) -> None:
        self.asked, self.pondering, self.over = 0, asyncio.Event(), asyncio.Event()

    async def memories(self, site: Site, message: str) -> tuple[Remembered, ...]:
        self.asked += 1
        if self.asked > 1:
            self.pondering.set()
            await self.over.wait()
        return ()


async def test_a_stop_is_heard_while_a_run_is_looked_at_that_is_about_to_rest_again(stage: Stage) -> None:
    stage.knowledge = pensive = Pensive()
    call = ToolCall("c1", "write_note", '{"name": "a", "text": "b"}')
    await stage.staffed(ScriptedModel([Turn(calls=(call,))]), Drawer(frozenset({"write_note"})))
    task = await stage.ask(loop="native")
    await stage.until(task, lambda seen: bool(seen.of(ev.RunWaiting)))
    await intervene(stage.desk, LOCAL_OWNER, task, "steer", "go on")
    async with bounded():
        await pensive.pondering.wait()
    await stage.stop(task)
    pensive.over.set()
    assert (await stage.ended(task)).end.outcome == "stopped"


async def test_a_stop_while_waiting_to_try_again_does_not_wait(stage: Stage) -> None:
    await stage.staffed(ScriptedModel([Turn(content=("Half",), fail=Failure(after=1, retry_after=300.0))]))
    task = await stage.ask()
    await stage.until(task, lambda seen: bool(seen.of(ev.AttemptSuperseded)))
    await stage.stop(task)
    end = (await stage.ended(task)).end
    assert (end.outcome, end.answer) == ("stopped", "")


async def test_a_stop_while_a_tool_works_breaks_it_off(stage: Stage) -> None:
    class Slow(Drawer):
        broken_off = False

        async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:
            self.used.append(deed.call)
            try:
                await asyncio.Event().wait()
            finally:
                self.broken_off = True
            return Done("")

    drawer = Slow()
    calls = [ToolCall(f"c{n}", "write_note", '{"name": "a", "text": "b"}') for n in (1, 2)]
    await stage.staffed(ScriptedModel([Turn(content=("Look:",), calls=calls)]), drawer)
    task = await stage.ask(loop="native")
    await stage.until(task, lambda seen: bool(seen.of(tool.ToolStarted)))
    await stage.stop(task)
    seen = await stage.ended(task)
    assert (seen.end.outcome, seen.end.answer) == ("stopped", "Look:")
    assert (drawer.broken_off, len(drawer.used), seen.of(tool.ToolFinished)) == (True, 1, [])


async def test_a_stop_that_comes_at_the_same_time_as_the_request(stage: Stage) -> None:
    """Before the runner so much as looked: the stop is not lost, though the model would never end."""
    model = ScriptedModel([Turn(hang=0)])
    await stage.staffed(model)
    for _ in range(20):
        task = await stage.ask()
        await stage.stop(task)
        assert (await stage.ended(task)).end.outcome == "stopped"


async def test_a_stop_while_the_runner_reads_up_is_not_lost(stage: Stage) -> None:
    """The choice of a model takes its time; whatever comes meanwhile counts."""
    chosen, choosing = asyncio.Event(), asyncio.Event()

    class Slow(Cast):
        async def model(self, role: ev.Role) -> ScriptedModel:
            choosing.set()
            await chosen.wait()
            return ScriptedModel([Turn(hang=0)])

    await stage.staffed(Slow(saying()))
    task = await stage.ask()
    async with bounded():
        await choosing.wait()
    await stage.stop(task)
    await stage.stop(task)
    chosen.set()
    assert (await stage.ended(task)).end.outcome == "stopped"


async def test_two_stops_are_one(stage: Stage) -> None:
    await stage.staffed(ScriptedModel([Turn(content=("Half",), hang=1)]))
    task = await stage.ask()
    await stage.until(task, lambda seen: bool(seen.text()))
    stops = await asyncio.gather(stage.stop(task), stage.stop(task), return_exceptions=True)
    assert (await stage.ended(task)).end.answer == "Half"
    for refused in filter(None, stops):
        assert isinstance(refused, Conflict)


async def test_what_has_ended_or_never_was_cannot_be_stopped(stage: Stage) -> None:
    await stage.staffed(saying("All."))
    task = await stage.ask()
    await stage.ended(task)
    with pytest.raises(Conflict) as ended:
        await stage.stop(task)
    assert ended.value.code == "task_ended"
    with pytest.raises(NotFound):
        await stage.stop(RunId("nobody"))


@pytest.mark.parametrize("loop", ["roles", "native"])
async def test_a_stop_that_races_the_end_has_one_winner(stage: Stage, loop: ev.Loop, rounds: int) -> None:
    """A stop that was taken ends the run as stopped; one that came too late is told so."""
    deltas = [f"{n} " for n in range(20)]

    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        for delta in deltas:
            yield Burst("content", [delta])
            await asyncio.sleep(0)
        yield Ended("stop")

    await stage.staffed(Playing(play))
    outcomes = set()
    for nth in range(50 * rounds):
        task = await stage.ask(loop=loop)
        await stage.until(task, lambda seen: len(seen.rows) >= 1 + nth % 12 or bool(seen.of(ev.RunFinished)))  # noqa: B023
        refused = None
        try:
            await stage.stop(task)
        except Conflict as conflict:
            refused = conflict
        seen = await stage.ended(task)
        assert seen.end.answer == seen.text(), "what was streamed is what is kept"
        if refused is None:
            assert seen.end.outcome == "stopped"
        else:
            assert (seen.end.outcome, refused.code) == ("completed", "task_ended")
            assert seen.end.answer == "".join(deltas)
            assert seen.of(ev.StopRequested) == []
        outcomes.add(seen.end.outcome)
    assert outcomes == {"stopped", "completed"}, "a race that one side always wins is none"


async def test_a_deadline_ends_a_run_that_hangs(stage: Stage) -> None:
    await stage.staffed(ScriptedModel([Turn(content=("Half",), hang=1)]))
    seen = await stage.ended(await stage.ask(deadline_s=0.05))
    assert (seen.end.outcome, seen.end.code) == ("failed", "deadline_passed")
    assert seen.end.answer == seen.text()  # on a busy machine the deadline may be quicker than the first word
    assert len(seen.of(ev.DeadlinePassed)) == 1


async def test_a_deadline_counts_from_the_request_also_over_a_restart(stage: Stage) -> None:
    """It passed while nobody was there: the run is not begun any more."""
    task = await stage.ask(deadline_s=0.001)
    model = saying("All.")
    while (await stage.log.read(name(task)))[0].at + 0.001 > stage.desk.clock.now():
        await asyncio.to_thread(stage.desk.clock.now)
    await stage.staffed(model)
    assert (await stage.ended(task)).end.code == "deadline_passed"


async def test_a_run_that_ended_in_time_knows_no_deadline(stage: Stage) -> None:
    await stage.staffed(saying("All."))
    assert (await stage.answer_to(deadline_s=3600.0)).outcome == "completed"
