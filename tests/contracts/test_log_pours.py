"""Pouring text: gathered into few rows, one place for each delta, in order, and never too far ahead."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Iterator

import pytest

from logroom import END, REQUEST, RUN, Shelf, everything, gapless, on_loops_of_their_own, said, soon, stream, texts_of
from quarterdeck.events.run import ContentStreamed, ReasoningStreamed
from quarterdeck.kernel.errors import Closed, Invalid
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of
from quarterdeck.log.spout import LONGEST_ROW, Spout


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def spout_of(log: Log, name: StreamName = RUN) -> Spout:
    return log.spout(name, fence=0, actor="model")


async def test_each_delta_has_a_place_of_its_own_in_the_order_it_was_poured(log: Log) -> None:
    spout = spout_of(log)
    for number in range(200):
        spout.pour("content", 1, [f"{number}a", f"{number}b"])
        if number % 17 == 0:
            await asyncio.sleep(0)
    await soon(spout.below(0))
    rows = await everything(log, RUN)
    assert texts_of(rows) == [f"{n}{x}" for n in range(200) for x in "ab"]
    assert gapless(rows)
    assert rows[-1].last == 400


async def test_what_gathers_while_nothing_is_committed_shares_one_row(log: Log) -> None:
    spout = spout_of(log)
    for number in range(100):
        spout.pour("content", 1, [str(number)])
    await soon(spout.below(0))
    assert len(await everything(log, RUN)) < 100


async def test_kinds_and_attempts_are_never_mixed_in_a_row(log: Log) -> None:
    spout = spout_of(log)
    poured = [("content", 1, "a"), ("content", 1, "b"), ("reasoning", 1, "c"), ("content", 1, "d"), ("content", 2, "e")]
    for kind, attempt, text in poured:
        spout.pour(kind, attempt, [text])  # type: ignore[arg-type]
    await soon(spout.below(0))
    found = []
    for row in await everything(log, RUN):
        event = event_of(row)
        assert isinstance(event, ContentStreamed | ReasoningStreamed)
        found += [(event.KIND.removeprefix("run."), event.attempt, text) for text in event.texts]
    assert found == poured


async def test_text_and_appends_keep_the_order_in_which_they_were_made(log: Log) -> None:
    chance, spout, expected, appends = random.Random(5), spout_of(log), [], []
    for number in range(300):
        if chance.random() < 0.3:
            appends.append(asyncio.ensure_future(log.append(Entry(RUN, (said(number),)))))
            await asyncio.sleep(0)
        else:
            spout.pour("content", 1, [str(number)])
        expected.append(str(number))
    await asyncio.gather(*appends)
    await soon(spout.below(0))
    assert texts_of(await everything(log, RUN)) == expected


async def test_many_runs_pour_at_once_and_none_gets_anothers_text(log: Log) -> None:
    names = [stream(f"r{n}", "run") for n in range(40)]

    async def write(name: StreamName) -> None:
        spout = spout_of(log, name)
        for number in range(50):
            spout.pour("content", 1, [f"{name.key}:{number}"])
            if number % 7 == 0:
                await spout.below(3)
        await spout.below(0)

    await soon(asyncio.gather(*map(write, names)))
    for name in names:
        assert texts_of(await everything(log, name)) == [f"{name.key}:{n}" for n in range(50)]


def test_runs_on_several_event_loops_pour_at_once(shelf: Shelf) -> None:
    log = shelf.open()

    async def write(who: int) -> None:
        spout = spout_of(log, stream(f"r{who}", "run"))
        for number in range(200):
            spout.pour("content", 1, [str(number)])
            if number % 11 == 0:
                await spout.below(5)
        await spout.below(0)

    on_loops_of_their_own(4, write)
    for who in range(4):
        state = shelf.store.stream(stream(f"r{who}", "run"))
        assert state is not None
        assert texts_of(shelf.store.rows(state, 0, 1000)) == [str(n) for n in range(200)]


async def test_waiting_for_a_spout_never_hangs_however_the_threads_change_places(log: Log, hasty: None) -> None:
    spout = spout_of(log)
    for number in range(3000):
        spout.pour("content", 1, ["x"])
        if number % 50 == 0:
            await soon(spout.below(0))
    await soon(spout.below(0))
    assert spout.waiting == 0


async def test_below_waits_until_no_more_than_that_is_uncommitted(log: Log) -> None:
    spout = spout_of(log)
    for _ in range(20):
        spout.pour("content", 1, ["a"] * 50)
        await soon(spout.below(100))
        assert spout.waiting <= 100
    await soon(spout.below(0))
    assert (await everything(log, RUN))[-1].last == 1000


async def test_no_text_takes_no_place(log: Log) -> None:
    spout = spout_of(log)
    spout.pour("content", 1, [])
    spout.pour("content", 1, ["a"])
    spout.pour("content", 1, [])
    await soon(spout.below(0))
    assert texts_of(await everything(log, RUN)) == ["a"]


async def test_the_list_that_was_poured_stays_the_callers_own(log: Log) -> None:
    spout, first, second = spout_of(log), ["a"], ["b"]
    spout.pour("content", 1, first)
    spout.pour("content", 1, second)
    assert (first, second) == (["a"], ["b"])
    first.append("changed later")
    await soon(spout.below(0))
    assert texts_of(await everything(log, RUN)) == ["a", "b"]


async def test_text_behind_the_last_event_is_refused_and_the_spout_says_so_from_then_on(log: Log) -> None:
    await log.append(Entry(RUN, (REQUEST, END)))
    spout = spout_of(log)
    spout.pour("content", 1, ["late"])
    with pytest.raises(Closed):
        await soon(spout.below(0))
    with pytest.raises(Closed):
        spout.pour("content", 1, ["later"])
    assert len(await everything(log, RUN)) == 2


async def test_text_that_cannot_be_stored_stops_its_spout_alone(log: Log) -> None:
    bad, good = spout_of(log), spout_of(log, stream("other", "run"))
    bad.pour("content", 1, ["half a character \ud83d"])
    good.pour("content", 1, ["whole"])
    with pytest.raises(Invalid):
        await soon(bad.below(0))
    await soon(good.below(0))
    assert log.broken is None


async def test_what_was_poured_is_in_the_store_when_below_zero_returns(shelf: Shelf, log: Log) -> None:
    spout = spout_of(log)
    spout.pour("reasoning", 1, ["a", "b"])
    spout.pour("content", 1, ["c"])
    await soon(spout.below(0))
    again = shelf.open()
    assert [row.kind for row in await again.read(RUN)] == ["run.reasoning", "run.content"]


async def test_a_row_has_a_bound_however_much_gathers(log: Log) -> None:
    spout = spout_of(log)
    for number in range(20_000):
        spout.pour("content", 1, [str(number)])
    await soon(spout.below(0))
    rows = await everything(log, RUN)
    assert max(row.last - row.first + 1 for row in rows) <= LONGEST_ROW
    assert texts_of(rows) == [str(n) for n in range(20_000)]
