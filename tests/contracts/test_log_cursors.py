"""Cursors: everything behind a place, once and in order, from memory and from the store, and a gap said aloud."""

from __future__ import annotations

import asyncio

import pytest

from logroom import (
    REQUEST,
    RUN,
    TALK,
    Shelf,
    gapless,
    on_loops_of_their_own,
    read_to,
    say,
    soon,
    stream,
    texts_of,
)
from quarterdeck.events.run import ContentStreamed
from quarterdeck.log.cursor import Gap
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log

BURST = ContentStreamed(1, tuple("abcdefgh"))


async def test_a_reader_gets_all_from_the_beginning(log: Log) -> None:
    await say(log, TALK, *range(5))
    assert texts_of(await read_to(log.follow(TALK), 5)) == list("01234")


async def test_a_reader_gets_only_what_is_behind_its_place(log: Log) -> None:
    await say(log, TALK, *range(5))
    assert texts_of(await read_to(log.follow(TALK, 3), 5)) == list("34")


async def test_a_reader_gets_the_same_from_the_store_as_from_memory(shelf: Shelf, log: Log) -> None:
    for number in range(5):
        await say(log, TALK, number)
    from_memory = await read_to(log.follow(TALK, 1), 5)
    assert log.recent(TALK, 1) is not None
    again = shelf.open()
    assert again.recent(TALK, 1) is None
    from_store = await read_to(again.follow(TALK, 1), 5)
    assert [(r.first, r.last, r.data) for r in from_store] == [(r.first, r.last, r.data) for r in from_memory]


async def test_a_reader_crosses_from_the_store_into_memory(shelf: Shelf, log: Log) -> None:
    await asyncio.gather(*(say(log, TALK, number) for number in range(1200)))
    again = shelf.open()
    await say(again, TALK, *range(1200, 1210))
    assert again.recent(TALK, 1200) is not None
    assert again.recent(TALK, 1199) is None
    rows = await read_to(again.follow(TALK), 1210)
    assert texts_of(rows) == [str(n) for n in range(1210)]


async def test_a_reader_waits_for_what_is_not_there_yet(log: Log) -> None:
    cursor = log.follow(TALK)
    waiting = asyncio.ensure_future(cursor.rows())
    await asyncio.sleep(0)
    assert not waiting.done()
    await say(log, TALK, "a")
    assert texts_of(await soon(waiting)) == ["a"]


async def test_a_reader_that_is_level_gets_nothing_at_once(log: Log) -> None:
    await say(log, TALK, "a")
    assert not await log.follow(TALK, 1).ready()
    assert not await log.follow(stream("never"), 0).ready()


@pytest.mark.parametrize("place", range(2, 10))
@pytest.mark.parametrize("source", ["memory", "store"])
async def test_a_reader_may_stand_in_the_middle_of_a_gathered_row(shelf: Shelf, place: int, source: str) -> None:
    log = shelf.open()
    await log.append(Entry(RUN, (REQUEST, BURST)))
    await log.append(Entry(RUN, (ContentStreamed(1, ("i",)),)))
    if source == "store":
        log = shelf.open()
    rows = await read_to(log.follow(RUN, place), 10)
    assert gapless(rows, place)
    assert texts_of(rows) == list("abcdefghi")[place - 1 :]


async def test_cutting_a_row_for_one_reader_leaves_it_whole_for_others(log: Log) -> None:
    await log.append(Entry(RUN, (REQUEST, BURST)))
    await read_to(log.follow(RUN, 5), 9)
    rows = await read_to(log.follow(RUN, 1), 9)
    assert texts_of(rows) == list("abcdefgh")
    assert (await log.verify()) == []


async def test_a_nudge_ends_the_waiting_with_nothing(log: Log) -> None:
    cursor = log.follow(TALK)
    waiting = asyncio.ensure_future(cursor.rows())
    await asyncio.sleep(0)
    cursor.nudge()
    assert not await soon(waiting)


async def test_a_nudge_before_the_waiting_counts_too(log: Log) -> None:
    cursor = log.follow(TALK)
    cursor.nudge()
    assert not await soon(cursor.rows())


async def test_a_nudge_takes_nothing_away(log: Log) -> None:
    cursor = log.follow(TALK)
    await say(log, TALK, "a")
    cursor.nudge()
    assert texts_of(await soon(cursor.rows())) == ["a"]
    await soon(cursor.rows())
    await say(log, TALK, "b")
    assert texts_of(await soon(cursor.rows())) == ["b"]


async def test_a_reader_that_was_cancelled_goes_on_where_it_stood(log: Log) -> None:
    cursor = log.follow(TALK)
    for number in range(20):
        waiting = asyncio.ensure_future(cursor.rows())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        if waiting.cancelled():
            await say(log, TALK, number)
        assert texts_of(await soon(cursor.rows())) == [str(number)]


