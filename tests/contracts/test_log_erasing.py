"""Erasing: the content of a row goes from memory and from every file, and the chain still proves the rest."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

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
    read_to,
    said,
    say,
    soon,
    stream,
    texts_of,
)
from quarterdeck.adapters.sqlite import scrubbing
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.events.base import Erased
from quarterdeck.events.run import ContentStreamed
from quarterdeck.events.talk import ConversationDeleted, ConversationOpened, MessageAdded
from quarterdeck.events.tool import ToolFinished
from quarterdeck.kernel.errors import Invalid, Moved, NotFound
from quarterdeck.log.entries import Entry
from quarterdeck.log.erasing import Erasure
from quarterdeck.log.log import Log
from quarterdeck.ports import Once

SECRET = "the-word-that-must-go"


def found_in(folder: Path, word: str = SECRET) -> list[str]:
    """The files that hold the word, in any encoding of ours."""
    return [path.name for path in folder.iterdir() if word.encode() in path.read_bytes()]


def noted(text: str) -> ToolFinished:
    """An event that no read model keeps."""
    return ToolFinished("c", "t", ok=True, result=text)


async def test_the_content_goes_and_place_and_kind_stay(log: Log) -> None:
    await say(log, TALK, "a", SECRET, "c")
    await log.erase(TALK, 2, "asked for")
    first, gone, last = await everything(log, TALK)
    assert (gone.first, gone.last, gone.kind) == (2, 2, MessageAdded.KIND)
    assert SECRET.encode() not in gone.data + gone.salt + gone.chain
    assert events_of([gone]) == [Erased(MessageAdded.KIND, "asked for")]
    assert texts_of([first, last]) == ["a", "c"]


async def test_a_chain_with_an_erased_row_still_verifies_and_goes_on(shelf: Shelf, log: Log) -> None:
    await say(log, TALK, *range(10))
    for place in (1, 5, 10):
        await log.erase(TALK, place, "asked for")
    assert await log.verify() == []
    again = shelf.open()
    assert await say(again, TALK, "next") == (11, 11)
    assert await again.verify() == []


async def test_an_erased_row_takes_no_other_content_unnoticed(shelf: Shelf, log: Log) -> None:
    await say(log, TALK, "a", "b")
    await log.erase(TALK, 1, "asked for")
    row = (await everything(log, TALK))[0]
    row.data = b'{"role":"user","content":"never said"}'
    shelf.store.commit(_forged(log, row))
    assert len(await log.verify()) == 1


def _forged(log: Log, row: object):  # type: ignore[no-untyped-def]
    from quarterdeck.ports import Batch

    state = log._store.stream(TALK)
    assert state is not None
    return Batch(erased=[(state, row)])  # type: ignore[list-item]


async def test_readers_of_every_kind_see_that_it_was_erased(shelf: Shelf) -> None:
    for tail in (1, 10**6):
        log = shelf.open(tail=tail)
        name = stream(f"tail{tail}")
        await say(log, name, "a", SECRET, "c")
        await log.erase(name, 2, "asked for")
        rows = await read_to(log.follow(name), 3)
        assert [isinstance(event, Erased) for event in events_of(rows)] == [False, True, False]
        assert [row.first for row in await log.read(name, 1)] == [2, 3]


async def test_a_row_of_many_places_is_erased_whole_and_can_still_be_read_from_its_middle(log: Log) -> None:
    await log.append(Entry(RUN, (REQUEST, ContentStreamed(1, ("a", "b", SECRET)))))
    await log.erase(RUN, 3, "asked for")
    assert [event.span for event in events_of(await everything(log, RUN))] == [1, 3]
    for after in range(4):
        rows = await read_to(log.follow(RUN, after), 4)
        assert rows[0].first == after + 1
    assert await log.verify() == []


async def test_an_ended_stream_may_be_erased_from_and_stays_ended(shelf: Shelf, log: Log) -> None:
    await log.append(Entry(RUN, (REQUEST, END)))
    await log.erase(RUN, 2, "asked for")
    again = shelf.open()
    state = await again.look(RUN)
    assert state is not None
    assert state.closed
    assert await again.verify() == []


async def test_erasing_twice_is_erasing_once(log: Log) -> None:
    await say(log, TALK, SECRET)
    await log.erase(TALK, 1, "first")
    await log.erase(TALK, 1, "second")
    assert events_of(await everything(log, TALK)) == [Erased(MessageAdded.KIND, "first")]
    assert await log.verify() == []


async def test_what_is_not_there_cannot_be_erased(log: Log) -> None:
    with pytest.raises(NotFound):
        await log.erase(TALK, 1, "asked for")
    await say(log, TALK, "a")
    with pytest.raises(Invalid):
        await log.erase(TALK, 2, "asked for")


async def test_what_was_trimmed_is_gone_already(log: Log) -> None:
    await say(log, TALK, *range(4))
    await log.trim(TALK, 2, b"snap")
    await log.erase(TALK, 1, "asked for")
    assert texts_of(await everything(log, TALK)) == ["2", "3"]


async def test_an_erasure_goes_with_its_entries_or_not_at_all(log: Log) -> None:
    await say(log, TALK, SECRET)
    gone = Erasure(TALK, (1,), "asked for")
    with pytest.raises(Moved):
        await log.append(entry(TALK, "forgotten", head=9), erasing=[gone])
    assert texts_of(await everything(log, TALK)) == [SECRET]
    with pytest.raises(Invalid):
        await log.append(entry(TALK, "forgotten"), erasing=[Erasure(TALK, (1, 7), "asked for")])
    assert texts_of(await everything(log, TALK)) == [SECRET]
    await log.append(entry(TALK, "forgotten"), erasing=[gone])
    assert [type(event) for event in events_of(await everything(log, TALK))] == [Erased, MessageAdded]


async def test_a_request_made_again_erases_nothing_more(log: Log) -> None:
    await say(log, TALK, "a", "b")
    for place in (1, 2):
        once = Once("key", b"digest", b"answer")
        await log.append(entry(RUN, "x"), once=once, erasing=[Erasure(TALK, (place,), "asked for")])
    assert texts_of(await everything(log, TALK))[1:] == ["b"]


async def test_nothing_is_lost_while_rows_are_erased_and_others_are_written(log: Log) -> None:
    await say(log, TALK, *range(50))

    async def write() -> None:
        for number in range(50, 100):
            await say(log, TALK, number)

    async def erase() -> None:
        for place in range(2, 51, 2):
            await log.erase(TALK, place, "asked for")

    await soon(asyncio.gather(write(), erase()))
    rows = await everything(log, TALK)
    assert [row.first for row in rows] == list(range(1, 101))
    assert sum(isinstance(event, Erased) for event in events_of(rows)) == 25
    assert await log.verify() == []


async def test_the_bytes_are_in_no_file_of_the_folder(tmp_path: Path) -> None:
    shelf = Shelf("sqlite", tmp_path)
    log = shelf.open()
    chance = random.Random(5)
    for number in range(120):
        text = SECRET if number % 3 == 0 else "x" * chance.randrange(3000)
        await log.append(Entry(stream(f"s{chance.randrange(40)}"), (noted(text),)))
    assert found_in(tmp_path), "the test can see it while it is there"
    for state in list(shelf.store.streams()):
        for row in await everything(log, state.name):
            if SECRET.encode() in row.data:
                await log.erase(state.name, row.first, "asked for")
    assert found_in(tmp_path) == []
    assert await log.verify() == []
    await log.backup(str(tmp_path / "copy.db"))
    shelf.close()
    assert found_in(tmp_path) == []
    copy = SqliteStore(tmp_path / "copy.db")
    assert sum(isinstance(event, Erased) for _, row in copy.scan() for event in events_of([row])) == 40
    copy.close()


async def test_a_reader_that_holds_the_old_pages_delays_the_scrubbing_and_the_next_start_makes_up_for_it(
    tmp_path: Path,
) -> None:
    shelf = Shelf("sqlite", tmp_path)
    log = shelf.open()
    await log.append(Entry(TALK, (noted(SECRET),)))
    assert isinstance(shelf.store, SqliteStore)
    reader = shelf.store._reader()
    held = reader.execute("SELECT data FROM row, (SELECT 1 UNION SELECT 2)")
    next(held)
    await log.erase(TALK, 1, "asked for")
    assert found_in(tmp_path), "the reader keeps it"
    held.close()
    shelf.open()
    assert found_in(tmp_path) == []
    shelf.close()


async def test_what_would_hold_everybody_up_is_left_to_the_janitor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrubbing, "LINES", 1)
    shelf = Shelf("sqlite", tmp_path)
    log = shelf.open()
    for name in ("one", "two", "three"):
        await log.append(Entry(stream(name), (said(SECRET),), opening=(ConversationOpened(SECRET),)))
    gone = Erasure(stream("one"), (1, 2), "asked for")
    await log.append(Entry(stream("one"), (ConversationDeleted(),)), erasing=[gone])
    assert not shelf.store.scrub(shortly=True)
    await log.forget_onces(0.0)
    assert shelf.store.scrub(shortly=True)
    shelf.close()
