"""A restart changes nothing that was said: heads, epochs, owners, chains go on."""

from __future__ import annotations

import pytest

from logroom import (
    END,
    REQUEST,
    RUN,
    TALK,
    Shelf,
    claim,
    entry,
    events_of,
    everything,
    gapless,
    say,
    stream,
    texts_of,
)
from quarterdeck.events.run import ContentStreamed
from quarterdeck.kernel.errors import Closed, Fenced
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log


async def test_places_go_on_where_they_were(shelf: Shelf, log: Log) -> None:
    await say(log, TALK, "a", "b")
    again = shelf.open()
    assert await say(again, TALK, "c") == (3, 3)
    rows = await everything(again, TALK)
    assert gapless(rows)
    assert texts_of(rows) == ["a", "b", "c"]


async def test_the_state_is_the_same_as_it_was(shelf: Shelf, log: Log) -> None:
    await log.append(Entry(RUN, (REQUEST, ContentStreamed(1, ("a", "b")))))
    await log.append(claim(RUN, "w1", 1))
    before = await log.look(RUN)
    assert await shelf.open().look(RUN) == before


async def test_the_chain_goes_on_over_many_restarts(shelf: Shelf, log: Log) -> None:
    for number in range(8):
        await say(log, TALK, number)
        log = shelf.open()
    assert await log.verify() == []
    assert texts_of(await everything(log, TALK)) == [str(n) for n in range(8)]


async def test_the_log_keeps_its_own_epoch(shelf: Shelf, log: Log) -> None:
    before = log.epoch
    assert len(bytes.fromhex(before)) == 4
    assert shelf.open().epoch == before


async def test_an_owner_of_before_the_restart_is_gone_and_its_epoch_is_over(shelf: Shelf, log: Log) -> None:
    log.beat("w1")
    await log.append(Entry(RUN, (REQUEST,)))
    await log.append(claim(RUN, "w1", 1))
    again = shelf.open()
    await again.append(claim(RUN, "w2", 2))
    with pytest.raises(Fenced):
        await say(again, RUN, "zombie", fence=1)


async def test_an_ended_stream_stays_ended(shelf: Shelf, log: Log) -> None:
    await log.append(Entry(RUN, (REQUEST, END)))
    again = shelf.open()
    with pytest.raises(Closed):
        await say(again, RUN, "late")


async def test_new_streams_after_a_restart_are_not_mixed_with_old_ones(shelf: Shelf, log: Log) -> None:
    for number in range(5):
        await say(log, stream(f"old{number}"), f"old{number}")
    again = shelf.open()
    for number in range(5):
        await say(again, stream(f"new{number}"), f"new{number}")
    for key in ("old", "new"):
        for number in range(5):
            assert texts_of(await everything(again, stream(f"{key}{number}"))) == [f"{key}{number}"]
    assert await again.verify() == []


async def test_every_kind_of_value_comes_back_as_it_was(shelf: Shelf, log: Log) -> None:
    awkward = ["", "\0", "\n\r\u2028", "中文 ☂ \U0001f9ed", "'; DROP TABLE row; --", "x" * 300_000]
    await log.append(entry(TALK, *awkward, actor="人\n", cause=""))
    again = shelf.open()
    assert [event.content for event in events_of(await everything(again, TALK))] == awkward  # type: ignore[attr-defined]
    row = (await everything(again, TALK))[0]
    assert (row.actor, row.cause) == ("人\n", "")
    assert await again.verify() == []


async def test_a_great_many_rows_in_one_append_come_back(shelf: Shelf, log: Log) -> None:
    await log.append(*(entry(stream(f"s{n}"), *range(7)) for n in range(47)))
    again = shelf.open()
    for number in range(47):
        assert texts_of(await everything(again, stream(f"s{number}"))) == list("0123456")
    assert await again.verify() == []
