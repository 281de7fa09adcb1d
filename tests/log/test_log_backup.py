"""A backup is whole, private, and made while everything goes on."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from logroom import PATIENCE_S, RUN, TALK, Shelf, everything, gapless, kept, rebuilt, say, texts_of
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.kernel.errors import Invalid, Unavailable
from quarterdeck.log.log import Log


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf("sqlite", tmp_path / "data")
    yield shelf
    shelf.close()


async def test_a_backup_under_load_holds_all_that_was_acknowledged_before_it(shelf: Shelf, tmp_path: Path) -> None:
    log, target, stop = shelf.open(), tmp_path / "copy" / "log.db", asyncio.Event()
    target.parent.mkdir()

    async def load() -> None:
        spout = log.spout(RUN, fence=0, actor="m")
        number = 0
        while not stop.is_set():
            spout.pour("content", 1, [str(number)])
            await say(log, TALK, number)
            number += 1

    loading = asyncio.ensure_future(load())
    async with asyncio.timeout(PATIENCE_S):
        cursor = log.follow(TALK)
        while cursor.seq < 100:
            await cursor.rows()
        before = cursor.seq
        await log.backup(str(target))
        stop.set()
        await loading
    copy = SqliteStore(target)
    try:
        state = copy.stream(TALK)
        assert state is not None
        assert before <= state.head
        rows = copy.rows(state, 0, 10**6)
        assert gapless(rows)
        assert texts_of(rows) == [str(n) for n in range(state.head)]
        assert kept(copy) == rebuilt(copy)
    finally:
        copy.close()


async def test_a_backup_opens_verifies_and_goes_on(shelf: Shelf, tmp_path: Path) -> None:
    log = shelf.open()
    await say(log, TALK, "a", "b")
    (tmp_path / "copy").mkdir()
    await log.backup(str(tmp_path / "copy" / "log.db"))
    copy = Shelf("sqlite", tmp_path / "copy")
    restored = copy.open()
    try:
        assert await restored.verify() == []
        assert await say(restored, TALK, "c") == (3, 3)
        assert texts_of(await everything(restored, TALK)) == ["a", "b", "c"]
    finally:
        copy.close()


async def test_a_backup_is_readable_by_its_owner_alone(shelf: Shelf, tmp_path: Path) -> None:
    log = shelf.open()
    await say(log, TALK, "a")
    await log.backup(str(tmp_path / "copy.db"))
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600


async def test_a_backup_overwrites_nothing(shelf: Shelf, tmp_path: Path) -> None:
    log, target = shelf.open(), tmp_path / "copy.db"
    target.write_text("precious")
    with pytest.raises(Unavailable) as refused:
        await log.backup(str(target))
    assert refused.value.code == "backup_exists"
    assert target.read_text() == "precious"


async def test_a_backup_that_cannot_be_written_leaves_nothing_behind(shelf: Shelf, tmp_path: Path) -> None:
    log = shelf.open()
    with pytest.raises(Unavailable):
        await log.backup(str(tmp_path / "nowhere" / "copy.db"))
    assert log.broken is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


async def test_memory_says_that_it_has_no_backup(tmp_path: Path) -> None:
    shelf = Shelf("memory", tmp_path)
    log: Log = shelf.open()
    with pytest.raises(Invalid):
        await log.backup(str(tmp_path / "copy.db"))
    shelf.close()
