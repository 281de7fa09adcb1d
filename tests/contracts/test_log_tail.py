"""The tail in memory: small, and never in the way of the truth."""

from __future__ import annotations

import asyncio

from logroom import RUN, Shelf, everything, read_to, say, soon, stream, texts_of
from quarterdeck.log.log import Log
from quarterdeck.log.tail import FRAME_COST, ROW_COST, STREAM_LIMIT


async def test_memory_stays_bounded_over_many_streams(shelf: Shelf) -> None:
    log = shelf.open(tail=20 * ROW_COST)
    for number in range(200):
        await say(log, stream(f"s{number}"), "x")
    assert log._tail._size <= 20 * ROW_COST
    assert len(log._tail._stretches) < 20
    assert log._tail._size == sum(stretch.size for stretch in log._tail._stretches.values())


async def test_memory_stays_bounded_in_one_long_stream(shelf: Shelf) -> None:
    log = shelf.open()
    for _ in range(60):
        await say(log, RUN, "x" * 20_000)
    assert log._tail._size <= STREAM_LIMIT
    assert log.recent(RUN, 0) is None
    assert log.recent(RUN, 59) is not None
    assert len(texts_of(await read_to(log.follow(RUN), 60))) == 60


async def test_the_stream_that_was_quiet_longest_is_dropped_first(shelf: Shelf) -> None:
    log = shelf.open(tail=4 * (ROW_COST + FRAME_COST))
    await say(log, stream("old"), "x")
    await say(log, stream("busy"), "x")
    await say(log, stream("old"), "x")
    await say(log, stream("new"), "x")
    assert log.recent(stream("busy"), 0) is None
    assert log.recent(stream("old"), 0) is not None


async def test_what_memory_dropped_is_read_from_the_store(shelf: Shelf) -> None:
    log = shelf.open(tail=1)
    for number in range(30):
        await say(log, stream(f"s{number % 3}"), number)
    for which in range(3):
        rows = await read_to(log.follow(stream(f"s{which}")), 10)
        assert texts_of(rows) == [str(n) for n in range(which, 30, 3)]


async def test_readers_see_no_hole_while_memory_drops_what_they_are_about_to_read(shelf: Shelf) -> None:
    log = shelf.open(tail=3 * ROW_COST)
    names = [stream(f"r{n}", "run") for n in range(6)]
    readers = [asyncio.ensure_future(read_to(log.follow(name), 120)) for name in names]

    async def write(log: Log, name: object) -> None:
        spout = log.spout(name, fence=0, actor="m")  # type: ignore[arg-type]
        for number in range(120):
            spout.pour("content", 1, [str(number)])
            await spout.below(2)
        await spout.below(0)

    await soon(asyncio.gather(*(write(log, name) for name in names)))
    for rows, name in zip(await soon(asyncio.gather(*readers)), names, strict=True):
        assert texts_of(rows) == texts_of(await everything(log, name)) == [str(n) for n in range(120)]
