"""Read models: there at once, what the log says, and asked for in order."""

from __future__ import annotations

import asyncio
import contextlib
import random

import apsw
import pytest

from logroom import TENANT, Shelf, everything, kept, rebuilt, said, soon, stream
from quarterdeck.actions.deleting import delete_conversation
from quarterdeck.actions.desk import Desk
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemIds
from quarterdeck.events.access import TokenIssued, TokenRevoked, TokenUsed, UserAdded, UserChanged, UserRemoved
from quarterdeck.events.after import AfterRequested
from quarterdeck.events.base import Event
from quarterdeck.events.memory import MemoryAccepted, MemoryEdited, MemoryForgotten, MemoryStored
from quarterdeck.events.run import (
    AttemptFinished,
    AttemptStarted,
    MemoryUsed,
    RunClaimed,
    RunFinished,
    RunRequested,
    StageChanged,
)
from quarterdeck.events.steering import InterventionAccepted
from quarterdeck.events.talk import ConversationOpened, ConversationRenamed, MessageAdded
from quarterdeck.kernel.errors import Fenced
from quarterdeck.kernel.parts import Remembered, Usage
from quarterdeck.kernel.scope import LOCAL_OWNER
from quarterdeck.log.entries import Entry
from quarterdeck.log.erasing import Erasure
from quarterdeck.log.log import Log
from quarterdeck.ports import Query
from quarterdeck.views.tables import RUNS, TABLES
from quarterdeck.views.talk import CONVERSATIONS, MESSAGES

OPENED = ConversationOpened("a title", "/work")


async def ask(log: Log, run: str, conversation: str = "c1", tenant: str = "local") -> None:
    requested = RunRequested(conversation, f"for {run}")
    talk = Entry(stream(conversation, tenant=tenant), (MessageAdded("user", run, run),), opening=(OPENED,))
    await log.append(Entry(stream(run, "run", tenant), (requested,)), talk)


async def ids(log: Log, **options: object) -> list[str]:
    return [line["id"] for line in await log.find(Query(RUNS, **{"where": {}, "order": "id", **options}))]  # type: ignore[arg-type]


async def test_who_wrote_can_read_it_back_at_once(log: Log) -> None:
    for number in range(20):
        await ask(log, f"r{number}")
        line = await log.get(RUNS, tenant=TENANT, id=f"r{number}")
        assert line is not None
        assert (line["status"], line["open"], line["message"]) == ("queued", 1, f"for r{number}")


async def test_a_line_that_is_not_there_is_none(log: Log) -> None:
    assert await log.get(RUNS, tenant=TENANT, id="nobody") is None


async def test_a_refused_append_changes_no_line(log: Log) -> None:
    await ask(log, "r1")
    with pytest.raises(Fenced):
        await log.append(
            Entry(stream("r2", "run"), (RunRequested("c1", "x"),)), Entry(stream("r1", "run"), (said("x"),), fence=9)
        )
    assert await log.get(RUNS, tenant=TENANT, id="r2") is None


async def test_another_tenants_line_of_the_same_name_is_another_line(log: Log) -> None:
    await ask(log, "r1")
    await ask(log, "r1", tenant="elsewhere")
    await log.append(Entry(stream("r1", "run", "elsewhere"), (RunFinished("failed"),)))
    mine = await log.get(RUNS, tenant=TENANT, id="r1")
    assert mine is not None
    assert mine["status"] == "queued"
    assert await ids(log, where={"tenant": "elsewhere"}) == ["r1"]


async def test_lines_come_in_order_from_a_place_on_and_not_too_many(log: Log) -> None:
    for number in (3, 1, 4, 0, 2):
        await ask(log, f"r{number}")
    assert await ids(log) == ["r0", "r1", "r2", "r3", "r4"]
    assert await ids(log, descending=True) == ["r4", "r3", "r2", "r1", "r0"]
    assert await ids(log, after="r1") == ["r2", "r3", "r4"]
    assert await ids(log, after="r3", descending=True, limit=2) == ["r2", "r1"]
    assert await ids(log, limit=2) == ["r0", "r1"]
    assert await ids(log, where={"conversation": "nowhere"}) == []


async def test_pages_meet_without_a_hole_or_a_double(log: Log) -> None:
    names = [f"r{number:03}" for number in range(57)]
    await asyncio.gather(*(ask(log, name, f"c{name}") for name in names))
    found: list[str] = []
    while page := await ids(log, after=found[-1] if found else None, limit=10):
        found += page
    assert found == names


