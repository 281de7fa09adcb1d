"""Appending: places without gaps, all or nothing, an opening once, and no word after the last."""

from __future__ import annotations

import asyncio

import pytest

from logroom import (
    END,
    REQUEST,
    RUN,
    TALK,
    Shelf,
    entry,
    events_of,
    everything,
    gapless,
    on_loops_of_their_own,
    said,
    say,
    stream,
    texts_of,
)
from quarterdeck.events.base import Unknown
from quarterdeck.events.run import ContentStreamed
from quarterdeck.events.talk import ConversationOpened
from quarterdeck.kernel.errors import Closed, Fenced, Invalid, Unavailable
from quarterdeck.log.entries import Claim, Entry
from quarterdeck.log.log import Log

OPENED = ConversationOpened("a talk")


async def test_places_begin_at_one_and_count_every_event(log: Log) -> None:
    assert await say(log, TALK, "a", "b") == (1, 2)
    assert await say(log, TALK, "c") == (3, 3)
    assert texts_of(await log.read(TALK)) == ["a", "b", "c"]


async def test_each_stream_counts_for_itself(log: Log) -> None:
    await say(log, TALK, "a", "b")
    assert await say(log, stream("other"), "x") == (1, 1)
    assert await say(log, stream("talk", tenant="elsewhere"), "y") == (1, 1)
    assert texts_of(await log.read(stream("talk", tenant="elsewhere"))) == ["y"]


async def test_what_was_acknowledged_is_in_the_store_itself(shelf: Shelf, log: Log) -> None:
    await say(log, TALK, "a")
    assert texts_of(await everything(log, TALK)) == ["a"]


async def test_many_tasks_at_once_leave_no_gap_and_no_place_is_given_twice(log: Log) -> None:
    answers = await asyncio.gather(*(say(log, TALK, f"{n}a", f"{n}b") for n in range(300)))
    assert sorted(answers) == [(n, n + 1) for n in range(1, 600, 2)]
    texts = texts_of(await everything(log, TALK))
    for number, (first, last) in enumerate(answers):
        assert texts[first - 1 : last] == [f"{number}a", f"{number}b"]


def test_several_event_loops_at_once_leave_no_gap(shelf: Shelf) -> None:
    log = shelf.open()

    async def write(who: int) -> list[tuple[int, int]]:
        return [await say(log, TALK, f"{who}-{n}") for n in range(60)]

    places = [place for answers in on_loops_of_their_own(6, write) for place, _ in answers]
    assert sorted(places) == list(range(1, 361))
    state = shelf.store.stream(TALK)
    assert state is not None
    assert gapless(shelf.store.rows(state, 0, 1000))


def test_each_loop_sees_its_own_appends_in_the_order_it_made_them(shelf: Shelf) -> None:
    log = shelf.open()

    async def write(who: int) -> list[tuple[int, int]]:
        return list(await asyncio.gather(*(say(log, TALK, f"{who}-{n}") for n in range(60))))

    for answers in on_loops_of_their_own(4, write):
        assert answers == sorted(answers)


def test_a_loop_that_is_gone_does_not_keep_others_from_writing(shelf: Shelf) -> None:
    log = shelf.open()
    on_loops_of_their_own(1, lambda _: say(log, TALK, "first"))

    async def follow_then_leave(_: int) -> None:
        log.listen(lambda news: None)
        waiting = asyncio.ensure_future(log.follow(TALK, 1).rows())
        await asyncio.sleep(0)
        waiting.cancel()

    on_loops_of_their_own(1, follow_then_leave)
    assert on_loops_of_their_own(1, lambda _: say(log, TALK, "second")) == [(2, 2)]
    assert on_loops_of_their_own(1, lambda _: say(log, TALK, "third")) == [(3, 3)]


async def test_an_append_to_several_streams_goes_in_whole(log: Log) -> None:
    answer = await log.append(entry(TALK, "a"), entry(stream("other"), "b", "c"), entry(TALK, "d"))
    assert answer.places == ((1, 1), (1, 2), (2, 2))
    assert texts_of(await everything(log, TALK)) == ["a", "d"]


async def test_an_append_of_which_one_entry_is_refused_leaves_nothing(log: Log) -> None:
    await say(log, RUN, "mine")
    with pytest.raises(Fenced):
        await log.append(entry(TALK, "a"), entry(stream("new"), "b"), entry(RUN, "c", fence=7))
    assert await log.look(TALK) is None
    assert await log.look(stream("new")) is None
    assert texts_of(await everything(log, RUN)) == ["mine"]


