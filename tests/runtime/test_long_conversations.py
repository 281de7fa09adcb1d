"""Conversations longer than a window: a summary is made once, kept, and gone on from."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from staging import Playing, Stage

from quarterdeck.events.run import AttemptStarted
from quarterdeck.events.talk import ConversationOpened, ConversationSummarised, MessageAdded
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.kernel.ids import ConversationId, conversation_stream
from quarterdeck.kernel.scope import LOCAL_TENANT
from quarterdeck.log.entries import Entry
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Burst, Ended, ModelEvent, ModelRequest
from quarterdeck.runtime.history import history

TALK = conversation_stream(LOCAL_TENANT, ConversationId("long"))
SIZE = 40_000


async def spoken(stage: Stage, count: int) -> None:
    said = [MessageAdded("user" if n % 2 == 0 else "assistant", f"{n}:".ljust(SIZE, "x")) for n in range(count)]
    await stage.log.append(Entry(TALK, tuple(said), opening=(ConversationOpened("long"),)))


def condensing(fail: bool = False) -> Playing:
    async def play(request: ModelRequest) -> AsyncIterator[ModelEvent]:
        summarise = request.messages[0].content.startswith("Summarise")
        if summarise and fail:
            raise ModelFailed("provider_rejected", "No.", retryable=False)
        yield Burst("content", ["They spoke of x." if summarise else "ok"])
        yield Ended("stop")

    return Playing(play)


def roles(seen: list[AttemptStarted]) -> list[str]:
    return [attempt.role for attempt in seen]


async def test_a_summary_is_made_once_kept_and_gone_on_from(stage: Stage) -> None:
    await spoken(stage, 8)
    model = condensing()
    await stage.staffed(model)
    first = await stage.ended(await stage.ask("And?", conversation="long", loop="native"))
    assert roles(first.of(AttemptStarted)) == ["summary", "thinker"]
    rows = await stage.log.read(TALK)
    (kept,) = [event for row in rows if isinstance(event := event_of(row), ConversationSummarised)]
    assert kept.text == "They spoke of x."
    second = await stage.ended(await stage.ask("And now?", conversation="long", loop="native"))
    assert roles(second.of(AttemptStarted)) == ["thinker"]
    told = model.requests[-1].messages
    assert "They spoke of x." in told[1].content
    assert [message.content for message in told[-3:]] == ["And?", "ok", "And now?"]


async def test_a_model_that_fails_at_it_costs_nobody_the_answer(stage: Stage) -> None:
    await spoken(stage, 8)
    await stage.staffed(condensing(fail=True))
    seen = await stage.ended(await stage.ask("And?", conversation="long", loop="native"))
    assert (seen.end.outcome, seen.end.answer) == ("completed", "ok")
    assert roles(seen.of(AttemptStarted)) == ["summary", "thinker"]


async def test_what_came_after_the_message_and_what_counts_no_longer_is_not_told(stage: Stage) -> None:
    said = (
        MessageAdded("user", "one", "r1"),
        MessageAdded("assistant", "", "r1", "failed"),
        MessageAdded("user", "two", "r2"),
    )
    await stage.log.append(
        Entry(TALK, (*said, MessageAdded("assistant", "later", "r2")), opening=(ConversationOpened("x"),))
    )
    found = await history(stage.log, TALK, "r2", 1000)
    assert [message.content for message in found.messages] == ["one"]


@pytest.mark.parametrize("count", [30, 300])
async def test_no_more_is_read_than_can_be_used(stage: Stage, count: int) -> None:
    said = [MessageAdded("user", f"{n}:".ljust(100, "x")) for n in range(count)]
    await stage.log.append(Entry(TALK, tuple(said), opening=(ConversationOpened("x"),)))
    found = await history(stage.log, TALK, "nobody's", 500)
    assert len(found.messages) == 15
    assert found.left_out == count - 15 + 1  # places, of which the opening is one
    assert found.messages[-1].content.startswith(f"{count - 1}:")