async def test_nothing_can_be_looked_for_and_sorts_first(log: Log) -> None:
    for name in ("r0", "r1", "r2"):
        await ask(log, name)
    await log.append(Entry(stream("r1", "run"), (RunFinished("completed"),)))
    assert await ids(log, where={"finished_at": None}) == ["r0", "r2"]
    assert (await ids(log, order="finished_at"))[-1] == "r1"
    assert (await ids(log, order="finished_at", descending=True))[0] == "r1"
    assert await ids(log, order="finished_at", after=1.0) == ["r1"]


async def test_a_change_to_a_line_that_is_not_there_does_nothing(log: Log) -> None:
    await log.append(Entry(stream("r9", "run"), (StageChanged("planning"),)))
    assert await log.get(RUNS, tenant=TENANT, id="r9") is None


async def test_the_lines_are_what_the_whole_log_gives(shelf: Shelf, log: Log) -> None:
    await history(log, random.Random(7))
    assert kept(shelf.store) == rebuilt(shelf.store)
    assert len(kept(shelf.store)["message"]) > 10


async def test_the_lines_outlive_a_restart(shelf: Shelf, log: Log) -> None:
    await history(log, random.Random(8))
    before = kept(shelf.store)
    shelf.open()
    assert kept(shelf.store) == before == rebuilt(shelf.store)


async def test_messages_are_numbered_by_their_places(log: Log) -> None:
    await ask(log, "r1")
    await ask(log, "r2")
    lines = await log.find(Query(MESSAGES, {"tenant": TENANT, "conversation": "c1"}, "place"))
    assert [(line["place"], line["content"]) for line in lines] == [(2, "r1"), (3, "r2")]
    line = await log.get(CONVERSATIONS, tenant=TENANT, id="c1")
    assert line is not None
    assert line["title"] == "a title"
    assert line["spoken_at"] >= line["opened_at"]


async def history(log: Log, chance: random.Random) -> None:
    """Runs and talks of three tenants in every state, many at a time."""

    async def live(number: int) -> None:
        tenant, run = f"t{number % 3}", f"r{number}"
        await ask(log, run, f"c{number % 5}", tenant)
        course: list[Event] = [
            RunClaimed("w", 1),
            StageChanged("planning"),
            AttemptStarted(1, "thinker", "m/1"),
            StageChanged("answering"),
            RunFinished(chance.choice(["completed", "stopped", "failed"]), "answer", "code", "detail"),
        ]
        spout = log.spout(stream(run, "run", tenant), fence=0, actor="m")
        for event in course[: chance.randrange(6)]:
            await log.append(Entry(stream(run, "run", tenant), (event,)))
            if not event.TERMINAL:
                spout.pour("content", 1, ["text"])
                await spout.below(0)

    await soon(asyncio.gather(*map(live, range(60))))


async def test_what_is_remembered_and_forgotten_is_what_the_whole_log_gives(shelf: Shelf, log: Log) -> None:
    """Sums and lines that were dropped as well, over a restart, and with what was erased no longer there to be read."""
    name, chance = stream("main", "memory"), random.Random(9)
    for number in range(60):
        ident = f"m{chance.randrange(12)}"
        course: list[Event] = [
            MemoryStored(f"m{number % 12}", f"text {number}", scope="global", tainted=number % 2 == 0),
            MemoryEdited(ident, f"edit {number}"),
            MemoryAccepted(ident),
            MemoryUsed((Remembered(ident, "x"), Remembered("nobody", "y"), Remembered(ident, "x"))),
            MemoryForgotten(ident),
        ]
        await log.append(Entry(name, (chance.choice(course[:1] + course),)))
    rows = [row for row in await everything(log, name) if b'"m3"' in row.data]
    gone = Erasure(name, tuple(row.first for row in rows), "asked for")
    await log.append(Entry(name, (MemoryForgotten("m3"),)), erasing=[gone])
    assert kept(shelf.store) == rebuilt(shelf.store)
    assert any(line["use_count"] for line in kept(shelf.store)["memory"])
    shelf.open()
    assert kept(shelf.store) == rebuilt(shelf.store)


