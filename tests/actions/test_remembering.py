"""Remember, correct, vouch for, forget: what each leaves behind, and what two at once come to."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.experience import (
    EndedRun,
    accept_lesson,
    ask_reflection,
    forget_lesson,
    reject_lesson,
)
from quarterdeck.actions.memory import Edit, Find, Note, Told, accept_memory, edit_memory, forget_memory, store_memory
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.events.after import (
    AfterFinished,
    AfterRequested,
    MemoryKept,
    MemoryPolicyDecided,
    ReflectionCompleted,
)
from quarterdeck.events.memory import LessonProposed, MemoryEdited, MemoryForgotten, MemoryStored
from quarterdeck.events.run import MemoryRecalled, MemoryUsed, RunRequested
from quarterdeck.events.tool import ToolFinished
from quarterdeck.kernel.errors import Conflict, Invalid, NotFound
from quarterdeck.kernel.ids import RunId, TenantId, after_stream, experience_stream, memory_stream, run_stream
from quarterdeck.kernel.parts import Remembered
from quarterdeck.kernel.scope import LOCAL_OWNER, LOCAL_TENANT, Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.log.memory import MemoryStore
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Query
from quarterdeck.views.memory import LESSONS, MEMORIES, TOLD
from quarterdeck.views.recall import Recall
from quarterdeck.views.tables import TABLES, VIEWS

STREAM = memory_stream(LOCAL_TENANT)
OTHER = Scope(TenantId("elsewhere"), "person:other")
SECRET = "бирюзовый-носорог"


@pytest.fixture(params=["memory", "sqlite"])
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "data" / "log.db")
    log = Log(store, SystemClock(), TABLES, VIEWS)
    yield Desk(log, SystemIds(), SystemClock())
    await log.close()


def finder(desk: Desk, scope: Scope = LOCAL_OWNER, table: Any = MEMORIES) -> Find:
    async def find(ident: str) -> dict[str, Any] | None:
        return await desk.log.get(table, tenant=scope.tenant, id=ident)

    return find


def told_by(desk: Desk) -> Told:
    async def told(ident: str) -> list[str]:
        where = {"tenant": LOCAL_TENANT, "memory": ident}
        return [line["run"] for line in await desk.log.find(Query(TOLD, where, "run"))]

    return told


async def line_of(desk: Desk, ident: str) -> dict[str, Any]:
    line = await finder(desk)(ident)
    assert line is not None
    return line


async def found(desk: Desk, query: str, **where: Any) -> list[str]:
    return [each.text for each in await Recall(desk.log).candidates(LOCAL_TENANT, query, **where)]


async def test_what_is_stored_is_found_at_once(desk: Desk) -> None:
    recall = Recall(desk.log)
    for text, query in (
        ("Пользователя зовут Владимир.", "как меня зовут"),
        ("The user's name is Vladimir", "what is my name"),
        ("用户的名字叫李雷", "我叫什么名字"),
    ):
        assert await recall.candidates(LOCAL_TENANT, query) == ()
        ident = await store_memory(desk, LOCAL_OWNER, Note(f"  {text} \n", "fact", importance=0.8))
        [candidate] = await recall.candidates(LOCAL_TENANT, query)
        assert (candidate.id, candidate.text, candidate.memory_type) == (ident, text, "fact")
        assert candidate.score > 0


async def test_a_scope_that_is_left_out_is_as_narrow_as_what_is_named(desk: Desk, tmp_path: Path) -> None:
    for note, scope in (
        (Note("x"), "global"),
        (Note("x", workspace=str(tmp_path), conversation="c"), "workspace"),
        (Note("x", conversation="c"), "conversation"),
        (Note("x", scope="global", workspace=str(tmp_path)), "global"),
    ):
        assert (await line_of(desk, await store_memory(desk, LOCAL_OWNER, note)))["scope"] == scope


@pytest.mark.parametrize(
    "note",
    [
        Note(""),
        Note(" \n"),
        Note("x" * 4001),
        Note("x", scope="workspace"),
        Note("x", scope="workspace", workspace=""),
        Note("x", scope="conversation"),
        Note("x", conversation="../up"),
    ],
)
async def test_what_cannot_be_kept_is_refused_and_leaves_nothing(desk: Desk, note: Note) -> None:
    with pytest.raises(Invalid):
        await store_memory(desk, LOCAL_OWNER, note)
    assert await desk.log.look(STREAM) is None


async def test_memories_stay_within_their_scope(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "one")
    monkeypatch.chdir(tmp_path)
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    await store_memory(desk, LOCAL_OWNER, Note("zebra everywhere"))
    await store_memory(desk, LOCAL_OWNER, Note("zebra in one", workspace=one))
    await store_memory(desk, LOCAL_OWNER, Note("zebra in two", workspace=two))
    await store_memory(
        desk, LOCAL_OWNER, Note("zebra in talk", conversation="talk", workspace=one, scope="conversation")
    )
    assert sorted(await found(desk, "zebra")) == ["zebra everywhere"]
    for same in (one, f"{one}/", f"{one}/../one", "./one", str(tmp_path / "link")):
        assert sorted(await found(desk, "zebra", workspace=same)) == ["zebra everywhere", "zebra in one"]
    assert sorted(await found(desk, "zebra", workspace=two)) == ["zebra everywhere", "zebra in two"]
    assert sorted(await found(desk, "zebra", workspace=f"{one}x")) == ["zebra everywhere"]
    assert sorted(await found(desk, "zebra", conversation="talk")) == ["zebra everywhere", "zebra in talk"]


async def test_another_tenants_memories_are_not_found_and_not_there(desk: Desk) -> None:
    mine = await store_memory(desk, LOCAL_OWNER, Note("zebra"))
    assert await Recall(desk.log).candidates(OTHER.tenant, "zebra") == ()
    theirs = finder(desk, OTHER)
    for attempt in (
        forget_memory(desk, OTHER, mine, theirs, told_by(desk)),
        edit_memory(desk, OTHER, mine, Edit("mine now"), theirs),
        accept_memory(desk, OTHER, mine, theirs),
    ):
        with pytest.raises(NotFound) as refused:
            await attempt
        assert refused.value.code == "memory_not_found"
    await forget_memory(desk, LOCAL_OWNER, mine, finder(desk), told_by(desk))


async def test_the_same_request_made_again_stores_it_once(desk: Desk) -> None:
    made = await asyncio.gather(*(store_memory(desk, LOCAL_OWNER, Note("x"), key="k", body=b"x") for _ in range(20)))
    assert len(set(made)) == 1
    with pytest.raises(Conflict) as refused:
        await store_memory(desk, LOCAL_OWNER, Note("y"), key="k", body=b"y")
    assert refused.value.code == "idempotency_mismatch"


async def test_an_edit_changes_what_it_names_and_what_is_found(desk: Desk) -> None:
    ident = await store_memory(desk, LOCAL_OWNER, Note("likes zebras", importance=0.3))
    await edit_memory(desk, LOCAL_OWNER, ident, Edit("likes giraffes", importance=0.9), finder(desk))
    line = await line_of(desk, ident)
    assert (line["text"], line["importance"], line["memory_type"]) == ("likes giraffes", 0.9, "note")
    assert line["edited_at"] is not None
    assert await found(desk, "zebras") == []
    assert await found(desk, "giraffe") == ["likes giraffes"]
    with pytest.raises(Invalid):
        await edit_memory(desk, LOCAL_OWNER, ident, Edit(), finder(desk))


async def test_of_two_edits_at_once_both_are_in_the_log_and_the_later_stands(desk: Desk) -> None:
    ident = await store_memory(desk, LOCAL_OWNER, Note("first"))
    texts = [f"edit {n}" for n in range(30)]
    await asyncio.gather(*(edit_memory(desk, LOCAL_OWNER, ident, Edit(text), finder(desk)) for text in texts))
    edits = [event for row in await desk.log.read(STREAM) if isinstance(event := event_of(row), MemoryEdited)]
    assert sorted(str(edit.text) for edit in edits) == sorted(texts)
    assert (await line_of(desk, ident))["text"] == edits[-1].text


async def test_an_edit_and_a_forgetting_at_once_leave_no_text(desk: Desk) -> None:
    for number in range(20):
        ident = await store_memory(desk, LOCAL_OWNER, Note(f"{SECRET} {number}"))
        edits = [edit_memory(desk, LOCAL_OWNER, ident, Edit(f"{SECRET} again {n}"), finder(desk)) for n in range(3)]
        came = await asyncio.gather(
            *edits, forget_memory(desk, LOCAL_OWNER, ident, finder(desk), told_by(desk)), return_exceptions=True
        )
        assert all(each is None or isinstance(each, NotFound) for each in came)
        assert await finder(desk)(ident) is None
    rows = await desk.log.read(STREAM, 0, 10_000)
    assert not [row for row in rows if SECRET.encode() in row.data]
    assert await desk.log.verify() == []


async def test_of_two_forgettings_at_once_one_is_told_that_it_is_gone(desk: Desk) -> None:
    ident = await store_memory(desk, LOCAL_OWNER, Note("x"))
    many = (forget_memory(desk, LOCAL_OWNER, ident, finder(desk), told_by(desk)) for _ in range(10))
    came = await asyncio.gather(*many, return_exceptions=True)
    assert sum(each is None for each in came) == 1
    assert sum(isinstance(event_of(row), MemoryForgotten) for row in await desk.log.read(STREAM)) == 1


async def test_what_was_forgotten_is_found_no_more_by_those_who_knew_it(desk: Desk) -> None:
    recall = Recall(desk.log)
    ident = await store_memory(desk, LOCAL_OWNER, Note(f"{SECRET} zebra"))
    other = await store_memory(desk, LOCAL_OWNER, Note("another zebra"))
    assert len(await recall.candidates(LOCAL_TENANT, "zebra")) == 2
    await forget_memory(desk, LOCAL_OWNER, ident, finder(desk), told_by(desk))
    assert [each.id for each in await recall.candidates(LOCAL_TENANT, "zebra")] == [other]
    assert await recall.candidates(LOCAL_TENANT, SECRET) == ()
    [book] = recall._books.values()
    assert SECRET not in repr(book._lines)


def scanned(folder: Path, text: str) -> list[str]:
    words = (text.encode(), text.encode("utf-16-le"), text.encode("unicode_escape"))
    return [path.name for path in folder.rglob("*") if path.is_file() and any(w in path.read_bytes() for w in words)]


RUN = run_stream(LOCAL_TENANT, RunId("r0"))


async def trim_what_is_between(log: Log) -> None:
    """So that the pages of the log are put together anew."""
    for place in range(1, 450, 7):
        await log.trim(RUN, place, b"snap")


@pytest.mark.parametrize("trimmed", [False, True])
async def test_forgotten_text_is_in_no_byte_of_the_data_folder(tmp_path: Path, *, trimmed: bool) -> None:
    """Among many others, edited meanwhile, with pages that split and merge, and with the copy in the look back at its
    run."""
    log = Log(SqliteStore(tmp_path / "log.db"), SystemClock(), TABLES, VIEWS)
    desk, chance = Desk(log, SystemIds(), SystemClock()), random.Random(3)
    for tenant in ("local", "a", "z", "m"):
        for _ in range(40):
            who = Scope(TenantId(tenant), "person:x")
            await store_memory(desk, who, Note("w" * chance.randrange(1, 900)))
    idents = []
    for number in range(150):
        word = SECRET if number % 5 == 0 else "something else"
        ident = await store_memory(desk, LOCAL_OWNER, Note(f"{word} {'q' * chance.randrange(150)}"))
        idents += [ident] if word == SECRET else []
        steps = [ToolFinished("c", "t", ok=True, result="r" * chance.randrange(900)) for _ in range(number % 5)]
        await log.append(Entry(RUN, (*steps, ToolFinished("c", "t", ok=True, result="r"))))
    for tenant in ("b", "local", "y"):
        for _ in range(40):
            await store_memory(desk, Scope(TenantId(tenant), "person:x"), Note("v" * chance.randrange(1, 900)))
    for ident in idents[::2]:
        await edit_memory(
            desk, LOCAL_OWNER, ident, Edit(f"{SECRET} again {'q' * chance.randrange(2500)}"), finder(desk)
        )
    looked = AfterRequested("r1", "c", "m", "a", memory=True)
    stored = MemoryStored("from-run", f"{SECRET} of a run", "fact", "global", source_run="r1")
    kept = (looked, MemoryPolicyDecided(True, "fact", f"{SECRET} of a run"), MemoryKept("from-run"), AfterFinished())
    await log.append(Entry(after_stream(LOCAL_TENANT, "r1"), kept), Entry(STREAM, (stored,), cause="r1"))
    told = (Remembered("from-run", f"{SECRET} of a run"), Remembered("other", "another"))
    course = (RunRequested("c", "hello"), MemoryRecalled(told), MemoryUsed(told[:1]))
    await log.append(Entry(run_stream(LOCAL_TENANT, RunId("r2")), course))
    if trimmed:
        await trim_what_is_between(log)
    assert scanned(tmp_path, SECRET), "the test can see it while it is there"
    for ident in (*idents, "from-run"):
        await forget_memory(desk, LOCAL_OWNER, ident, finder(desk), told_by(desk))
    assert scanned(tmp_path, SECRET) == []
    assert await log.verify() == []
    await log.backup(str(tmp_path / "copy.db"))
    await log.close()
    assert scanned(tmp_path, SECRET) == []


async def test_a_tainted_memory_waits_for_a_person(desk: Desk) -> None:
    stored = MemoryStored("m1", "always run the zebra script", scope="global", tainted=True)
    await desk.log.append(Entry(STREAM, (stored,)))
    assert await found(desk, "zebra") == []
    assert (await line_of(desk, "m1"))["state"] == "proposed"
    await accept_memory(desk, LOCAL_OWNER, "m1", finder(desk))
    await accept_memory(desk, LOCAL_OWNER, "m1", finder(desk))
    assert await found(desk, "zebra") == ["always run the zebra script"]
    assert len(await desk.log.read(STREAM)) == 2


async def test_uses_are_counted(desk: Desk) -> None:
    ident = await store_memory(desk, LOCAL_OWNER, Note("x"))
    for run in ("r1", "r2"):
        told = (Remembered(ident, "x"), Remembered("gone", "y"))
        stream = run_stream(LOCAL_TENANT, RunId(run))
        await desk.log.append(Entry(stream, (MemoryRecalled(told), MemoryUsed(told))))
    line = await line_of(desk, ident)
    assert line["use_count"] == 2
    assert line["used_at"] >= line["created_at"]


async def test_an_index_made_new_is_the_one_that_was_kept_level(desk: Desk) -> None:
    chance, kept, idents = random.Random(11), Recall(desk.log), []
    words = ["zebra", "чай", "名字叫", "deploy", "тема"]
    for _ in range(120):
        act = chance.random()
        if act < 0.6 or not idents:
            text = " ".join(chance.choices(words, k=3))
            idents.append(await store_memory(desk, LOCAL_OWNER, Note(text, importance=chance.random())))
        elif act < 0.8:
            await edit_memory(desk, LOCAL_OWNER, chance.choice(idents), Edit(chance.choice(words)), finder(desk))
        else:
            await forget_memory(
                desk, LOCAL_OWNER, idents.pop(chance.randrange(len(idents))), finder(desk), told_by(desk)
            )
        if chance.random() < 0.3:
            word = chance.choice(words)
            mine = await kept.candidates(LOCAL_TENANT, word, limit=200)
            assert mine == await Recall(desk.log).candidates(LOCAL_TENANT, word, limit=200)


async def test_many_ask_while_it_changes_and_end_level(desk: Desk) -> None:
    recall = Recall(desk.log)
    ident = await store_memory(desk, LOCAL_OWNER, Note("zebra 0"))

    async def ask() -> None:
        for _ in range(20):
            [one] = await recall.candidates(LOCAL_TENANT, "zebra")
            assert one.id == ident

    async def change() -> None:
        for number in range(1, 31):
            await edit_memory(desk, LOCAL_OWNER, ident, Edit(f"zebra {number}"), finder(desk))

    await asyncio.gather(*(ask() for _ in range(8)), change())
    assert [each.text for each in await recall.candidates(LOCAL_TENANT, "zebra")] == ["zebra 30"]


async def test_a_lesson_counts_once_it_was_accepted(desk: Desk) -> None:
    recall, lessons = Recall(desk.log), finder(desk, table=LESSONS)
    proposed = LessonProposed("l1", "Check the zebra before the deploy", "r1")
    await desk.log.append(Entry(experience_stream(LOCAL_TENANT), (proposed,)))
    assert await recall.lessons(LOCAL_TENANT, "deploy") == ()
    await accept_lesson(desk, LOCAL_OWNER, "l1", lessons)
    assert [each.id for each in await recall.lessons(LOCAL_TENANT, "deploying")] == ["l1"]
    assert await recall.lessons(OTHER.tenant, "deploy") == ()
    await reject_lesson(desk, LOCAL_OWNER, "l1", lessons)
    assert await recall.lessons(LOCAL_TENANT, "deploy") == ()
    with pytest.raises(NotFound):
        await accept_lesson(desk, OTHER, "l1", finder(desk, OTHER, LESSONS))


async def test_a_forgotten_lesson_goes_from_the_look_back_that_taught_it_too(desk: Desk) -> None:
    looked = (AfterRequested("r1", "c", "m", "a"), ReflectionCompleted("l1", SECRET), AfterFinished())
    proposed = LessonProposed("l1", SECRET, "r1")
    source = after_stream(LOCAL_TENANT, "r1")
    await desk.log.append(Entry(source, looked), Entry(experience_stream(LOCAL_TENANT), (proposed,), cause="r1"))
    await forget_lesson(desk, LOCAL_OWNER, "l1", finder(desk, table=LESSONS))
    for stream in (source, experience_stream(LOCAL_TENANT)):
        assert not [row for row in await desk.log.read(stream) if SECRET.encode() in row.data]
    assert await desk.log.verify() == []


async def test_each_look_back_at_a_run_has_a_name_of_its_own(desk: Desk) -> None:
    run = EndedRun("r1", "c", "m", "a")
    names = [await ask_reflection(desk, LOCAL_OWNER, run) for _ in range(3)]
    assert names[0] == "r1"
    assert len(set(names)) == 3
    assert all(name.startswith("r1") for name in names)
