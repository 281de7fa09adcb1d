"""A disk that is full refuses writing until there is room; one that fails is never written again; reading goes on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from faulty_disk import FaultyDisk, faulty_disk

from logroom import RUN, TALK, HandClock, Shelf, everything, read_to, say, soon, stream, texts_of
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.kernel.errors import StorageBroken, StorageFull
from quarterdeck.log.log import Log
from quarterdeck.views.tables import TABLES, VIEWS


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    with faulty_disk() as disk:
        yield disk


@pytest.fixture
def shelf(disk: FaultyDisk, tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf("sqlite", tmp_path)
    yield shelf
    disk.fault = None
    shelf.close()


async def read_on(log: Log, expected: list[str]) -> None:
    """All ways of reading work: a page, a reader from the store, one that waits, the proof of the chain."""
    assert texts_of(await log.read(TALK)) == expected
    assert texts_of(await everything(log, TALK)) == expected
    assert texts_of(await read_to(log.follow(TALK), len(expected))) == expected
    waiting = log.follow(TALK, len(expected))
    reader = asyncio.ensure_future(waiting.rows())
    waiting.nudge()
    assert not await soon(reader)
    assert await log.verify() == []


async def test_a_full_disk_refuses_appends_and_takes_them_again_when_there_is_room(
    disk: FaultyDisk, shelf: Shelf
) -> None:
    log = shelf.open(tail=1)
    await say(log, TALK, "before")
    disk.fault = "full"
    for _ in range(3):
        with pytest.raises(StorageFull) as refused:
            await say(log, TALK, "refused")
        assert refused.value.code == "storage_full"
    assert log.broken is None
    await read_on(log, ["before"])
    disk.fault = None
    assert await say(log, TALK, "after") == (2, 2)
    await read_on(log, ["before", "after"])
    assert disk.struck >= 3


async def test_a_full_disk_stops_a_spout_and_a_new_one_goes_on(disk: FaultyDisk, shelf: Shelf) -> None:
    log = shelf.open()
    spout = log.spout(RUN, fence=0, actor="m")
    spout.pour("content", 1, ["kept"])
    await soon(spout.below(0))
    disk.fault = "full"
    spout.pour("content", 1, ["refused"])
    with pytest.raises(StorageFull):
        await soon(spout.below(0))
    disk.fault = None
    with pytest.raises(StorageFull):  # what was poured is lost: its writer must know before it goes on
        spout.pour("content", 1, ["behind it"])
    again = log.spout(RUN, fence=0, actor="m")
    again.pour("content", 2, ["new"])
    await soon(again.below(0))
    assert texts_of(await everything(log, RUN)) == ["kept", "new"]


async def test_a_full_disk_refuses_a_whole_append_to_many_streams(disk: FaultyDisk, shelf: Shelf) -> None:
    log = shelf.open()
    await say(log, TALK, "before")
    disk.fault = "full"
    jobs = [say(log, stream(f"s{n}"), "refused") for n in range(20)]
    answers = await asyncio.gather(*jobs, return_exceptions=True)
    assert all(isinstance(answer, StorageFull) for answer in answers)
    disk.fault = None
    for number in range(20):
        assert await say(log, stream(f"s{number}"), "taken") == (1, 1)
    assert await log.verify() == []


async def test_trimming_and_forgetting_on_a_full_disk_are_refused_and_harm_nothing(
    disk: FaultyDisk, shelf: Shelf
) -> None:
    log = shelf.open()
    await say(log, TALK, *range(5))
    disk.fault = "full"
    with pytest.raises(StorageFull):
        await log.trim(TALK, 3, b"snap")
    disk.fault = None
    assert await say(log, TALK, "after") == (6, 6)
    await read_on(log, ["0", "1", "2", "3", "4", "after"])
    assert (await log.trim(TALK, 3, b"snap")).floor == 3


@pytest.mark.parametrize("fault", ["sync", "write"])
async def test_a_disk_that_failed_once_is_never_written_again(disk: FaultyDisk, shelf: Shelf, fault: str) -> None:
    log = shelf.open(tail=1)
    await say(log, TALK, "before")
    disk.fault = fault
    with pytest.raises(StorageBroken) as refused:
        await say(log, TALK, "refused")
    assert refused.value.code == "storage_broken"
    disk.fault, struck = None, disk.struck
    for _ in range(3):
        with pytest.raises(StorageBroken):
            await say(log, TALK, "refused too")
    with pytest.raises(StorageBroken):
        await log.trim(TALK, 1, b"snap")
    with pytest.raises(StorageBroken):
        await log.forget_onces(1e12)
    spout = log.spout(RUN, fence=0, actor="m")
    spout.pour("content", 1, ["refused"])
    with pytest.raises(StorageBroken):
        await soon(spout.below(0))
    assert log.broken is not None
    assert disk.struck == struck
    await read_on(log, ["before"])


async def test_after_a_restart_a_log_that_broke_holds_all_that_was_acknowledged(disk: FaultyDisk, shelf: Shelf) -> None:
    log = shelf.open()
    await say(log, TALK, "before")
    disk.fault = "sync"
    with pytest.raises(StorageBroken):
        await say(log, TALK, "unsure")
    disk.fault = None
    again = shelf.open()
    texts = texts_of(await everything(again, TALK))
    assert texts in (["before"], ["before", "unsure"])
    assert await say(again, TALK, "after") == (len(texts) + 1, len(texts) + 1)
    assert await again.verify() == []


async def test_a_database_that_may_grow_no_more_says_full_and_goes_on_when_it_may(shelf: Shelf) -> None:
    log = shelf.open()
    await say(log, TALK, "before")
    assert isinstance(shelf.store, SqliteStore)
    writer = shelf.store._writer
    writer.pragma("max_page_count", writer.pragma("page_count") + 1)
    with pytest.raises(StorageFull):
        await say(log, TALK, "x" * 100_000)
    await read_on(log, ["before"])
    writer.pragma("max_page_count", 10**6)
    assert await say(log, TALK, "after") == (2, 2)


async def test_a_log_that_cannot_begin_lets_its_folder_go(disk: FaultyDisk, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.db")
    disk.fault = "full"
    with pytest.raises(StorageFull):
        Log(store, HandClock(), TABLES, VIEWS)
    disk.fault = None
    log = Log(SqliteStore(tmp_path / "log.db"), HandClock(), TABLES, VIEWS)
    assert await say(log, TALK, "a") == (1, 1)
    await log.close()


def test_a_real_disk_without_room_refuses_and_goes_on_when_something_was_deleted(tmp_path: Path) -> None:
    script = Path(__file__).with_name("small_disk.py")
    shell = 'mount -t tmpfs -o size=6m tmpfs "$1" 2>/dev/null || exit 77; exec "$2" "$3" "$1"'
    command = ["unshare", "-rm", "sh", "-c", shell, "sh", str(tmp_path), sys.executable, str(script)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        pytest.skip("no `unshare` here")
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this machine lets nobody mount a small disk")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "in order"