async def test_adding_to_and_dropping_what_is_not_there_does_nothing(shelf: Shelf, log: Log) -> None:
    name = stream("main", "memory")
    await log.append(Entry(name, (MemoryUsed((Remembered("nobody", "y"),)), MemoryForgotten("nobody"))))
    assert kept(shelf.store)["memory"] == []


async def test_users_and_tokens_are_what_the_whole_log_gives(shelf: Shelf, log: Log) -> None:
    chance = random.Random(10)
    for number in range(60):
        token = f"t{number % 12}"
        course: list[Event] = [
            TokenIssued(token, "f" * 64, f"person:{number}", chance.choice(["viewer", "owner"]), "mine", 5.5),
            TokenUsed(token),
            TokenRevoked(token, "person:owner"),
        ]
        await log.append(Entry(stream(token, "token", f"tenant{number % 2}"), (chance.choice(course),)))
        people: list[Event] = [UserAdded(f"n{number}", "member"), UserChanged(role="viewer"), UserRemoved()]
        await log.append(Entry(stream(f"u{number % 7}", "user", f"tenant{number % 2}"), (chance.choice(people),)))
    assert kept(shelf.store) == rebuilt(shelf.store)
    assert any(line["revoked_at"] and line["used_at"] for line in kept(shelf.store)["token"])
    assert {line["removed"] for line in kept(shelf.store)["user"]} == {0, 1}
    shelf.open()
    assert kept(shelf.store) == rebuilt(shelf.store)


async def test_a_deleted_conversation_leaves_no_line_and_no_word_but_what_was_spent(shelf: Shelf, log: Log) -> None:
    desk = Desk(log, SystemIds(), shelf.clock)
    for number in range(4):
        run = stream(f"r{number}", "run")
        await ask(log, f"r{number}", f"c{number % 2}")
        course: list[Event] = [
            RunClaimed("w", 1),
            AttemptStarted(1, "thinker", "m/1"),
            AttemptFinished(1, "thinker", "stop", "secret words", usage=Usage(7, 5)),
            InterventionAccepted(f"i{number}", f"r{number}", "steer", "secret words"),
            RunFinished("completed", "secret words"),
        ]
        await log.append(Entry(run, tuple(course)))
        said = MessageAdded("assistant", "secret words", f"r{number}")
        await log.append(Entry(stream(f"c{number % 2}"), (said, ConversationRenamed("secret title"))))
        after = AfterRequested(f"r{number}", f"c{number % 2}", "secret words", "secret words")
        await log.append(Entry(stream(f"r{number}", "after"), (after,)))

    async def lookbacks(run: str) -> list[str]:
        return [run]

    spent = kept(shelf.store)["usage"]
    await delete_conversation(desk, LOCAL_OWNER, "c0", lookbacks)
    left = kept(shelf.store)
    assert left == rebuilt(shelf.store)
    assert left["usage"] == spent
    assert {line["id"] for line in left["run"]} == {"r1", "r3"} == {line["run"] for line in left["intervention"]}
    assert {line["conversation"] for line in (*left["message"], *left["title_term"])} == {"c1"}
    assert await log.verify() == []
    shelf.open()
    assert kept(shelf.store) == left == rebuilt(shelf.store)


async def test_a_table_that_is_new_or_had_another_shape_is_filled_from_the_log(shelf: Shelf, log: Log) -> None:
    """As a later release finds the log of an earlier one."""
    await history(log, random.Random(10))
    before = kept(shelf.store)
    if isinstance(shelf.store, SqliteStore):
        shelf.close()
        with contextlib.closing(apsw.Connection(str(shelf.path))) as file:
            file.execute("DROP TABLE view_run")
            file.execute("ALTER TABLE view_message ADD COLUMN mood TEXT")
        shelf.open()
    assert kept(shelf.store) == before == rebuilt(shelf.store)


async def test_filling_that_was_cut_off_is_done_once_more(shelf: Shelf, log: Log) -> None:
    await history(log, random.Random(11))
    before = kept(shelf.store)
    if isinstance(shelf.store, SqliteStore):
        shelf.close()
        with contextlib.closing(apsw.Connection(str(shelf.path))) as file:
            file.execute("DROP TABLE view_run")

        def cut(names: frozenset[str]) -> None:
            raise InterruptedError(*names)

        store = SqliteStore(shelf.path)
        with pytest.raises(InterruptedError, match="run"):
            store.prepare(TABLES, cut)
        store.close()
        shelf.open()
    assert kept(shelf.store) == before
