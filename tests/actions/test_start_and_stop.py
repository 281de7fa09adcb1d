"""What a person's wish becomes: checked, then appended, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.runs import LONGEST_MESSAGE, TITLE, Ask, start_run, stop_run, title_of
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.events.base import Event
from quarterdeck.events.run import RunFinished, RunRequested, StopRequested
from quarterdeck.events.talk import ConversationOpened, MessageAdded
from quarterdeck.kernel.errors import Conflict, Invalid, NotFound
from quarterdeck.kernel.ids import ConversationId, RunId, StreamName, TenantId, conversation_stream, run_stream
from quarterdeck.kernel.scope import LOCAL_OWNER, LOCAL_TENANT, Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.log.memory import MemoryStore
from quarterdeck.log.rows import event_of
from quarterdeck.views.tables import TABLES, VIEWS


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    log = Log(MemoryStore(), SystemClock(), TABLES, VIEWS)
    yield Desk(log, SystemIds(), SystemClock())
    await log.close()


async def told(desk: Desk, stream: StreamName) -> list[Event]:
    return [event_of(row) for row in await desk.log.read(stream)]


def talk(conversation: str) -> StreamName:
    return conversation_stream(LOCAL_TENANT, ConversationId(conversation))


def run(task: str) -> StreamName:
    return run_stream(LOCAL_TENANT, RunId(task))


async def test_a_question_opens_a_conversation_and_starts_a_run(desk: Desk) -> None:
    started = await start_run(desk, LOCAL_OWNER, Ask("What is it?", workspace="./here", reasoning="on", deadline_s=9.0))
    assert await told(desk, run(started.task)) == [
        RunRequested(started.conversation, "What is it?", "roles", "./here", "on", deadline_s=9.0)
    ]
    assert await told(desk, talk(started.conversation)) == [
        ConversationOpened("What is it?", "./here"),
        MessageAdded("user", "What is it?", started.task),
    ]


async def test_a_conversation_of_ones_own_name_is_opened_once_and_goes_on(desk: Desk) -> None:
    one = await start_run(desk, LOCAL_OWNER, Ask("One", "mine"))
    two = await start_run(desk, LOCAL_OWNER, Ask("Two", "mine"))
    assert one.conversation == two.conversation == "mine"
    assert await told(desk, talk("mine")) == [
        ConversationOpened("One", None),
        MessageAdded("user", "One", one.task),
        MessageAdded("user", "Two", two.task),
    ]


@pytest.mark.parametrize("message", ["", "  \n\t ", "x" * (LONGEST_MESSAGE + 1)])
async def test_what_cannot_be_answered_is_refused_and_leaves_nothing(desk: Desk, message: str) -> None:
    with pytest.raises(Invalid):
        await start_run(desk, LOCAL_OWNER, Ask(message, "mine"))
    assert await told(desk, talk("mine")) == []


@pytest.mark.parametrize("name", ["", "../up", "a b", "x" * 129, "-dash", "new\nline", "naïve"])
async def test_a_name_that_is_none_is_refused(desk: Desk, name: str) -> None:
    with pytest.raises(Invalid):
        await start_run(desk, LOCAL_OWNER, Ask("Hi", name))
    with pytest.raises(Invalid):
        await start_run(desk, LOCAL_OWNER, Ask("Hi"), key=name)


async def test_the_same_request_made_again_is_the_same_run(desk: Desk) -> None:
    many = await asyncio.gather(*(start_run(desk, LOCAL_OWNER, Ask("Hi"), key="k", body=b"Hi") for _ in range(50)))
    again = await start_run(desk, LOCAL_OWNER, Ask("Hi"), key="k", body=b"Hi")
    assert len({(started.task, started.conversation) for started in (*many, again)}) == 1
    assert sorted(started.again for started in many) == [False] + [True] * 49
    assert len(await told(desk, talk(again.conversation))) == 2


async def test_a_key_used_for_something_else_is_a_conflict(desk: Desk) -> None:
    await start_run(desk, LOCAL_OWNER, Ask("Hi"), key="k", body=b"Hi")
    with pytest.raises(Conflict) as refused:
        await start_run(desk, LOCAL_OWNER, Ask("Ho", "other"), key="k", body=b"Ho")
    assert refused.value.code == "idempotency_mismatch"
    assert await told(desk, talk("other")) == []


async def test_a_key_belongs_to_whoever_used_it(desk: Desk) -> None:
    other = Scope(LOCAL_TENANT, "person:other")
    elsewhere = Scope(TenantId("elsewhere"), LOCAL_OWNER.actor)
    started = [await start_run(desk, who, Ask("Hi"), key="k", body=b"Hi") for who in (LOCAL_OWNER, other, elsewhere)]
    assert len({each.task for each in started}) == 3


async def test_a_stop_is_asked_for_in_the_log(desk: Desk) -> None:
    started = await start_run(desk, LOCAL_OWNER, Ask("Hi"))
    await stop_run(desk, LOCAL_OWNER, started.task, "enough")
    assert (await told(desk, run(started.task)))[-1] == StopRequested("enough")


async def test_what_has_ended_stays_as_it_is(desk: Desk) -> None:
    started = await start_run(desk, LOCAL_OWNER, Ask("Hi"))
    await desk.log.append(Entry(run(started.task), (RunFinished("completed"),)))
    with pytest.raises(Conflict) as refused:
        await stop_run(desk, LOCAL_OWNER, started.task)
    assert refused.value.code == "task_ended"
    assert isinstance((await told(desk, run(started.task)))[-1], RunFinished)


async def test_nobody_stops_what_is_not_theirs_or_not_there(desk: Desk) -> None:
    started = await start_run(desk, LOCAL_OWNER, Ask("Hi"))
    for scope, task in ((Scope(TenantId("elsewhere"), "person:x"), started.task), (LOCAL_OWNER, "nothing")):
        with pytest.raises(NotFound) as refused:
            await stop_run(desk, scope, task)
        assert refused.value.code == "task_not_found"
    assert len(await told(desk, run(started.task))) == 1


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Hello", "Hello"),
        ("  two\n lines ", "two lines"),
        ("x" * TITLE, "x" * TITLE),
        ("x" * (TITLE + 1), "x" * (TITLE - 1) + "…"),
        ("word " * 30, ("word " * 30)[: TITLE - 1].rstrip() + "…"),
    ],
)
def test_a_title_is_the_beginning_of_the_message(message: str, title: str) -> None:
    assert title_of(message) == title
    assert len(title) <= TITLE
