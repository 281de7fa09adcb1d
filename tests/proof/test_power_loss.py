"""The power is cut at many points of the real store under the real log: what was acknowledged is all there.

The same proof with weaker syncs must see losses, or it proves nothing.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import pytest
from powerloss_vfs import Disk

from logroom import HandClock, entry, gapless, kept, numbered, rebuilt, stored_rows, stream, texts_of
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.kernel.errors import Problem
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.log import Log
from quarterdeck.log.verify import troubles
from quarterdeck.views.tables import TABLES, VIEWS

pytestmark = pytest.mark.proof
POINTS = 250
FURNISHED = 0.85  # of the logs have their tables before the power goes for the first time
NAMES = itertools.count()


@dataclass
class Told:
    """What was submitted to each stream, in order, and how much of it was acknowledged."""

    submitted: dict[StreamName, list[str]] = field(default_factory=dict)
    acked: dict[StreamName, int] = field(default_factory=dict)
    lost: int = 0
    wrong: list[str] = field(default_factory=list)

    def submit(self, name: StreamName, texts: list[str]) -> list[str]:
        self.submitted.setdefault(name, []).extend(texts)
        return texts

    def answered(self, name: StreamName) -> None:
        self.acked[name] = len(self.submitted[name])

    def compare(self, store: SqliteStore) -> None:
        """What a store holds after an outage with what was told; from here on that is what there is."""
        for name, texts in self.submitted.items():
            rows = stored_rows(store, name)
            found = texts_of(rows)
            self.lost += max(0, self.acked.get(name, 0) - len(found))
            if found != texts[: len(found)] or not gapless(rows):
                self.wrong.append(f"{name} holds something else than was said")
            self.submitted[name] = found
        self.wrong += troubles(store)


async def write_until_dark(log: Log, chance: random.Random, told: Told, life: int) -> None:
    """Several writers that append, pour and number their appends, until the log refuses."""

    async def append(name: StreamName) -> None:
        for number in itertools.count(1):
            texts = [f"{life}.{number}.{n}" + "x" * chance.randrange(900) for n in range(chance.randrange(1, 4))]
            await log.append(numbered(name, number, *told.submit(name, texts), who=f"life {life}"))
            told.answered(name)

    async def pour(name: StreamName) -> None:
        spout = log.spout(name, fence=0, actor="model")
        for number in itertools.count():
            texts = [f"{life}.{number}.{n}" + "y" * chance.randrange(300) for n in range(chance.randrange(1, 9))]
            spout.pour("content", 1, told.submit(name, texts))
            await spout.below(0)
            told.answered(name)

    async def open_new_ones() -> None:
        for number in itertools.count():
            name = stream(f"new-{life}-{number}")
            await log.append(entry(name, *told.submit(name, ["only"])))
            told.answered(name)

    writers = [append(stream("a")), append(stream("b")), pour(stream("p", "run")), pour(stream("q", "run"))]
    async with asyncio.timeout(20):
        ends = await asyncio.gather(*writers, open_new_ones(), return_exceptions=True)
    assert all(isinstance(end, Problem) for end in ends), ends


def live(disk: Disk, path: Path, synchronous: str, told: Told, life: int) -> None:
    """Open the log, compare it with what was told, and write until the power goes; it may go at any step of this."""
    try:
        store = SqliteStore(path, vfs=disk.name, synchronous=synchronous)
    except Problem:
        return
    try:
        store._writer.pragma("wal_autocheckpoint", disk.chance.choice([4, 10, 30, 1000]))
        told.compare(store)
        log = Log(store, HandClock(), TABLES, VIEWS)
    except (Problem, apsw.Error):
        store.close()
        return
    asyncio.run(write_until_dark(log, disk.chance, told, life))
    log.close_now()


def furnish(disk: Disk, path: Path, synchronous: str) -> None:
    """Make the tables while there is power: that takes hundreds of steps, and few logs live for less."""
    disk.power_on(None)
    Log(SqliteStore(path, vfs=disk.name, synchronous=synchronous), HandClock(), TABLES, VIEWS).close_now()


def cut_power(seed: int, folder: Path, synchronous: str) -> Told:
    """One to three lives of a log, each ended in the dark; then what survived is opened in the ordinary way."""
    disk, told = Disk(f"power-{next(NAMES)}", random.Random(seed)), Told()
    try:
        if disk.chance.random() < FURNISHED:
            furnish(disk, folder / "log.db", synchronous)
        for life in range(disk.chance.choice([1, 1, 2, 3])):
            disk.power_on(disk.chance.randrange(1, 260))
            live(disk, folder / "log.db", synchronous, told, life)
        disk.power_on(None)
    finally:
        disk.unregister()
    for path in folder.glob("log.db*"):
        path.unlink()
    disk.onto_disk(folder)
    store = SqliteStore(folder / "log.db")
    told.compare(store)
    store.prepare(TABLES)
    if store._reader().pragma("integrity_check") != "ok":
        told.wrong.append("the database is damaged")
    if kept(store) != rebuilt(store):
        told.wrong.append("the read models differ from the log")
    store.close()
    return told


@dataclass
class Verdict:
    points: int = 0
    losing: int = 0
    acked: int = 0
    lost: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.points} points, {self.acked} acknowledged, {self.lost} lost at {self.losing} points"


def cut_power_often(points: int, folder: Path, synchronous: str) -> Verdict:
    verdict = Verdict()
    for seed in range(points):
        here = folder / str(seed)
        here.mkdir()
        told = cut_power(seed, here, synchronous)
        shutil.rmtree(here)
        verdict.points += 1
        verdict.losing += told.lost > 0
        verdict.lost += told.lost
        verdict.acked += sum(told.acked.values())
        verdict.wrong += [f"{seed}: {trouble}" for trouble in told.wrong]
    return verdict


def test_nothing_that_was_acknowledged_is_lost_when_the_power_goes(tmp_path: Path, rounds: int) -> None:
    verdict = cut_power_often(POINTS * rounds, tmp_path, "FULL")
    print(f"FULL: {verdict}")
    assert verdict.wrong == []
    assert verdict.lost == 0
    assert verdict.acked > verdict.points * 10


def test_the_proof_sees_what_weaker_syncs_lose(tmp_path: Path, rounds: int) -> None:
    verdict = cut_power_often(60 * rounds, tmp_path, "NORMAL")
    print(f"NORMAL: {verdict}")
    assert verdict.losing > verdict.points // 10
