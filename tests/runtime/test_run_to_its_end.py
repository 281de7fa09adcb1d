"""Runs on a real log with models that behave, and with models that do not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

import pytest
from staging import Cast, Drawer, Playing, Stage, bounded, saying

from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.openai_chat import OpenAIChat
from quarterdeck.events import run as ev
from quarterdeck.events import tool
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.kernel.parts import Message, ToolCall, ToolSpec, Usage
from quarterdeck.ports import Burst, Deed, Done, Ended, Model, ModelEvent, ModelRequest, Site
from quarterdeck.testing.scripted import Failure, ScriptedModel, Turn
from quarterdeck.testing.upstream import Upstream
from quarterdeck.testing.wire import Told


async def test_a_run_from_its_request_to_its_last_event(stage: Stage) -> None:
    model = saying("It is ", "blue.", reasoning=("Hm.",), usage=Usage(5, 3))
    await stage.staffed(model)
    task = await stage.ask("What is it?", conversation="talk")
    seen = await stage.ended(task)
    kinds = [type(event).__name__ for _, _, event in seen.rows if not isinstance(event, ev.ContentStreamed)]
    assert kinds == [
        *("RunRequested", "RunClaimed", "StageChanged", "AttemptStarted", "ReasoningStreamed"),
        *("AttemptFinished", "RunFinished"),
    ]
    assert (seen.end.outcome, seen.end.answer, seen.end.usage) == ("completed", "It is blue.", Usage(5, 3))
    assert seen.text() == "It is blue."
    assert seen.end.stats.tokens == 3
    assert [(said.role, said.content, said.run) for said in await stage.said("talk")] == [
        ("user", "What is it?", task),
        ("assistant", "It is blue.", task),
    ]
    assert await stage.log.verify() == []


async def test_a_run_over_a_real_socket(stage: Stage) -> None:
    http = Http()
    async with Upstream() as upstream:
        await stage.staffed(OpenAIChat(model="told", base_url=upstream.base_url, http=http))
        assert (await stage.answer_to()).answer == "".join(Told().texts)
    await http.aclose()


async def test_what_was_said_before_reaches_the_model(stage: Stage) -> None:
    model = saying("Blue.")
    await stage.staffed(model)
    await stage.answer_to("What colour is it?", conversation="talk")
    await stage.answer_to("And why?", conversation="talk")
    assert model.requests[1].messages[1:] == (
        Message("user", "What colour is it?"),
        Message("assistant", "Blue."),
        Message("user", "And why?"),
    )


async def test_a_retry_is_seen_and_takes_back_exactly_the_lost_text(stage: Stage) -> None:
    broken = Turn(reasoning=("Hm ",), content=("Half ", "an "), fail=Failure(after=3, retry_after=0.0))
    await stage.staffed(ScriptedModel([broken, broken, Turn(content=("All.",))]))
    seen = await stage.ended(await stage.ask())
    assert seen.end.answer == "All."
    assert [event.attempt for event in seen.of(ev.AttemptSuperseded)] == [1, 2]
    for gone, (at, _) in zip(seen.of(ev.AttemptSuperseded), seen.places(ev.AttemptSuperseded), strict=True):
        within = [event for first, _, event in seen.rows if gone.since < first < at]
        deltas = [event for event in within if isinstance(event, ev.ContentStreamed | ev.ReasoningStreamed)]
        assert {event.attempt for event in deltas} == {gone.attempt}
        assert "".join("".join(event.texts) for event in deltas) == "Hm Half an "


async def test_six_tries_and_then_the_reason(stage: Stage) -> None:
    model = ScriptedModel([Turn(content=("Half",), fail=Failure(retry_after=0.0, after=1))])
    await stage.staffed(model)
    end = await stage.answer_to()
    assert (end.outcome, end.code, end.answer) == ("failed", "provider_error", "Half")
    assert len(model.requests) == 6


def breaking(error: BaseException, after: str = "") -> Playing:
    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        if after:
            yield Burst("content", [after])
        raise error

    return Playing(play)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        KeyError("x"),
        OSError("no"),
        RuntimeError("no"),
        TimeoutError(),
        AssertionError(),
        StopIteration(),
    ],
)
@pytest.mark.parametrize("loop", ["roles", "native"])
async def test_whatever_a_models_code_raises_the_run_ends_and_says_so(
    stage: Stage, error: Exception, loop: ev.Loop
) -> None:
    await stage.staffed(breaking(error, after="Half"))
    end = await stage.answer_to(loop=loop)
    assert (end.outcome, end.code, end.answer) == ("failed", "model_error", "Half")
    assert end.detail


async def test_a_model_whose_code_is_cancelled_from_within_is_tried_again_but_not_for_ever(stage: Stage) -> None:
    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        if len(model.requests) < 2:
            raise asyncio.CancelledError
        yield Burst("content", ["All."])
        yield Ended("stop")

    model = Playing(play)
    await stage.staffed(model)
    seen = await stage.ended(await stage.ask())
    assert seen.end.answer == "All."
    assert [broke.code for broke in seen.of(ev.AttemptBroke)] == ["model_error"]


@pytest.mark.parametrize("loop", ["roles", "native"])
async def test_a_model_that_stops_without_an_end_has_not_answered(stage: Stage, loop: ev.Loop) -> None:
    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield Burst("content", ["Half an answer"])
        if len(model.requests) == 2:
            yield Ended("stop")

    model = Playing(play)
    await stage.staffed(model)
    seen = await stage.ended(await stage.ask(loop=loop))
    assert [broke.code for broke in seen.of(ev.AttemptBroke)] == ["provider_cut"]
    assert seen.end.outcome == "completed"


async def test_a_model_that_says_nothing_but_the_end_has_answered_nothing(stage: Stage) -> None:
    await stage.staffed(saying())
    end = await stage.answer_to()
    assert (end.outcome, end.answer, end.stats) == ("completed", "", ev.Stats())


async def test_where_there_is_no_model_the_run_says_how_to_get_one(stage: Stage) -> None:
    class Nobody(Cast):
        async def model(self, role: ev.Role) -> Model:
            raise ModelFailed("no_model", "Start one.", retryable=False)

    await stage.staffed(Nobody(saying()))
    end = await stage.answer_to()
    assert (end.outcome, end.code, end.detail) == ("failed", "no_model", "Start one.")


async def test_a_choice_of_model_that_fails_in_an_unforeseen_way_is_told_as_well(stage: Stage) -> None:
    class Muddle(Cast):
        async def model(self, role: ev.Role) -> Model:
            raise LookupError("which?")

    await stage.staffed(Muddle(saying()))
    end = await stage.answer_to()
    assert (end.outcome, end.code) == ("failed", "model_error")


async def test_a_fault_of_our_own_ends_the_run_and_not_the_others(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """What the specs of a toolbox do wrong is nobody's failure that the engine knows of."""

    class Broken(Drawer):
        async def specs(self, site: Site) -> tuple[ToolSpec, ...]:
            raise ZeroDivisionError

    await stage.staffed(saying("Fine."), Broken())
    caplog.set_level(logging.CRITICAL)
    for _ in range(2):
        end = await stage.answer_to()
        assert (end.outcome, end.code) == ("failed", "internal")


