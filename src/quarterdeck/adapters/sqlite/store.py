"""The store on SQLite: WAL, FULL, one connection that writes, and readers that cannot."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from quarterdeck.adapters.sqlite import schema
from quarterdeck.adapters.sqlite.backup import backup, copy_into
from quarterdeck.adapters.sqlite.folder import FolderLock
from quarterdeck.adapters.sqlite.reshaping import filled, reshaped
from quarterdeck.adapters.sqlite.scrubbing import note_erasure, note_trim, scrubbed
from quarterdeck.adapters.sqlite.trouble import translated, unopened, unread
from quarterdeck.kernel.errors import StorageBroken, Unavailable
from quarterdeck.kernel.ids import StreamName, TenantId
from quarterdeck.kernel.tenancy import Sealed
from quarterdeck.ports import Add, Batch, Change, Drop, Mark, Once, Put, Query, Row, StreamState, Table

# Older ones can lose commits when a checkpoint meets a write (fixed in 3.51.3).
OLDEST = (3, 51, 3)
BUSY_MS = 5000
FRAME_BYTES = 120  # what each place of a row becomes beside its text, in the hands of whoever reads it


class SqliteStore:
    """`vfs` names another way to reach the disk, for tests that cut its power; it allows no second connection."""

    def __init__(self, path: Path, *, vfs: str | None = None, synchronous: str = "FULL") -> None:
        refuse_old(apsw.sqlite_lib_version())
        self._path, self._vfs, self._synchronous = path, vfs, synchronous
        self._lock = FolderLock(path)
        self._writer: apsw.Connection
        try:
            self._writer = apsw.Connection(str(path), vfs=vfs)
            self._set_up(self._writer)
            self.epoch = self._settle()
        except (apsw.Error, Unavailable) as error:
            self._let_go()
            raise (unopened(error, path) if isinstance(error, apsw.Error) else error) from None
        self._local = threading.local()
        self._readers: list[apsw.Connection] = []
        self._readers_lock = threading.Lock()
        self._tables: dict[str, Table] = {}

    def _set_up(self, writer: apsw.Connection) -> None:
        writer.set_busy_timeout(BUSY_MS)
        if self._vfs is not None:
            writer.pragma("locking_mode", "exclusive")
        mode = writer.pragma("journal_mode", "wal")
        writer.pragma("synchronous", self._synchronous)
        writer.pragma("journal_size_limit", 64 * 1024 * 1024)
        writer.pragma("secure_delete", True)  # noqa: FBT003 - what is changed or deleted leaves no trace in its page
        if mode != "wal" or (self._synchronous == "FULL" and writer.pragma("synchronous") != 2):
            raise StorageBroken(f"{self._path} does not take WAL with FULL syncs (it is {mode!r}).")
        self._path.chmod(0o600)

    def _settle(self) -> str:
        """Make the schema on a new file, refuse a later one, and return the log's epoch."""
        known = self._writer.pragma("user_version")
        if known > schema.VERSION:
            raise Unavailable(
                f"{self._path} was written by a later release (schema {known}). Upgrade Quarterdeck.",
                code="schema_too_new",
            )
        if known == 0:
            with self._writer:
                self._writer.execute(schema.SCHEMA)
                self._writer.execute("INSERT INTO meta VALUES('epoch', ?)", (secrets.token_hex(4),))
                self._writer.pragma("user_version", schema.VERSION)
        return str(self._writer.execute("SELECT value FROM meta WHERE key = 'epoch'").get)

    def prepare(self, tables: Sequence[Table], fill: Callable[[frozenset[str]], None] | None = None) -> None:
        with self._told(), self._transaction():
            self._writer.execute(schema.SEALED)
            empty = reshaped(self._writer, tables)
        self._tables |= {table.name: table for table in tables}
        if empty and fill is not None:
            fill(empty)
            with self._told():
                filled(self._writer)
        with contextlib.suppress(Unavailable):  # what cannot be done now is done later
            self.scrub(shortly=True)

    # Writing, on the committing thread

    def next_stream_id(self) -> int:
        return int(self._writer.execute("SELECT coalesce(max(id), 0) + 1 FROM stream").get)

    def commit(self, batch: Batch) -> None:
        with self._told():
            rows_alone = not (batch.touched or batch.fresh or batch.changes or batch.onces or batch.erased)
            if rows_alone and len(batch.rows) in schema.INSERTS:  # one statement is a transaction of its own
                self._insert_rows(batch.rows)
                return
            with self._transaction():
                self._write(batch)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as error:
            raise translated(error, self._path) from None

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._writer.execute("COMMIT")
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            raise

    def _write(self, batch: Batch) -> None:
        execute = self._writer.execute
        for name in batch.fresh:
            s = batch.streams[name]
            execute(schema.NEW_STREAM, (s.id, name.tenant, name.kind, name.key, s.epoch, s.owner, s.closed))
        for name in batch.touched:
            self._move(batch.streams[name], fresh=name in batch.fresh)
        self._insert_rows(batch.rows)
        for change in batch.changes:
            execute(*_statement(change))
        for state, row in batch.erased:
            execute(schema.ERASE, (row.data, row.salt, state.id, row.first))
        if batch.erased:
            note_erasure(self._writer, [c.table.name for c in batch.changes if isinstance(c, Drop)])
        for once, at in batch.onces:
            execute(schema.ONCE, (once.key, once.digest, once.answer, at))

    def _move(self, state: StreamState, *, fresh: bool) -> None:
        if not fresh:
            self._writer.execute(schema.MOVE_STREAM, (state.epoch, state.owner, state.closed, state.id))
        for producer, mark in state.marks.items():
            self._writer.execute(schema.MARK, (state.id, producer, mark.epoch, mark.seq, mark.first, mark.last))

    def _insert_rows(self, rows: Sequence[tuple[StreamState, Row]]) -> None:
        begin, left = 0, len(rows)
        while left:
            size = next(s for s in schema.SIZES if s <= left)
            values: list[Any] = []
            for state, r in rows[begin : begin + size]:
                values += (
                    state.id,
                    r.first,
                    r.last,
                    r.at,
                    r.kind,
                    r.version,
                    r.actor,
                    r.cause,
                    r.data,
                    r.salt,
                    r.chain,
                )
            self._writer.execute(schema.INSERTS[size], values)
            begin, left = begin + size, left - size

    def forget_onces(self, before: float) -> None:
        with self._told(), self._transaction():
            self._writer.execute("DELETE FROM once WHERE at < ?", (before,))

    def trim(self, stream: StreamState, snapshot: bytes) -> None:
        with self._told(), self._transaction():
            execute = self._writer.execute
            execute("DELETE FROM row WHERE stream = ? AND last <= ?", (stream.id, stream.floor))
            note_trim(self._writer)
            execute(
                "UPDATE stream SET floor = ?, floor_chain = ? WHERE id = ?",
                (stream.floor, stream.floor_chain, stream.id),
            )
            execute("INSERT OR REPLACE INTO snapshot VALUES(?, ?)", (stream.id, snapshot))

    def seal(self, put: Sequence[Sealed], drop: Sequence[Sealed]) -> None:
        with self._told(), self._transaction():
            for each in put:
                self._writer.execute(schema.SEAL, (each.tenant, each.id, each.data))
            for each in drop:
                self._writer.execute(schema.UNSEAL, (each.tenant, each.id))
            note_erasure(self._writer, ())
        with contextlib.suppress(Unavailable):  # what cannot be done now is done later
            self.scrub()

    def drop(self, tenant: TenantId) -> None:
        theirs = [table.name for table in self._tables.values() if "tenant" in table.columns]
        with self._told(), self._transaction():
            for statement in schema.DROPS:
                self._writer.execute(statement, (tenant,))
            for name in theirs:
                self._writer.execute(f"DELETE FROM view_{name} WHERE tenant = ?", (tenant,))
            note_erasure(self._writer, theirs)
            note_trim(self._writer)

    def scrub(self, *, shortly: bool = False) -> bool:
        with self._told():
            return scrubbed(self._writer, self._tables, BUSY_MS, shortly=shortly)

    # Reading, from any thread

    def stream(self, name: StreamName) -> StreamState | None:
        query, values = f"{schema.STREAM} WHERE tenant = ? AND kind = ? AND key = ?", (name.tenant, name.kind, name.key)
        if not self._ask(query, values):  # most that are asked for are new, and then one look is enough
            return None
        found = self._states(query, values)
        return found[0] if found else None

    def streams(self, tenant: TenantId | None = None, after: int = 0) -> Iterator[StreamState]:
        where, values = ("", ()) if tenant is None else (" AND tenant = ?", (tenant,))
        while page := self._states(f"{schema.STREAM} WHERE id > ?{where} ORDER BY id LIMIT 500", (after, *values)):
            yield from page
            after = page[-1].id

    def _states(self, query: str, values: Sequence[object]) -> list[StreamState]:
        """Read within one transaction, so that a stream's head, floor and epoch belong together."""
        reader = self._reader()
        with self._heard(), reader:
            states = [_state(reader, found) for found in list(reader.execute(query, values))]
        return states  # noqa: RET504 - a connection's `with` may swallow, as far as its types say

    def _ask(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._heard():
            return list(self._reader().execute(query, values))

    @contextlib.contextmanager
    def _heard(self) -> Iterator[None]:
        try:
            yield
        except (apsw.Error, UnicodeDecodeError) as error:
            raise unread(error, self._path) from None

    def rows(self, stream: StreamState, after: int, limit: int, size: int | None = None) -> list[Row]:
        if size is None:
            return [Row(*found) for found in self._ask(schema.ROWS, (stream.id, after, limit))]
        page: list[Row] = []
        with self._heard(), contextlib.closing(self._reader().cursor()) as reading:
            for found in reading.execute(schema.ROWS, (stream.id, after, limit)):
                page.append(row := Row(*found))
                size -= len(row.data) + FRAME_BYTES * (row.last - row.first)
                if size <= 0:
                    break
        return page

    def scan(self) -> Iterator[tuple[StreamState, Row]]:
        last = 0
        states = {state.id: state for state in self.streams()}
        query = f"SELECT id, stream, {schema.ROW} FROM row WHERE id > ? ORDER BY id LIMIT 500"
        while page := self._ask(query, (last,)):
            yield from ((states[stream], Row(*found)) for _, stream, *found in page)
            last = page[-1][0]

    def once(self, key: str) -> Once | None:
        found = self._ask("SELECT key, digest, answer FROM once WHERE key = ?", (key,))
        return Once(*found[0]) if found else None

    def snapshot(self, stream: StreamState) -> bytes | None:
        found = self._ask("SELECT data FROM snapshot WHERE stream = ?", (stream.id,))
        return found[0][0] if found else None

    def get(self, table: Table, key: Mapping[str, object]) -> dict[str, Any] | None:
        found = self._ask(schema.select(table, list(key)), tuple(key.values()))
        return dict(zip(table.columns, found[0], strict=True)) if found else None

    def find(self, query: Query) -> list[dict[str, Any]]:
        after = query.after is not None
        text = schema.find(query.table, query.where, query.order, descending=query.descending, after=after)
        values = [*query.where.values(), *([query.after] if after else []), query.limit]
        return [dict(zip(query.table.columns, line, strict=True)) for line in self._ask(text, values)]

    def sealed(self, tenant: TenantId | None = None) -> list[Sealed]:
        where, values = ("", ()) if tenant is None else (" WHERE tenant = ?", (tenant,))
        return [Sealed(*found) for found in self._ask(f"SELECT tenant, id, data FROM sealed{where}", values)]

    def backup(self, path: str) -> None:
        """A copy made within one read transaction: whole, consistent, and synced before it is called done."""
        if self._vfs is not None:
            copy_into(self._writer, Path(path))
        else:
            backup(self._path, Path(path))

    def close(self) -> None:
        with self._readers_lock:
            for reader in self._readers:
                reader.close()
        self._let_go()

    def _let_go(self) -> None:
        with contextlib.suppress(apsw.Error):  # a disk that fails now has told us before; the next start recovers
            if hasattr(self, "_writer"):
                self._writer.close()
        self._lock.release()

    def _reader(self) -> apsw.Connection:
        """This thread's own connection, which cannot write."""
        if self._vfs is not None:
            return self._writer
        reader: apsw.Connection | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READONLY)
            reader.set_busy_timeout(BUSY_MS)
            reader.pragma("query_only", True)  # noqa: FBT003
            self._local.reader = reader
            with self._readers_lock:
                self._readers.append(reader)
        return reader


def refuse_old(version: str) -> None:
    if tuple(map(int, version.split("."))) < OLDEST:
        raise StorageBroken(
            f"SQLite {version} can lose commits; {'.'.join(map(str, OLDEST))} or later is needed. Upgrade `apsw`."
        )


def _state(reader: apsw.Connection, found: Sequence[Any]) -> StreamState:
    ident, tenant, kind, key, epoch, owner, closed, floor, floor_chain = found
    last = reader.execute(schema.LAST, (ident,)).get
    head, chain = last or (floor, floor_chain)
    marks = {producer: Mark(*mark) for producer, *mark in reader.execute(schema.MARKS, (ident,))}
    name = StreamName(TenantId(tenant), kind, key)
    return StreamState(ident, name, head, floor, epoch, owner, bool(closed), chain, floor_chain, marks)


def _statement(change: Change) -> tuple[str, list[Any]]:
    if isinstance(change, Put):
        return schema.put(change.table, list(change.line)), list(change.line.values())
    if isinstance(change, Drop):
        return schema.drop(change.table, list(change.key)), list(change.key.values())
    key = [change.key[column] for column in change.table.key]
    write = schema.add if isinstance(change, Add) else schema.patch
    return write(change.table, list(change.values)), [*change.values.values(), *key]
