"""Erased text, out of the files: SQLite overwrites what it deletes, but not what it moved, nor its write-ahead log.

A page that was split or merged keeps bytes of what has moved on where nothing looks. So a table of which lines were
dropped is made anew, which overwrites the old one whole; and so is the database if rows had been deleted from the log,
which else is only ever added to. What is still to be done is noted with the erasure itself, and so outlives a crash.

Where it would take long it is left to the janitor, who comes every hour: until then the pages of large tables may hold
copies that nothing leads to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import apsw

from quarterdeck.adapters.sqlite import schema
from quarterdeck.ports import Table

ERASED, TRIMMED = "erased", "trimmed"
LINES = 20_000  # of a table that is made anew at once, while all others wait: a tenth of a second or so
PAGES = 10_000
WAIT_MS = 500  # how long everyone may wait for a reader that still needs the pages from before


def note_erasure(writer: apsw.Connection, tables: Iterable[str]) -> None:
    """Called within the transaction that erases."""
    known = writer.execute(schema.NOTED, (ERASED,)).get or ""
    names = sorted({*filter(None, str(known).split(",")), *tables})
    writer.execute(schema.NOTE, (ERASED, ",".join(names)))


def note_trim(writer: apsw.Connection) -> None:
    writer.execute(schema.NOTE, (TRIMMED, "yes"))


def scrubbed(writer: apsw.Connection, tables: Mapping[str, Table], busy_ms: int, *, shortly: bool = False) -> bool:
    """Do what is still to be done; False where a reader is in the way, or all others would have to wait too long."""
    noted = writer.execute(schema.NOTED, (ERASED,)).get
    if noted is None:
        return True
    dropped = [tables[name] for name in str(noted).split(",") if name in tables]
    trimmed = writer.execute(schema.NOTED, (TRIMMED,)).get is not None
    if shortly and (int(writer.pragma("page_count")) > PAGES if trimmed else any(_many(writer, t) for t in dropped)):
        _folded(writer, busy_ms)
        return False
    if trimmed:
        writer.execute("VACUUM")
        writer.execute(schema.UNNOTE, (TRIMMED,))
    else:
        _rewrite(writer, dropped)
    if not _folded(writer, busy_ms):
        return False
    writer.execute(schema.UNNOTE, (ERASED,))
    return True


def _many(writer: apsw.Connection, table: Table) -> bool:
    return len(list(writer.execute(schema.beyond(table), (LINES,)))) > 0


def _rewrite(writer: apsw.Connection, tables: Iterable[Table]) -> None:
    with writer:
        for table in tables:
            for statement in schema.rewrite(table):
                writer.execute(statement)


def _folded(writer: apsw.Connection, busy_ms: int) -> bool:
    """Move the write-ahead log into the file and cut it off."""
    writer.set_busy_timeout(WAIT_MS)
    try:
        busy, *_ = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
    finally:
        writer.set_busy_timeout(busy_ms)
    return not busy
