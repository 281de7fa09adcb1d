"""Claims and fences: one owner at a time, and no word from an owner that was."""

from __future__ import annotations

import asyncio

import pytest

from logroom import REQUEST, RUN, Shelf, claim, entry, everything, say, soon, texts_of
from quarterdeck.kernel.errors import Fenced, Moved
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import LEASE_S, Log


@pytest.fixture
async def asked(log: Log) -> Log:
    await log.append(Entry(RUN, (REQUEST,)))
    return log


async def test_a_claim_raises_the_epoch_and_names_the_owner(asked: Log) -> None:
    asked.beat("w1")
    await asked.append(claim(RUN, "w1", 1))
    state = await asked.look(RUN)
    assert state is not None
    assert (state.epoch, state.owner) == (1, "w1")


async def test_an_owner_that_is_alive_keeps_its_stream(asked: Log) -> None:
    asked.beat("w1")
    await asked.append(claim(RUN, "w1", 1))
    with pytest.raises(Fenced):
        await asked.append(claim(RUN, "w2", 2))
    await say(asked, RUN, "mine", fence=1)


async def test_an_owner_may_claim_its_own_stream_again(asked: Log) -> None:
    asked.beat("w1")
    await asked.append(claim(RUN, "w1", 1))
    await asked.append(claim(RUN, "w1", 2))
    with pytest.raises(Fenced):
        await say(asked, RUN, "old", fence=1)


async def test_a_worker_that_retired_leaves_its_streams_free(asked: Log) -> None:
    asked.beat("w1")
    await asked.append(claim(RUN, "w1", 1))
    asked.retire("w1")
    await asked.append(claim(RUN, "w2", 2))
    with pytest.raises(Fenced):
        await say(asked, RUN, "zombie", fence=1)
    await say(asked, RUN, "mine", fence=2)


async def test_a_lease_that_ran_out_leaves_the_stream_free(shelf: Shelf, asked: Log) -> None:
    asked.beat("w1")
    await asked.append(claim(RUN, "w1", 1))
    shelf.clock.hand += LEASE_S - 1
    assert asked.alive("w1")
    with pytest.raises(Fenced):
        await asked.append(claim(RUN, "w2", 2))
    shelf.clock.hand += 1
    assert not asked.alive("w1")
    await asked.append(claim(RUN, "w2", 2))


async def test_a_beat_prolongs_the_lease(shelf: Shelf, asked: Log) -> None:
    asked.beat("w1")
    shelf.clock.hand += LEASE_S - 1
    asked.beat("w1")
    shelf.clock.hand += LEASE_S - 1
    assert asked.alive("w1")


@pytest.mark.parametrize("epoch", [0, 1, 3])
async def test_a_claim_must_be_of_the_very_next_epoch(asked: Log, epoch: int) -> None:
    await asked.append(claim(RUN, "w1", 1))
    with pytest.raises(Fenced):
        await asked.append(claim(RUN, "w1", epoch))


async def test_of_many_claims_at_once_exactly_one_wins(asked: Log) -> None:
    claims = [asked.append(claim(RUN, f"w{n}", 1)) for n in range(50)]
    answers = await asyncio.gather(*claims, return_exceptions=True)
    assert sum(isinstance(answer, Fenced) for answer in answers) == 49
    assert len(await everything(asked, RUN)) == 2


async def test_an_older_epoch_is_refused_also_where_its_append_was_sent_before_the_claim_was_answered(
    asked: Log,
) -> None:
    await asked.append(claim(RUN, "w1", 1))
    taking = asked.append(claim(RUN, "w2", 2))
    late = asked.append(entry(RUN, "zombie", fence=1))
    taken, refused = await asyncio.gather(taking, late, return_exceptions=True)
    assert not isinstance(taken, BaseException)
    assert isinstance(refused, Fenced)


async def test_an_epoch_from_the_future_is_refused_too(asked: Log) -> None:
    with pytest.raises(Fenced):
        await say(asked, RUN, "a", fence=1)


async def test_the_spout_of_an_older_epoch_is_refused(asked: Log) -> None:
    await asked.append(claim(RUN, "w1", 1))
    spout = asked.spout(RUN, fence=1, actor="w1")
    spout.pour("content", 1, ["kept"])
    await soon(spout.below(0))
    await asked.append(claim(RUN, "w2", 2))
    spout.pour("content", 1, ["lost"])
    with pytest.raises(Fenced):
        await soon(spout.below(0))
    with pytest.raises(Fenced):
        spout.pour("content", 1, ["lost"])
    assert texts_of(await everything(asked, RUN)) == ["run.requested", "w1 took it", "kept", "w2 took it"]


async def test_an_append_without_a_fence_is_anyones(asked: Log) -> None:
    asked.beat("w1")
    await asked.append(claim(RUN, "w1", 1))
    await say(asked, RUN, "a person's word")


async def test_what_sums_up_a_spouts_text_is_refused_with_it(asked: Log) -> None:
    await asked.append(claim(RUN, "w1", 1))
    spout = asked.spout(RUN, fence=1, actor="w1")
    await asked.append(claim(RUN, "w2", 2))
    spout.pour("content", 1, ["lost"])
    with pytest.raises(Fenced):
        await asked.append(entry(RUN, "the sum", behind=spout))
    assert texts_of(await everything(asked, RUN))[-1] == "w2 took it"


async def test_an_entry_for_a_head_that_has_moved_on_is_refused(asked: Log) -> None:
    await say(asked, RUN, "in time", head=1)
    with pytest.raises(Moved):
        await say(asked, RUN, "too late", head=1)
    answers = await asyncio.gather(*(say(asked, RUN, n, head=2) for n in range(20)), return_exceptions=True)
    assert sum(isinstance(answer, Moved) for answer in answers) == 19
    assert len(await everything(asked, RUN)) == 3
