"""Trimming: the past goes, a snapshot stands for it, and the rest still proves itself."""

from __future__ import annotations

import asyncio

import pytest

from logroom import END, REQUEST, RUN, TALK, Shelf, entry, everything, gapless, numbered, say, soon, texts_of
from quarterdeck.events.run import ContentStreamed
from quarterdeck.kernel.errors import Conflict, NotFound
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log


async def test_what_is_up_to_the_place_goes_and_the_rest_stays(log: Log) -> None:
    for number in range(10):
        await say(log, TALK, number)
    state = await log.trim(TALK, 4, b"snap")
    assert (state.floor, state.head) == (4, 10)
    assert texts_of(await everything(log, TALK)) == list("456789")
    assert await log.snapshot(TALK) == b"snap"


async def test_a_trimmed_stream_still_verifies_and_goes_on(shelf: Shelf, log: Log) -> None:
    for number in range(10):
        await say(log, TALK, number)
    await log.trim(TALK, 4, b"snap")
    assert await say(log, TALK, "next") == (11, 11)
    assert await log.verify() == []
    again = shelf.open()
    assert await say(again, TALK, "more") == (12, 12)
    assert await again.verify() == []
    assert gapless(await everything(again, TALK), 4)


async def test_a_stream_trimmed_whole_keeps_its_place_over_a_restart(shelf: Shelf, log: Log) -> None:
    await say(log, TALK, *range(5))
    await log.trim(TALK, 5, b"snap")
    again = shelf.open()
    state = await again.look(TALK)
    assert state is not None
    assert (state.head, state.floor) == (5, 5)
    assert await again.verify() == []
    assert await say(again, TALK, "next") == (6, 6)
    assert await again.verify() == []


async def test_a_row_that_holds_the_place_in_its_middle_stays(log: Log) -> None:
    await log.append(Entry(RUN, (REQUEST, ContentStreamed(1, ("a", "b", "c")), END)))
    state = await log.trim(RUN, 3, b"snap")
    assert state.floor == 1
    assert texts_of(await everything(log, RUN)) == ["a", "b", "c", "run.finished"]


async def test_an_ended_stream_may_be_trimmed_and_stays_ended(shelf: Shelf, log: Log) -> None:
    await log.append(Entry(RUN, (REQUEST, END)))
    await log.trim(RUN, 1, b"snap")
    again = shelf.open()
    state = await again.look(RUN)
    assert state is not None
    assert state.closed
    assert await again.verify() == []


async def test_trimming_below_the_floor_changes_nothing(log: Log) -> None:
    await say(log, TALK, *range(10))
    await log.trim(TALK, 6, b"six")
    assert (await log.trim(TALK, 3, b"three")).floor == 6
    assert await log.snapshot(TALK) == b"six"
    assert await log.verify() == []


async def test_of_trims_at_once_the_farthest_stays(log: Log) -> None:
    await say(log, TALK, *range(20))
    places = [15, 3, 9, 12, 1, 6]
    await asyncio.gather(*(log.trim(TALK, place, str(place).encode()) for place in places))
    state = await log.look(TALK)
    assert state is not None
    assert state.floor == 15
    assert await log.snapshot(TALK) == b"15"
    assert await log.verify() == []
    assert texts_of(await everything(log, TALK)) == [str(n) for n in range(15, 20)]


async def test_trimming_while_text_pours_loses_none_of_it(log: Log) -> None:
    await say(log, RUN, *range(10))
    spout = log.spout(RUN, fence=0, actor="m")
    for number in range(100):
        spout.pour("content", 1, [str(number)])
        if number == 50:
            await log.trim(RUN, 10, b"snap")
    await soon(spout.below(0))
    assert texts_of(await everything(log, RUN)) == [str(n) for n in range(100)]
    assert await log.verify() == []


async def test_verifying_while_streams_are_trimmed_raises_no_false_alarm(log: Log) -> None:
    await say(log, TALK, *range(200))

    async def trim() -> None:
        for place in range(1, 200, 2):
            await log.trim(TALK, place, b"snap")
            await say(log, TALK, f"more {place}")

    trimming = asyncio.ensure_future(trim())
    while not trimming.done():
        assert await log.verify() == []
    await soon(trimming)


async def test_marks_of_producers_outlive_a_trim(shelf: Shelf, log: Log) -> None:
    await log.append(numbered(TALK, 1))
    await log.append(numbered(TALK, 2))
    await log.trim(TALK, 2, b"snap")
    again = shelf.open()
    assert (await again.append(numbered(TALK, 2))).places == ((2, 2),)
    with pytest.raises(Conflict):
        await again.append(numbered(TALK, 4))


async def test_a_stream_that_never_was_cannot_be_trimmed(log: Log) -> None:
    with pytest.raises(NotFound):
        await log.trim(TALK, 1, b"snap")
    assert await log.snapshot(TALK) is None


async def test_other_streams_are_left_alone(log: Log) -> None:
    await say(log, TALK, *range(5))
    await log.append(entry(RUN, *range(5)))
    await log.trim(TALK, 5, b"snap")
    assert len(texts_of(await everything(log, RUN))) == 5
    assert await log.snapshot(RUN) is None
