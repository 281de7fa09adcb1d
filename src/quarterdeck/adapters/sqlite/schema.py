"""The tables of the embedded database, and the statements on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quarterdeck.ports import Table

VERSION = 1

SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE stream(
  id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0, owner TEXT, closed INTEGER NOT NULL DEFAULT 0,
  floor INTEGER NOT NULL DEFAULT 0, floor_chain BLOB NOT NULL DEFAULT x'', UNIQUE(tenant, kind, key));
CREATE TABLE row(
  id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, at REAL NOT NULL,
  kind TEXT NOT NULL, version INTEGER NOT NULL, actor TEXT NOT NULL, cause TEXT,
  data BLOB NOT NULL, salt BLOB NOT NULL, chain BLOB NOT NULL);
CREATE UNIQUE INDEX row_place ON row(stream, first);
CREATE TABLE mark(
  stream INTEGER NOT NULL, producer TEXT NOT NULL, epoch INTEGER NOT NULL, seq INTEGER NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY(stream, producer)) WITHOUT ROWID;
CREATE TABLE once(key TEXT PRIMARY KEY, digest BLOB NOT NULL, answer BLOB NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE snapshot(stream INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""

# Made where it is missing, so that a database from before it had any is one like all others.
SEALED = """CREATE TABLE IF NOT EXISTS sealed(
  tenant TEXT NOT NULL, id TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY(tenant, id)) WITHOUT ROWID"""
SEAL = "INSERT OR REPLACE INTO sealed(tenant, id, data) VALUES(?,?,?)"
UNSEAL = "DELETE FROM sealed WHERE tenant = ? AND id = ?"

# All that is one tenant's, but for the read models. Who asks under a key has the tenant before it.
_THEIRS = "IN (SELECT id FROM stream WHERE tenant = ?)"
DROPS = (
    f"DELETE FROM row WHERE stream {_THEIRS}",
    f"DELETE FROM mark WHERE stream {_THEIRS}",
    f"DELETE FROM snapshot WHERE stream {_THEIRS}",
    "DELETE FROM stream WHERE tenant = ?",
    "DELETE FROM once WHERE key >= ?1 || char(10) AND key < ?1 || char(11)",
    "DELETE FROM sealed WHERE tenant = ?",
)

STREAM = "SELECT id, tenant, kind, key, epoch, owner, closed, floor, floor_chain FROM stream"
LAST = "SELECT last, chain FROM row WHERE stream = ? ORDER BY first DESC LIMIT 1"
MARKS = "SELECT producer, epoch, seq, first, last FROM mark WHERE stream = ?"
ROW = "first, last, at, kind, version, actor, cause, data, salt, chain"
# The first row may begin before the place asked for, so the search starts at the last beginning not behind it.
ROWS = f"""SELECT {ROW} FROM row WHERE stream = ?1 AND last > ?2 AND first >=
  coalesce((SELECT max(first) FROM row WHERE stream = ?1 AND first <= ?2 + 1), 0) ORDER BY first LIMIT ?3"""
NEW_STREAM = "INSERT INTO stream(id, tenant, kind, key, epoch, owner, closed) VALUES(?,?,?,?,?,?,?)"
MOVE_STREAM = "UPDATE stream SET epoch = ?, owner = ?, closed = ? WHERE id = ?"
MARK = "INSERT OR REPLACE INTO mark(stream, producer, epoch, seq, first, last) VALUES(?,?,?,?,?,?)"
ERASE = "UPDATE row SET data = ?, salt = ? WHERE stream = ? AND first = ?"
COLUMNS = "SELECT name FROM pragma_table_info(?) ORDER BY cid"
NOTE = "INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)"
NOTED = "SELECT value FROM meta WHERE key = ?"
UNNOTE = "DELETE FROM meta WHERE key = ?"
ONCE = "INSERT OR REPLACE INTO once(key, digest, answer, at) VALUES(?,?,?,?)"

_PLACE = "(?,?,?,?,?,?,?,?,?,?,?)"
# One statement for many rows: each step gives the interpreter away and must win it back, so steps are what is dear.
SIZES = (64, 32, 16, *range(8, 0, -1))
INSERTS = {size: f"INSERT INTO row(stream, {ROW}) VALUES {','.join([_PLACE] * size)}" for size in SIZES}

_TYPES = {"text": "TEXT", "integer": "INTEGER", "real": "REAL"}


def create(table: Table) -> list[str]:
    """A read model's table and its indexes. Names come from our own code, never from outside."""
    columns = ", ".join(f"{name} {_TYPES[kind]}" for name, kind in table.columns.items())
    statements = [
        f"CREATE TABLE IF NOT EXISTS view_{table.name}({columns}, PRIMARY KEY({', '.join(table.key)})) WITHOUT ROWID"
    ]
    statements += [
        f"CREATE INDEX IF NOT EXISTS {index_name(table, lookup)} ON view_{table.name}({', '.join(lookup)})"
        for lookup in table.lookups
    ]
    return statements


def abolish(table: Table) -> str:
    return f"DROP TABLE IF EXISTS view_{table.name}"


def beyond(table: Table) -> str:
    """A line, where the table has more than so many."""
    return f"SELECT 1 FROM view_{table.name} LIMIT 1 OFFSET ?"


def rewrite(table: Table) -> list[str]:
    """Make a table anew out of itself; the pages of the old one are overwritten."""
    columns, old = ", ".join(table.columns), f"old_{table.name}"
    indexes = [f"DROP INDEX IF EXISTS {index_name(table, lookup)}" for lookup in table.lookups]
    moved = [f"ALTER TABLE view_{table.name} RENAME TO {old}", *indexes, *create(table)]
    return [*moved, f"INSERT INTO view_{table.name}({columns}) SELECT {columns} FROM {old}", f"DROP TABLE {old}"]


def index_name(table: Table, lookup: Sequence[str]) -> str:
    return f"view_{table.name}_{'_'.join(lookup)}"


def put(table: Table, columns: Sequence[str]) -> str:
    places = ",".join("?" * len(columns))
    return f"INSERT OR REPLACE INTO view_{table.name}({', '.join(columns)}) VALUES({places})"


def patch(table: Table, columns: Sequence[str]) -> str:
    changes = ", ".join(f"{column} = ?" for column in columns)
    return f"UPDATE view_{table.name} SET {changes} WHERE {_equal(table.key)}"


def add(table: Table, columns: Sequence[str]) -> str:
    changes = ", ".join(f"{column} = {column} + ?" for column in columns)
    return f"UPDATE view_{table.name} SET {changes} WHERE {_equal(table.key)}"


def drop(table: Table, columns: Sequence[str]) -> str:
    return f"DELETE FROM view_{table.name} WHERE {_equal(columns)}"


def select(table: Table, where: Sequence[str]) -> str:
    return f"SELECT {', '.join(table.columns)} FROM view_{table.name} WHERE {_equal(where)}"


def find(table: Table, where: Mapping[str, object], order: str, *, descending: bool, after: bool) -> str:
    conditions = list(where)
    beyond = f" AND {order} {'<' if descending else '>'} ?" if after else ""
    direction = "DESC" if descending else "ASC"
    return f"{select(table, conditions)}{beyond} ORDER BY {order} {direction} LIMIT ?"


def _equal(columns: Sequence[str]) -> str:
    return " AND ".join(f"{column} IS ?" for column in columns) or "1"