async def test_many_readers_of_one_stream_all_get_everything(log: Log) -> None:
    readers = [asyncio.ensure_future(read_to(log.follow(TALK), 100)) for _ in range(50)]
    for number in range(100):
        await say(log, TALK, number)
    for rows in await asyncio.gather(*readers):
        assert texts_of(rows) == [str(n) for n in range(100)]


async def test_no_wake_up_is_lost(log: Log) -> None:
    """Ping and pong: each side writes only when it saw the other's word, so that one lost wake-up stops both."""
    ping, pong = stream("ping"), stream("pong")

    async def play(mine: str, other: str, begins: bool) -> None:
        here, there = stream(mine), log.follow(stream(other))
        for number in range(150):
            if begins:
                await say(log, here, number)
            assert texts_of(await there.rows()) == [str(number)]
            if not begins:
                await say(log, here, number)

    await soon(asyncio.gather(play("ping", "pong", True), play("pong", "ping", False)))
    assert (await log.look(ping)).head == (await log.look(pong)).head == 150  # type: ignore[union-attr]


def test_no_wake_up_is_lost_between_event_loops(shelf: Shelf) -> None:
    log = shelf.open()

    async def play(who: int) -> None:
        here, there = stream(f"s{who}"), log.follow(stream(f"s{1 - who}"))
        for number in range(150):
            if who == 0:
                await say(log, here, number)
            assert texts_of(await there.rows()) == [str(number)]
            if who == 1:
                await say(log, here, number)

    on_loops_of_their_own(2, play)


def test_readers_on_other_loops_miss_nothing_of_a_busy_stream(shelf: Shelf) -> None:
    log = shelf.open(tail=4000)

    async def act(who: int) -> list[str]:
        if who == 0:
            spout = log.spout(RUN, fence=0, actor="m")
            for number in range(600):
                spout.pour("content", 1, [str(number)])
                await spout.below(4)
            await spout.below(0)
            return []
        return texts_of(await read_to(log.follow(RUN), 600))

    for texts in on_loops_of_their_own(4, act)[1:]:
        assert texts == [str(n) for n in range(600)]


async def test_below_the_floor_the_gap_is_told(log: Log) -> None:
    await say(log, TALK, *range(10))
    await log.trim(TALK, 6, b"snap")
    for place in (0, 3, 5):
        with pytest.raises(Gap) as gap:
            await soon(log.follow(TALK, place).rows())
        assert (gap.value.first, gap.value.last) == (place + 1, 6)
    assert texts_of(await read_to(log.follow(TALK, 6), 10)) == list("6789")


async def test_the_gap_is_told_also_where_nothing_is_left(shelf: Shelf, log: Log) -> None:
    await say(log, TALK, *range(3))
    await log.trim(TALK, 3, b"snap")
    with pytest.raises(Gap):
        await soon(log.follow(TALK, 1).rows())
    again = shelf.open()
    with pytest.raises(Gap) as gap:
        await soon(again.follow(TALK, 0).rows())
    assert (gap.value.first, gap.value.last) == (1, 3)
    assert not await again.follow(TALK, 3).ready()


async def test_the_gap_is_told_also_when_the_stream_grew_since(log: Log) -> None:
    await say(log, TALK, *range(3))
    await log.trim(TALK, 3, b"snap")
    await say(log, TALK, "new")
    with pytest.raises(Gap):
        await soon(log.follow(TALK, 1).rows())
    assert texts_of(await read_to(log.follow(TALK, 3), 4)) == ["new"]


async def test_a_page_has_no_more_rows_than_asked_for(shelf: Shelf, log: Log) -> None:
    for number in range(9):
        await say(log, TALK, number)
    for _ in ("memory", "store"):
        assert texts_of(await log.read(TALK, 2, 3)) == list("234")
        assert await log.read(stream("never")) == []
        log = shelf.open()


async def test_a_page_ends_behind_the_row_that_makes_it_full_and_is_never_empty(shelf: Shelf, log: Log) -> None:
    for _ in range(20):
        await say(log, TALK, "x" * 1000)
    again = shelf.open()
    page = await again.read(TALK, 3, size=1)
    assert page[0].first == 4
    if shelf.kind == "sqlite":
        assert len(page) == 1
        assert len(await again.read(TALK, 3, size=3500)) == 4


async def test_a_reader_that_catches_up_on_much_gets_all_of_it(shelf: Shelf, log: Log) -> None:
    await asyncio.gather(*(say(log, TALK, f"{number} {'x' * 9000}") for number in range(150)))
    rows = await read_to(shelf.open().follow(TALK), 150)
    assert [text.split()[0] for text in texts_of(rows)] == [str(n) for n in range(150)]
