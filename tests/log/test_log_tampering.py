"""Whoever changes what is stored is found out, whatever they change."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from logroom import END, REQUEST, RUN, TALK, Shelf, entry, say, stream
from quarterdeck.events.run import ContentStreamed
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf("sqlite", tmp_path)
    yield shelf
    shelf.close()


@pytest.fixture
def written(shelf: Shelf) -> Shelf:
    """Two streams of a few rows, closed and ready to be tampered with."""

    async def write(log: Log) -> None:
        await say(log, TALK, "first", actor="person:ann", cause="r7")
        await say(log, TALK, "second", actor="person:bob")
        await say(log, TALK, "third", actor="person:ann", cause="None")
        await log.append(Entry(RUN, (REQUEST, ContentStreamed(1, ("a", "b")), END)))
        await say(log, stream("talk", tenant="elsewhere"), "theirs")

    asyncio.run(write(shelf.open()))
    shelf.close()
    return shelf


def tampered(shelf: Shelf, *statements: str) -> list[str]:
    """What a fresh start finds after somebody else wrote into the file."""
    database = apsw.Connection(str(shelf.path))
    for statement in statements:
        database.execute(statement)
    database.close()
    found = asyncio.run(shelf.open().verify())
    shelf.close()
    return found


def test_what_nobody_touched_is_in_order(written: Shelf) -> None:
    assert tampered(written) == []


def test_every_bit_of_every_byte_of_a_row_counts(written: Shelf) -> None:
    database = apsw.Connection(str(written.path))
    log = written.open()
    for column in ("data", "salt", "chain", "kind", "actor", "cause"):
        (size,) = (database.execute(f"SELECT length(CAST({column} AS BLOB)) FROM row WHERE id = 1").get,)
        for place in range(size):
            original = database.execute(f"SELECT {column} FROM row WHERE id = 1").get
            raw = bytearray(original.encode() if isinstance(original, str) else original)
            raw[place] ^= 1
            changed = raw.decode() if isinstance(original, str) else bytes(raw)
            database.execute(f"UPDATE row SET {column} = ? WHERE id = 1", (changed,))
            assert len(asyncio.run(log.verify())) == 1, (column, place)
            database.execute(f"UPDATE row SET {column} = ? WHERE id = 1", (original,))
    assert asyncio.run(log.verify()) == []
    database.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE row SET at = at + 0.001 WHERE id = 2",
        "UPDATE row SET at = CAST(at AS INTEGER) WHERE id = 2",
        "UPDATE row SET version = version + 1 WHERE id = 2",
        "UPDATE row SET cause = 'r7' WHERE id = 2",
        "UPDATE row SET cause = 'None' WHERE id = 2",
        "UPDATE row SET cause = NULL WHERE id = 3",
        "UPDATE row SET actor = actor || char(10), cause = 'x' WHERE id = 2",
        "UPDATE row SET data = CAST(data AS TEXT) WHERE id = 2",
        "UPDATE row SET data = x'' WHERE id = 2",
        "UPDATE row SET salt = zeroblob(16) WHERE id = 2",
        "UPDATE row SET chain = zeroblob(32) WHERE id = 2",
        "UPDATE row SET last = last + 1 WHERE id = 3",
        "UPDATE row SET last = 'many' WHERE id = 2",
        "UPDATE row SET first = 7, last = 7 WHERE id = 2",
        "UPDATE row SET stream = 3, first = 2, last = 2 WHERE id = 3",
        "UPDATE stream SET key = 'other' WHERE id = 1",
        "UPDATE stream SET tenant = 'evil' WHERE id = 1",
        "UPDATE stream SET floor = 1 WHERE id = 1",
        "DELETE FROM row WHERE id = 1",
        "DELETE FROM row WHERE id = 2",
        "DELETE FROM row WHERE stream = 2 AND kind = 'run.finished'",
    ],
)
def test_a_change_is_found(written: Shelf, statement: str) -> None:
    assert tampered(written, statement), statement


def test_a_byte_that_moved_from_one_field_to_the_next_is_found(written: Shelf) -> None:
    database = apsw.Connection(str(written.path))
    salt, data = database.execute("SELECT salt, data FROM row WHERE id = 2").get
    database.execute("UPDATE row SET salt = ?, data = ? WHERE id = 2", (salt + data[:1], data[1:]))
    database.close()
    assert tampered(written)


def test_the_stream_is_named_and_others_are_not_blamed(written: Shelf) -> None:
    (found,) = tampered(written, "UPDATE row SET actor = 'person:eve' WHERE id = 2")
    assert "local:conversation/talk" in found
    assert "2" in found


def test_rows_that_changed_places_are_found(written: Shelf) -> None:
    swap = "UPDATE row SET first = {0}, last = {0} WHERE id = {1}"
    assert tampered(written, swap.format(99, 1), swap.format(1, 2), swap.format(2, 1))


def test_contents_that_changed_places_are_found(written: Shelf) -> None:
    assert tampered(
        written,
        "CREATE TEMP TABLE was AS SELECT * FROM row",
        "UPDATE row SET (data, salt, chain) = (SELECT data, salt, chain FROM was WHERE id = 3 - row.id) WHERE id < 3",
    )


async def test_an_end_that_was_cut_off_is_found_where_the_head_is_known(shelf: Shelf) -> None:
    log = shelf.open()
    await say(log, TALK, "a")
    await say(log, TALK, "b")
    database = apsw.Connection(str(shelf.path))
    database.execute("DELETE FROM row WHERE id = 2")
    database.close()
    (found,) = await log.verify()
    assert "missing" in found


async def test_a_stream_that_is_gone_whole_is_found_where_it_is_known(shelf: Shelf) -> None:
    log = shelf.open()
    await log.append(entry(TALK, "a"), entry(RUN, "b"))
    database = apsw.Connection(str(shelf.path))
    database.execute("DELETE FROM row WHERE id = 1")
    database.execute("DELETE FROM stream WHERE id = 1")
    database.close()
    (found,) = await log.verify()
    assert str(TALK) in found