# Tools


def directive(*actions: tuple[str, dict[str, str]], then: str = "answer") -> dict[str, object]:
    told = [{"tool": tool, "args": args, "reason": "r"} for tool, args in actions]
    return {"kind": "action_directive", "intent": "look", "risk_level": "low", "actions": told, "then": then}


async def test_roles_plan_use_tools_and_the_thinker_sees_what_they_returned(stage: Stage) -> None:
    drawer = Drawer(a="blue")
    wanted = directive(("read_note", {"name": "a"}), ("read_note", {"name": "b"}))
    action, thinker = ScriptedModel([Turn(json=wanted)]), saying("It is blue.")
    await stage.staffed(Cast(thinker, action=action), drawer)
    seen = await stage.ended(await stage.ask("Read note a"))
    assert seen.end.answer == "It is blue."
    assert [(used.name, used.ok, used.result) for used in seen.of(tool.ToolFinished)] == [
        ("read_note", True, "blue"),
        ("read_note", False, "there is no such note."),
    ]
    last = thinker.requests[0].messages[-1]
    assert last.role == "user"
    assert last.content.startswith("tool_observations")
    assert 'read_note {"name": "a"}: blue' in last.content
    assert [changed.stage for changed in seen.of(ev.StageChanged)] == ["planning", "running_tool", "answering"]
    assert action.requests[0].schema is not None
    assert thinker.requests[0].tools == ()


async def test_a_directive_that_says_plan_is_planned_on(stage: Stage) -> None:
    drawer = Drawer(a="b", b="blue")
    plans = [directive(("read_note", {"name": which}), then="plan") for which in ("a", "b")]
    action = ScriptedModel([*(Turn(json=plan) for plan in plans), Turn(json=directive())])
    await stage.staffed(Cast(saying("Blue."), action=action), drawer)
    assert (await stage.answer_to("Follow the notes")).answer == "Blue."
    assert [used.arguments for used in drawer.used] == ['{"name": "a"}', '{"name": "b"}']
    assert "blue" in action.requests[2].messages[-1].content


async def test_an_action_role_that_fails_or_raves_does_not_cost_the_answer(stage: Stage) -> None:
    for turn in (Turn(content=("Sure!",)), Turn(fail=Failure(retryable=False)), Turn(fail=Failure(retry_after=0.0))):
        supervisor = await stage.staffed(Cast(saying("Fine."), action=ScriptedModel([turn])), Drawer())
        assert (await stage.answer_to()).answer == "Fine."
        await stage.let_go(supervisor)


async def test_a_model_that_calls_tools_itself(stage: Stage) -> None:
    drawer = Drawer()
    write = ToolCall("c1", "write_note", '{"name": "a", "text": "blue"}')
    read = ToolCall("c2", "read_note", '{"name": "a"}')
    model = ScriptedModel(
        [
            Turn(content=("Writing. ",), calls=[write]),
            Turn(content=("Reading. ",), calls=[read]),
            Turn(content=("Blue.",)),
        ]
    )
    await stage.staffed(model, drawer)
    seen = await stage.ended(await stage.ask(loop="native"))
    assert (seen.end.answer, drawer.notes) == ("Blue.", {"a": "blue"})
    assert model.requests[2].messages[-4:] == (
        Message("assistant", "Writing. ", calls=(write,)),
        Message("tool", "written", call_id="c1"),
        Message("assistant", "Reading. ", calls=(read,)),
        Message("tool", "blue", call_id="c2"),
    )
    assert len(model.requests[0].tools) == 2


@pytest.mark.parametrize("error", [ValueError("bad"), OSError("disk"), asyncio.CancelledError()])
async def test_a_tool_whose_code_breaks_is_a_failed_tool(stage: Stage, error: BaseException) -> None:
    class Clumsy(Drawer):
        async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:
            raise error

    read = ToolCall("c1", "read_note", '{"name": "a"}')
    await stage.staffed(ScriptedModel([Turn(calls=[read]), Turn(content=("Well.",))]), Clumsy())
    async with bounded():
        seen = await stage.ended(await stage.ask(loop="native"))
    assert seen.end.answer == "Well."
    [used] = seen.of(tool.ToolFinished)
    assert (used.ok, type(error).__name__ in used.result) == (False, True)