async def test_a_refused_append_does_not_stop_those_beside_it(log: Log) -> None:
    await say(log, RUN, "mine")
    jobs = [say(log, RUN, n, fence=9 if n % 2 else 0) for n in range(40)]
    answers = await asyncio.gather(*jobs, return_exceptions=True)
    assert [isinstance(answer, Fenced) for answer in answers] == [bool(n % 2) for n in range(40)]
    assert texts_of(await everything(log, RUN)) == ["mine", *(str(n) for n in range(0, 40, 2))]


async def test_an_opening_goes_first_into_an_empty_stream(log: Log) -> None:
    assert await say(log, TALK, "a", opening=(OPENED,)) == (1, 2)
    assert events_of(await log.read(TALK)) == [OPENED, said("a")]


async def test_an_opening_is_left_out_where_the_stream_has_begun(log: Log) -> None:
    await say(log, TALK, "a", opening=(OPENED,))
    assert await say(log, TALK, "b", opening=(OPENED,)) == (3, 3)


async def test_of_many_openings_at_once_exactly_one_goes_in(log: Log) -> None:
    await asyncio.gather(*(say(log, TALK, n, opening=(OPENED,)) for n in range(50)))
    events = events_of(await everything(log, TALK))
    assert events[0] == OPENED
    assert events.count(OPENED) == 1
    assert len(events) == 51


async def test_a_stream_that_had_its_last_event_takes_nothing_more(log: Log) -> None:
    await log.append(Entry(RUN, (REQUEST, END)))
    with pytest.raises(Closed):
        await say(log, RUN, "late")
    with pytest.raises(Closed):
        await log.append(Entry(RUN, (said("late"),), claim=Claim("w", 1)))
    state = await log.look(RUN)
    assert state is not None
    assert (state.closed, state.head) == (True, 2)


async def test_nothing_may_follow_a_last_event_in_its_own_append(log: Log) -> None:
    with pytest.raises(Closed):
        await log.append(Entry(RUN, (REQUEST, END, said("late"))))
    assert await log.look(RUN) is None


async def test_of_many_last_events_at_once_exactly_one_goes_in(log: Log) -> None:
    await log.append(Entry(RUN, (REQUEST,)))
    answers = await asyncio.gather(*(log.append(Entry(RUN, (END,))) for _ in range(50)), return_exceptions=True)
    assert sum(isinstance(answer, Closed) for answer in answers) == 49
    assert events_of(await everything(log, RUN)) == [REQUEST, END]


async def test_a_burst_of_deltas_takes_one_place_for_each(log: Log) -> None:
    answer = await log.append(Entry(RUN, (REQUEST, ContentStreamed(1, ("a", "b", "c")), END)))
    assert answer.places == ((1, 5),)
    assert [(row.first, row.last) for row in await everything(log, RUN)] == [(1, 1), (2, 4), (5, 5)]


async def test_who_and_why_and_when_are_kept_with_the_event(log: Log) -> None:
    await log.append(entry(TALK, "a", actor="person:ann", cause="r7"))
    row = (await everything(log, TALK))[0]
    assert (row.actor, row.cause) == ("person:ann", "r7")
    assert row.at > 1_700_000_000


@pytest.mark.parametrize(
    "events",
    [
        (said("half a character \ud83d"),),
        (ContentStreamed(1, ()),),
        (Unknown("a.kind", b"{}"),),
    ],
)
async def test_an_event_that_cannot_be_stored_is_refused_alone_and_the_log_goes_on(log: Log, events: tuple) -> None:
    with pytest.raises(Invalid):
        await log.append(Entry(TALK, events))
    assert log.broken is None
    assert await say(log, TALK, "after") == (1, 1)


async def test_an_actor_that_cannot_be_stored_is_refused_alone(log: Log) -> None:
    with pytest.raises(Invalid):
        await say(log, TALK, "a", actor="\udc00")
    assert await say(log, TALK, "after") == (1, 1)


async def test_a_log_that_is_closed_says_so(shelf: Shelf, log: Log) -> None:
    await say(log, TALK, "a")
    spout = log.spout(TALK, fence=0, actor="m")
    shelf.close()
    with pytest.raises(Unavailable) as refused:
        await say(log, TALK, "b")
    assert refused.value.code == "log_closed"
    with pytest.raises(Unavailable):
        spout.pour("content", 1, ["lost"])


async def test_what_was_submitted_before_the_close_is_committed(shelf: Shelf, log: Log) -> None:
    waiting = [asyncio.ensure_future(say(log, TALK, n)) for n in range(50)]
    await asyncio.sleep(0)
    await log.close()
    assert [place for place, _ in await asyncio.gather(*waiting)] == list(range(1, 51))
    assert texts_of(await everything(shelf.open(), TALK)) == [str(n) for n in range(50)]
