"""People who step in while a run works: what they say is heeded once, at the time they chose, with a receipt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from staging import Cast, Drawer, Playing, Stage, saying

from quarterdeck.actions.approvals import answer
from quarterdeck.actions.steering import edit_intervention, intervene, retract_intervention
from quarterdeck.engine.approval import Answer
from quarterdeck.events import run as ev
from quarterdeck.events import steering, tool
from quarterdeck.kernel.errors import Conflict, Gone, NotFound
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.parts import Message, ToolCall
from quarterdeck.kernel.scope import LOCAL_OWNER, Scope
from quarterdeck.ports import Burst, Ended, ModelEvent, ModelRequest, Query
from quarterdeck.testing.scripted import ScriptedModel, Turn
from quarterdeck.views.approvals import INTERVENTIONS
from quarterdeck.views.tables import RUNS

WRITE = ToolCall("c1", "write_note", json.dumps({"name": "a", "text": "blue"}))
ASKS = frozenset({"write_note"})


def waiting() -> ScriptedModel:
    """Asks for leave to write, and so stands still at a place where people can step in."""
    return ScriptedModel([Turn(calls=[WRITE]), Turn(content=("Done.",))])


class Gated(Playing):
    """Says the texts turn by turn; the first reply is not whole before the gate is opened."""

    def __init__(self, *turns: list[str]) -> None:
        super().__init__(self._turn)
        self.gate, self._turns = asyncio.Event(), turns

    async def _turn(self, _: ModelRequest) -> AsyncIterator[ModelEvent]:
        place = len(self.requests) - 1
        yield Burst("content", list(self._turns[place]))
        if place == 0:
            await self.gate.wait()
        yield Ended("stop")


async def resting(stage: Stage, task: str) -> str:
    seen = await stage.until(task, lambda seen: isinstance(seen.rows[-1][2], ev.RunWaiting) if seen.rows else False)
    return str(seen.of(tool.ApprovalRequested)[-1].approval)


async def receipt(stage: Stage, ident: str) -> tuple[str, int | None]:
    line = await stage.log.get(INTERVENTIONS, tenant="local", id=ident)
    assert line is not None
    return line["state"], line["step"]


async def test_steering_is_heeded_at_the_next_safe_point(stage: Stage) -> None:
    model = waiting()
    await stage.staffed(model, Drawer(ASKS))
    task = await stage.ask(loop="native")
    approval = await resting(stage, task)
    ident = await intervene(stage.desk, LOCAL_OWNER, task, "steer", "In German, please.")
    assert await receipt(stage, ident) == ("accepted", None)
    await answer(stage.desk, LOCAL_OWNER, approval, Answer("approved"))
    await stage.ended(task)
    assert model.requests[1].messages[-1] == Message("user", "In German, please.")
    assert model.requests[1].messages[-2].role == "tool"
    assert await receipt(stage, ident) == ("applied", 2)


async def test_roles_plan_anew_when_they_are_steered(stage: Stage) -> None:
    def directive(*notes: str) -> dict[str, object]:
        actions = [{"tool": "write_note", "args": {"name": n, "text": "x"}, "reason": "r"} for n in notes]
        return {"kind": "action_directive", "intent": "w", "risk_level": "low", "actions": actions, "then": "answer"}

    action, thinker = ScriptedModel([Turn(json=directive("a")), Turn(json=directive())]), saying("Done.")
    await stage.staffed(Cast(thinker, action=action), Drawer(ASKS))
    task = await stage.ask("Write note a")
    approval = await resting(stage, task)
    await intervene(stage.desk, LOCAL_OWNER, task, "steer", "And be brief.")
    await answer(stage.desk, LOCAL_OWNER, approval, Answer("approved"))
    await stage.ended(task)
    for request in (action.requests[1], thinker.requests[0]):
        assert Message("user", "And be brief.") in request.messages
        assert any(message.content.startswith("tool_observations") for message in request.messages)


async def test_steering_an_answer_that_is_being_given_adds_to_it(stage: Stage) -> None:
    model = Gated(["One", " two"], ["Three."])
    await stage.staffed(model)
    task = await stage.ask()
    await stage.until(task, lambda seen: "One" in seen.text())
    await intervene(stage.desk, LOCAL_OWNER, task, "steer", "Go on counting.")
    model.gate.set()
    seen = await stage.ended(task)
    assert seen.end.answer == "One two\n\nThree."
    assert model.requests[1].messages[-2:] == (Message("assistant", "One two"), Message("user", "Go on counting."))


async def test_an_interruption_is_heeded_now_and_keeps_what_was_said(stage: Stage) -> None:
    model = ScriptedModel([Turn(content=("Once upon",), hang=1), Turn(content=("Right.",))])
    await stage.staffed(model)
    task = await stage.ask()
    await stage.until(task, lambda seen: bool(seen.text()))
    ident = await intervene(stage.desk, LOCAL_OWNER, task, "interrupt", "No stories.")
    seen = await stage.ended(task)
    assert seen.end.answer == "Once upon\n\nRight."
    assert model.requests[1].messages[-1] == Message("user", "No stories.")
    assert (await receipt(stage, ident))[0] == "applied"


async def test_an_interruption_calls_off_what_is_asked_and_tells_the_model(stage: Stage) -> None:
    drawer, model = Drawer(ASKS), waiting()
    await stage.staffed(model, drawer)
    task = await stage.ask(loop="native")
    approval = await resting(stage, task)
    await intervene(stage.desk, LOCAL_OWNER, task, "interrupt", "Leave the notes alone.")
    await stage.ended(task)
    assert drawer.used == []
    told = [message.role for message in model.requests[1].messages[-3:]]
    assert told == ["assistant", "tool", "user"]
    with pytest.raises(Gone):
        await answer(stage.desk, LOCAL_OWNER, approval, Answer("approved"))


async def test_an_interruption_ends_a_tool_that_works(stage: Stage) -> None:
    class Slow(Drawer):
        ended = False

        async def use(self, *_: object) -> None:  # type: ignore[override]
            try:
                await asyncio.Event().wait()
            finally:
                self.ended = True

    drawer, model = Slow(), waiting()
    await stage.staffed(model, drawer)
    task = await stage.ask(loop="native")
    await stage.until(task, lambda seen: bool(seen.of(tool.ToolStarted)))
    await intervene(stage.desk, LOCAL_OWNER, task, "interrupt", "Stop that.")
    seen = await stage.ended(task)
    assert (drawer.ended, seen.end.outcome) == (True, "completed")
    [finished] = seen.of(tool.ToolFinished)
    assert (finished.ok, finished.result) == (False, "broken off: a person stepped in.")


async def test_what_is_queued_begins_the_next_run_of_the_conversation(stage: Stage) -> None:
    model = Gated(["First."], ["Second."])
    await stage.staffed(model)
    task = await stage.ask(conversation="talk")
    await stage.until(task, lambda seen: bool(seen.of(ev.AttemptStarted)))
    for text in ("And then?", "And after that?"):
        await intervene(stage.desk, LOCAL_OWNER, task, "queue", text)
    model.gate.set()
    await stage.ended(task)
    [first, second] = await stage.log.find(Query(RUNS, {"tenant": "local"}, "id"))
    assert first["id"] == task
    assert (await stage.ended(second["id"])).end.answer == "Second."
    said = [(message.role, message.content) for message in await stage.said("talk")]
    assert said == [
        ("user", "Hi"),
        ("assistant", "First."),
        ("user", "And then?\n\nAnd after that?"),
        ("assistant", "Second."),
    ]
    lines = await stage.log.find(Query(INTERVENTIONS, {"tenant": "local", "run": task}, "id"))
    assert [(line["state"], line["next_run"]) for line in lines] == [("applied", second["id"])] * 2


async def test_a_word_can_be_changed_and_taken_back_until_it_is_heeded(stage: Stage) -> None:
    model = waiting()
    await stage.staffed(model, Drawer(ASKS))
    task = await stage.ask(loop="native")
    approval = await resting(stage, task)
    changed = await intervene(stage.desk, LOCAL_OWNER, task, "steer", "In Germn.")
    gone = await intervene(stage.desk, LOCAL_OWNER, task, "steer", "Loudly.")
    await edit_intervention(stage.desk, LOCAL_OWNER, task, changed, "In German.")
    await retract_intervention(stage.desk, LOCAL_OWNER, task, gone)
    with pytest.raises(Conflict):
        await edit_intervention(stage.desk, LOCAL_OWNER, task, gone, "Louder.")
    await answer(stage.desk, LOCAL_OWNER, approval, Answer("approved"))
    await stage.ended(task)
    said = [message.content for message in model.requests[1].messages if message.role == "user"]
    assert said[-1] == "In German."
    assert "Loudly." not in said
    for late in (changed, gone):
        with pytest.raises(Conflict):
            await retract_intervention(stage.desk, LOCAL_OWNER, task, late)


async def test_of_heeding_and_taking_back_at_the_same_time_one_wins(stage: Stage) -> None:
    model = ScriptedModel([Turn(content=("Well.",))])
    await stage.staffed(model)
    for _ in range(20):
        task = await stage.ask()
        ident = None
        try:
            ident = await intervene(stage.desk, LOCAL_OWNER, task, "steer", "Quick!")
            await retract_intervention(stage.desk, LOCAL_OWNER, task, ident)
            retracted = True
        except Conflict:
            retracted = False
        seen = await stage.ended(task)
        if ident is not None:
            assert (await receipt(stage, ident))[0] == ("retracted" if retracted else seen_as(seen))


def seen_as(seen: object) -> str:
    applied = bool(seen.of(steering.InterventionApplied))  # type: ignore[attr-defined]
    return "applied" if applied else "expired"


async def test_what_cannot_be_heeded_any_more_says_so(stage: Stage) -> None:
    model = ScriptedModel([Turn(content=("Once",), hang=1)])
    await stage.staffed(model)
    task = await stage.ask()
    await stage.until(task, lambda seen: bool(seen.text()))
    queued = await intervene(stage.desk, LOCAL_OWNER, task, "queue", "And then?")
    await stage.stop(task)
    await stage.ended(task)
    assert (await receipt(stage, queued))[0] == "expired"
    with pytest.raises(Conflict):
        await intervene(stage.desk, LOCAL_OWNER, task, "steer", "Hello?")


async def test_other_tenants_and_unknown_runs_cannot_be_stepped_into(stage: Stage) -> None:
    await stage.staffed(waiting(), Drawer(ASKS))
    task = await stage.ask(loop="native")
    await resting(stage, task)
    ident = await intervene(stage.desk, LOCAL_OWNER, task, "steer", "Hm.")
    stranger = Scope(TenantId("other"), "person:stranger")
    with pytest.raises(NotFound):
        await intervene(stage.desk, stranger, task, "steer", "Mine now.")
    with pytest.raises(NotFound):
        await retract_intervention(stage.desk, stranger, task, ident)
    with pytest.raises(NotFound):
        await retract_intervention(stage.desk, LOCAL_OWNER, "another-task", ident)


async def test_a_word_said_while_the_server_was_away_is_heeded_when_it_is_back(stage: Stage) -> None:
    first = await stage.staffed(waiting(), Drawer(ASKS), worker="one.a")
    task = await stage.ask(loop="native")
    await resting(stage, task)
    await stage.let_go(first)
    await intervene(stage.desk, LOCAL_OWNER, task, "interrupt", "Never mind.")
    model = saying("Fine.")
    await stage.staffed(model, Drawer(ASKS), worker="two.a")
    assert (await stage.ended(task)).end.answer == "Fine."
    assert model.requests[0].messages[-1].content == "Never mind."
