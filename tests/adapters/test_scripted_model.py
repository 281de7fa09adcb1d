"""The stand-in for a model: it says what its script says, and fails as its script says."""

import asyncio
import json
from pathlib import Path

import pytest
from listening import BOUND_S, asking, hear

from quarterdeck.kernel.parts import Message, ToolCall, Usage
from quarterdeck.ports import Burst, Ended, ModelRequest, Traits
from quarterdeck.testing.scripted import ScriptedModel, Turn

SCRIPT = {
    "name": "scripted/demo",
    "traits": {"tools": True},
    "turns": [
        {
            "reasoning": "Hm.",
            "content": ["One", "", " two", " three"],
            "burst": 2,
            "calls": [{"id": "c1", "name": "read_file", "arguments": {"path": "a"}}, {"name": "f", "arguments": "{"}],
            "usage": {"input_tokens": 5, "output_tokens": 3},
        },
        {
            "when": "weather",
            "fail": {"code": "provider_rate_limited", "retry_after": 2, "after": 1},
            "content": ["a", "b"],
        },
        {"when": "weather", "content": "Sunny."},
        {"json": {"intent": "answer"}},
    ],
}


@pytest.fixture
def model(tmp_path: Path) -> ScriptedModel:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(SCRIPT))
    return ScriptedModel.load(path)


async def test_it_replays_its_turns_in_order_and_repeats_the_last(model: ScriptedModel) -> None:
    first, second, third = [await hear(model) for _ in range(3)]
    assert (first.reasoning, first.content, first.bursts) == (["Hm."], ["One", " two", " three"], 3)
    calls = (ToolCall("c1", "read_file", '{"path": "a"}'), ToolCall("call_1", "f", "{"))
    assert first.ended == Ended("tool_calls", calls, Usage(5, 3))
    assert second.text == third.text == '{"intent": "answer"}'
    assert (model.name, model.traits) == ("scripted/demo", Traits(tools=True))
    assert len(model.requests) == 3


async def test_a_turn_may_wait_for_a_word(model: ScriptedModel) -> None:
    failed, sunny, again = [await hear(model, asking("How is the weather?")) for _ in range(3)]
    assert failed.content == ["a"]
    assert failed.failure is not None
    assert (failed.failure.code, failed.failure.retry_after) == ("provider_rate_limited", 2)
    assert sunny.text == again.text == "Sunny."
    assert (await hear(model)).content[0] == "One"


async def test_it_breaks_off_and_hangs_where_it_is_told() -> None:
    cut = await hear(ScriptedModel([Turn(content=("a", "b", "c"), cut=2)]))
    assert cut.content == ["a", "b"]
    assert cut.failure is not None
    assert cut.failure.code == "provider_cut"
    events = ScriptedModel([Turn(content=("a", "b"), hang=1, pace=0.001)]).stream(asking())
    async with asyncio.timeout(BOUND_S):
        await anext(events)
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])


async def test_without_a_turn_it_says_so() -> None:
    heard = await hear(ScriptedModel([Turn(content=("x",), when="only this")]))
    assert heard.failure is not None
    assert not heard.failure.retryable


@pytest.mark.parametrize("script", ["[]", "{}", '{"turns": [{"contents": "x"}]}', '{"turns": [{"calls": [{}]}]}', "{"])
def test_a_script_that_makes_no_sense_is_refused(script: str, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(script)
    with pytest.raises(ValueError):
        ScriptedModel.load(path)


async def test_a_turn_may_be_for_what_a_tool_told() -> None:
    turns = [Turn(content=("It is sunny.",), told="sun"), Turn(content=("No idea.",), told=""), Turn(content=("Hm.",))]
    model = ScriptedModel(turns)
    asked = Message("user", "Is there sun?")
    assert await said(model, asked) == "Hm."
    assert await said(model, asked, Message("tool", "rain", call_id="c1")) == "No idea."
    assert await said(model, asked, Message("tool", "sun at last", call_id="c1")) == "It is sunny."


async def said(model: ScriptedModel, *messages: Message) -> str:
    bursts = [event async for event in model.stream(ModelRequest(messages)) if isinstance(event, Burst)]
    return "".join(text for burst in bursts for text in burst.texts)
