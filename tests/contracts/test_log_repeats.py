"""Sending again adds nothing: numbered producers, and answers kept under a key."""

from __future__ import annotations

import asyncio

import pytest

from logroom import TALK, Shelf, entry, everything, numbered, stream, texts_of
from quarterdeck.kernel.errors import Conflict, Fenced, Invalid
from quarterdeck.log.entries import Appended
from quarterdeck.log.log import Log
from quarterdeck.ports import Once


async def test_an_append_sent_again_gets_the_place_it_had(log: Log) -> None:
    first = await log.append(numbered(TALK, 1, "a", "b"))
    await log.append(entry(TALK, "somebody else"))
    assert (await log.append(numbered(TALK, 1, "a", "b"))).places == first.places == ((1, 2),)
    assert texts_of(await everything(log, TALK)) == ["a", "b", "somebody else"]


async def test_an_older_append_sent_again_adds_nothing(log: Log) -> None:
    for seq in (1, 2, 3):
        await log.append(numbered(TALK, seq))
    for seq in (1, 2, 3):
        await log.append(numbered(TALK, seq))
    assert texts_of(await everything(log, TALK)) == ["1", "2", "3"]


async def test_sent_fifty_times_at_once_it_goes_in_once(log: Log) -> None:
    answers = await asyncio.gather(*(log.append(numbered(TALK, 1)) for _ in range(50)))
    assert {answer.places for answer in answers} == {((1, 1),)}


async def test_a_number_left_out_is_a_conflict_that_says_what_was_expected(log: Log) -> None:
    await log.append(numbered(TALK, 1))
    with pytest.raises(Conflict) as refused:
        await log.append(numbered(TALK, 3))
    assert refused.value.code == "producer_gap"
    assert refused.value.extra == {"expected": 2}
    await log.append(numbered(TALK, 2))


async def test_the_first_number_is_one(log: Log) -> None:
    with pytest.raises(Conflict):
        await log.append(numbered(TALK, 2))
    for seq in (0, -1):
        with pytest.raises(Invalid):
            await log.append(numbered(TALK, seq))
    assert await log.look(TALK) is None


async def test_an_older_epoch_of_a_producer_is_fenced(log: Log) -> None:
    await log.append(numbered(TALK, 1, epoch=1))
    await log.append(numbered(TALK, 1, "again from one", epoch=2))
    with pytest.raises(Fenced):
        await log.append(numbered(TALK, 2, epoch=1))
    with pytest.raises(Fenced):
        await log.append(numbered(TALK, 1, epoch=1))


async def test_a_new_epoch_begins_at_one_again(log: Log) -> None:
    await log.append(numbered(TALK, 1, epoch=1))
    with pytest.raises(Conflict):
        await log.append(numbered(TALK, 2, epoch=2))
    with pytest.raises(Invalid):
        await log.append(numbered(TALK, 0, epoch=2))


async def test_producers_and_streams_are_counted_apart(log: Log) -> None:
    await log.append(numbered(TALK, 1, who="p"))
    await log.append(numbered(TALK, 1, who="q"))
    await log.append(numbered(stream("other"), 1, who="p"))
    assert texts_of(await everything(log, TALK)) == ["1", "1"]


async def test_a_repeated_entry_beside_a_new_one_adds_only_the_new_one(log: Log) -> None:
    await log.append(numbered(TALK, 1, "a"))
    answer = await log.append(numbered(TALK, 1, "a"), entry(stream("other"), "b"))
    assert answer.places == ((1, 1), (1, 1))
    assert texts_of(await everything(log, TALK)) == ["a"]


async def test_marks_outlive_a_restart(shelf: Shelf, log: Log) -> None:
    await log.append(numbered(TALK, 1, "a", "b"))
    await log.append(entry(TALK, "c"))
    again = shelf.open()
    assert (await again.append(numbered(TALK, 1, "a", "b"))).places == ((1, 2),)
    with pytest.raises(Conflict):
        await again.append(numbered(TALK, 3))
    await again.append(numbered(TALK, 2))


KEY = Once("k", b"digest", b"answer")


async def test_the_same_request_gets_the_answer_that_was_kept(log: Log) -> None:
    assert (await log.append(entry(TALK, "a"), once=KEY)).answer is None
    again = await log.append(entry(TALK, "a"), once=Once("k", b"digest", b"another answer"))
    assert again == Appended(answer=b"answer")
    assert len(await everything(log, TALK)) == 1


async def test_the_same_key_with_another_request_is_a_conflict(log: Log) -> None:
    await log.append(entry(TALK, "a"), once=KEY)
    with pytest.raises(Conflict) as refused:
        await log.append(entry(TALK, "b"), once=Once("k", b"another digest", b""))
    assert refused.value.code == "idempotency_mismatch"


async def test_fifty_at_once_have_one_effect_and_one_answer(log: Log) -> None:
    jobs = [log.append(entry(TALK, n), once=Once("k", b"d", str(n).encode())) for n in range(50)]
    answers = await asyncio.gather(*jobs)
    winner = texts_of(await everything(log, TALK))
    assert len(winner) == 1
    assert sorted(answer.answer or b"" for answer in answers) == [b""] + [winner[0].encode()] * 49


async def test_a_refused_request_keeps_no_answer(log: Log) -> None:
    await log.append(entry(TALK, "a"))
    with pytest.raises(Fenced):
        await log.append(entry(TALK, "b", fence=5), once=KEY)
    assert await log.once("k") is None
    assert (await log.append(entry(TALK, "b"), once=KEY)).answer is None


async def test_an_answer_is_kept_also_where_nothing_had_to_be_written(log: Log) -> None:
    await log.append(numbered(TALK, 1))
    await log.append(numbered(TALK, 1), once=KEY)
    assert (await log.append(entry(TALK, "b"), once=KEY)).answer == b"answer"


async def test_answers_outlive_a_restart_and_are_forgotten_when_told(shelf: Shelf, log: Log) -> None:
    await log.append(entry(TALK, "a"), once=KEY)
    again = shelf.open()
    kept = await again.once("k")
    assert kept == KEY
    await again.forget_onces(shelf.clock.now() - 60)
    assert await again.once("k") == KEY
    await again.forget_onces(shelf.clock.now() + 60)
    assert await again.once("k") is None
