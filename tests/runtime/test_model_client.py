"""Chat by role: plain dictionaries in and out, and no option that was not asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from staging import Cast, Playing, saying

from quarterdeck.engine.run.directive import form
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.kernel.parts import Message, Usage
from quarterdeck.ports import Burst, Ended, ModelEvent, ModelRequest, Traits
from quarterdeck.runtime.roles import ModelClient, ModelResponse, plain
from quarterdeck.testing.scripted import Failure, ScriptedModel, Turn

SAID = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
TOLD = (Message("system", "Be kind."), Message("user", "Hi"))


async def test_a_reply_as_a_whole() -> None:
    model = saying("It is ", "blue.", reasoning=("Hm, ", "well."), usage=Usage(5, 3))
    response = await ModelClient(Cast(model)).chat("critic", SAID)
    assert isinstance(response, ModelResponse)
    assert (response.role, response.model) == ("critic", "scripted/model")
    assert (response.content, response.reasoning_content) == ("It is blue.", "Hm, well.")
    assert response.raw == {"finish": "stop", "usage": Usage(5, 3)}
    assert response.latency_ms >= 0


async def test_a_reply_without_reasoning_has_none() -> None:
    assert (await ModelClient(Cast(saying("Hi"))).chat("critic", SAID)).reasoning_content is None


async def test_a_reply_as_it_comes() -> None:
    model = saying("It is ", "blue.", reasoning=("Hm.",))
    pieces = [piece async for piece in ModelClient(Cast(model)).stream_chat("thinker", SAID)]
    assert pieces[:-1] == [
        {"type": "reasoning_delta", "delta": "Hm."},
        {"type": "content_delta", "delta": "It is "},
        {"type": "content_delta", "delta": "blue."},
    ]
    assert pieces[-1]["type"] == "reply_finished"


@pytest.mark.parametrize("role", ["recall", "thinker", "memory_policy", "critic"])
async def test_nothing_is_asked_for_that_nobody_asked_for(role: Any) -> None:
    model = saying("Hi")
    client = ModelClient(Cast(model))
    await client.chat(role, SAID)
    assert [_ async for _ in client.stream_chat(role, SAID)]
    assert model.requests == [ModelRequest(TOLD), ModelRequest(TOLD)]


async def test_what_is_asked_for_is_passed_on() -> None:
    model = saying("Hi")
    client = ModelClient(Cast(model))
    await client.chat("critic", SAID, temperature=0.0, max_output_tokens=9, response_format={"type": "object"})
    assert [_ async for _ in client.stream_chat("thinker", SAID, temperature=1.0, max_output_tokens=7, reasoning="off")]
    assert model.requests == [
        ModelRequest(TOLD, (), 0.0, 9, {"type": "object"}),
        ModelRequest(TOLD, (), 1.0, 7, None, "off"),
    ]


@pytest.mark.parametrize(("takes", "schema"), [(True, form()), (False, None)])
async def test_a_role_with_a_form_is_held_to_it_where_the_model_can_be(takes: bool, schema: object) -> None:
    model = ScriptedModel([Turn(content=("{}",))], traits=Traits(schema=takes))
    await ModelClient(Cast(model)).chat("action", SAID)
    assert model.requests[0].schema == schema


async def test_each_role_is_played_by_its_own_model() -> None:
    client = ModelClient(Cast(saying("thinker"), action=saying("action")))
    assert (await client.chat("action", SAID)).content == "action"
    assert (await client.chat("critic", SAID)).content == "thinker"


async def test_a_failure_is_raised_as_it_is() -> None:
    client = ModelClient(Cast(ScriptedModel([Turn(content=("Half",), fail=Failure("provider_error", after=1))])))
    with pytest.raises(ModelFailed) as whole:
        await client.chat("critic", SAID)
    assert whole.value.code == "provider_error"
    heard = client.stream_chat("thinker", SAID)
    assert (await anext(heard))["delta"] == "Half"
    with pytest.raises(ModelFailed):
        await anext(heard)


async def test_a_reply_without_an_end_is_not_whole() -> None:
    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield Burst("content", ["Half"])

    client = ModelClient(Cast(Playing(play)))
    with pytest.raises(ModelFailed, match="without an end"):
        await client.chat("critic", SAID)
    with pytest.raises(ModelFailed, match="without an end"):
        assert [_ async for _ in client.stream_chat("thinker", SAID)]


async def test_what_comes_behind_the_end_is_not_waited_for() -> None:
    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield Ended("stop")
        raise AssertionError("read on")

    assert [piece["type"] async for piece in ModelClient(Cast(Playing(play))).stream_chat("thinker", SAID)] == [
        "reply_finished"
    ]


def test_messages_are_plain_dictionaries() -> None:
    assert plain(TOLD) == SAID
