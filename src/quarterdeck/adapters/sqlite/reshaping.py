"""Read models of another release: a table whose columns are not those it should have is made anew, and empty.

Which tables are empty is noted in the same transaction, until they were filled from the log: a crash in between only
means that it is done once more.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from quarterdeck.adapters.sqlite import schema
from quarterdeck.ports import Table

EMPTY = "empty"


def reshaped(writer: apsw.Connection, tables: Sequence[Table]) -> frozenset[str]:
    """See that each table has its shape; returns those that have nothing in them yet. Called within a transaction."""
    noted = set(str(writer.execute(schema.NOTED, (EMPTY,)).get or "").split(","))
    empty = frozenset(
        table.name for table in tables if table.name in noted or _columns(writer, table) != [*table.columns]
    )
    for table in tables:
        if table.name in empty:
            writer.execute(schema.abolish(table))
        for statement in schema.create(table):
            writer.execute(statement)
    if empty:
        writer.execute(schema.NOTE, (EMPTY, ",".join(sorted(empty))))
    return empty


def filled(writer: apsw.Connection) -> None:
    writer.execute(schema.UNNOTE, (EMPTY,))


def _columns(writer: apsw.Connection, table: Table) -> list[str]:
    return [column for (column,) in writer.execute(schema.COLUMNS, (f"view_{table.name}",))]
