"""kill -9 at every point after a run, and of a forgetting: nothing twice, nothing lost, nothing left over."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from proof_server import LAUNCHER, START_S, ServerProcess

from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock
from quarterdeck.events.after import AfterFinished, AfterRequested, MemoryKept, MemoryPolicyDecided
from quarterdeck.events.base import Event
from quarterdeck.events.memory import LessonProposed, MemoryStored
from quarterdeck.kernel.ids import StreamName, after_stream, experience_stream, memory_stream
from quarterdeck.kernel.scope import LOCAL_TENANT
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Query
from quarterdeck.views.memory import AFTERS
from quarterdeck.views.tables import TABLES, VIEWS

pytestmark = pytest.mark.proof

BOUND_S = 30.0
KILLED = -9
MEMORY, EXPERIENCE = memory_stream(LOCAL_TENANT), experience_stream(LOCAL_TENANT)
LOOK = after_stream(LOCAL_TENANT, "r1")
SECRET = "бирюзовый-носорог"
POLICY = {"should_store": True, "memory_type": "fact", "summary": "Likes tea.", "importance": 0.5, "scope": "global"}
TURNS = [
    {"when": '"assistant": "decide"', "json": POLICY},
    {"when": "The exchange", "content": json.dumps(POLICY) + " Reusable lesson: pour slowly."},
]
# Where the server is killed, and how often the look back has been claimed when all is over.
POINTS = {
    "before the claim": ("before:after.claimed", 1),
    "the log is about to begin anew for the claim": ("unsynced:after.claimed", 1),
    "claimed, nobody asked": ("after:after.claimed", 2),
    "the policy answered, nothing says so": ("before:after.memory_policy_decision", 2),
    "the memory is written, not synced": ("unsynced:after.memory_policy_decision", 2),
    "the memory is synced, not returned": ("synced:after.memory_policy_decision", 2),
    "the memory is committed, nobody knows": ("after:after.memory_policy_decision", 2),
    "the critic answered, nothing says so": ("before:after.reflection_completed", 2),
    "the lesson is committed, nobody knows": ("after:after.reflection_completed", 2),
    "before the end": ("before:after.finished", 2),
    "the end is committed, nobody knows": ("after:after.finished", 1),
}
FORGETTING = {
    "before it is committed": ("before:memory.forgotten", True),
    "written, not synced": ("unsynced:memory.forgotten", False),
    "synced, not returned": ("synced:memory.forgotten", False),
    "committed, the files still hold it": ("after:memory.forgotten", False),
}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ServerProcess]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": TURNS}))
    server = ServerProcess(tmp_path / "data", "http://127.0.0.1:1", QUARTERDECK_MODEL=f"scripted/{script}")
    yield server
    await server.close()


def opened(folder: Path) -> Log:
    return Log(SqliteStore(folder / "quarterdeck.db"), SystemClock(), TABLES, VIEWS)


async def seed(server: ServerProcess, *entries: Entry) -> None:
    log = opened(server.folder)
    await log.append(*entries)
    await log.close()


async def killed(server: ServerProcess, kill_at: str) -> None:
    """Start it so that it is killed while it takes up what is open; it may not even have said where it is."""
    words = ("serve", "--port", "0", "--data-dir", str(server.folder))
    with server.log.open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(LAUNCHER), kill_at, *words, stdout=log, stderr=log, env=server.settings
        )
    async with asyncio.timeout(START_S):
        assert await process.wait() == KILLED


async def nothing_open(folder: Path) -> bool:
    """As somebody beside the server sees it."""
    copy = folder.with_name("look")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*-shm", "*.lock"))
    log = opened(copy)
    try:
        return not await log.find(Query(AFTERS, {"open": 1}, "id"))
    finally:
        await log.close()


async def told(log: Log, name: StreamName) -> list[Event]:
    return [event_of(row) for row in await log.read(name)]


@pytest.mark.parametrize("point", POINTS)
async def test_a_look_back_that_was_killed_is_finished_once(point: str, server: ServerProcess) -> None:
    kill_at, claims = POINTS[point]
    asked = AfterRequested("r1", "c1", "I like tea", "Noted.", memory=True, reflection=True)
    await seed(server, Entry(LOOK, (asked,)))
    async with asyncio.timeout(BOUND_S):
        await killed(server, kill_at)
        await server.start()
        while not await nothing_open(server.folder):
            pass
        assert await server.stop() == 0
    log = opened(server.folder)
    kinds = [event.KIND for event in await told(log, LOOK)]
    memories = [event for event in await told(log, MEMORY) if isinstance(event, MemoryStored)]
    lessons = [event for event in await told(log, EXPERIENCE) if isinstance(event, LessonProposed)]
    assert (len(memories), len(lessons)) == (1, 1)
    for kind in ("after.memory_policy_decision", "after.memory_stored", "after.reflection_completed"):
        assert kinds.count(kind) == 1
    assert kinds[-1] == AfterFinished.KIND
    assert kinds.count("after.claimed") == claims
    assert await log.verify() == []
    await log.close()


@pytest.mark.parametrize("point", FORGETTING)
async def test_a_forgetting_that_was_killed_is_whole_or_was_not_asked_for(point: str, server: ServerProcess) -> None:
    kill_at, there = FORGETTING[point]
    looked = (
        AfterRequested("r1", "c", "m", "a", memory=True),
        MemoryPolicyDecided(True, "fact", SECRET),
        MemoryKept("m1"),
        AfterFinished(),
    )
    stored = (MemoryStored("m1", SECRET, "fact", "global", source_run="r1"), MemoryStored("m2", "kept", scope="global"))
    await seed(server, Entry(LOOK, looked), Entry(MEMORY, stored, cause="r1"))
    async with asyncio.timeout(BOUND_S):
        await server.start(kill_at)
        async with aiohttp.ClientSession() as session:
            # The first commit of a process begins the write-ahead log anew, which is a sync of its own.
            await session.post(f"{server.url}/v1/memory", json={"text": "something else"})
            with pytest.raises(aiohttp.ClientError):
                await session.delete(f"{server.url}/v1/memory/m1")
            assert await server.gone() == KILLED
            await server.start()
            async with session.get(f"{server.url}/v1/memory/m1") as answer:
                assert answer.status == (200 if there else 404)
            assert bool(scanned(server.folder)) is there
            async with session.delete(f"{server.url}/v1/memory/m1") as answer:
                assert answer.status == (204 if there else 404)
            assert scanned(server.folder) == []
            async with session.get(f"{server.url}/v1/memory/m2") as answer:
                assert (await answer.json())["text"] == "kept"
        assert await server.stop() == 0
    assert scanned(server.folder) == []
    log = opened(server.folder)
    assert await log.verify() == []
    await log.close()


def scanned(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
