"""The reference store: correct, in memory, and what every other store is compared with."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quarterdeck.kernel.errors import Invalid
from quarterdeck.kernel.ids import StreamName, TenantId
from quarterdeck.kernel.tenancy import Sealed
from quarterdeck.ports import Add, Batch, Change, Drop, Once, Put, Query, Row, StreamState, Table


class MemoryTables:
    """Read models as dictionaries."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[tuple[object, ...], dict[str, Any]]] = {}

    def prepare(self, tables: Sequence[Table]) -> frozenset[str]:
        """Returns those that were not there."""
        missing = frozenset(table.name for table in tables) - set(self._lines)
        self._lines |= {name: {} for name in missing}
        return missing

    def apply(self, changes: Sequence[Change]) -> None:
        for change in changes:
            lines = self._lines[change.table.name]
            if isinstance(change, Put):
                blank = dict.fromkeys(change.table.columns)
                lines[tuple(change.line[column] for column in change.table.key)] = {**blank, **change.line}
                continue
            if isinstance(change, Drop):
                for gone in [key for key, line in lines.items() if change.key.items() <= line.items()]:
                    del lines[gone]
                continue
            key = tuple(change.key[column] for column in change.table.key)
            if (line := lines.get(key)) is not None:
                added = isinstance(change, Add)
                line.update({n: line[n] + v if added else v for n, v in change.values.items()})

    def drop(self, tenant: TenantId) -> None:
        for lines in self._lines.values():
            for gone in [key for key, line in lines.items() if line.get("tenant") == tenant]:
                del lines[gone]

    def get(self, table: Table, key: Mapping[str, object]) -> dict[str, Any] | None:
        line = self._lines[table.name].get(tuple(key[column] for column in table.key))
        return None if line is None else dict(line)

    def find(self, query: Query) -> list[dict[str, Any]]:
        lines = [
            line
            for line in self._lines[query.table.name].values()
            if all(line[column] == value for column, value in query.where.items()) and _beyond(line, query)
        ]
        lines.sort(key=lambda line: (line[query.order] is not None, line[query.order]), reverse=query.descending)
        return [dict(line) for line in lines[: query.limit]]

    def everything(self) -> dict[str, list[dict[str, Any]]]:
        return {name: sorted(map(dict, lines.values()), key=repr) for name, lines in self._lines.items()}


def _beyond(line: Mapping[str, Any], query: Query) -> bool:
    if query.after is None:
        return True
    value: Any = line[query.order]
    return value is not None and bool(value < query.after if query.descending else value > query.after)


class MemoryStore:
    """Forgets everything when the process ends, and nothing before."""

    def __init__(self) -> None:
        self.epoch = secrets.token_hex(4)
        self._lock = threading.Lock()
        self._states: dict[StreamName, StreamState] = {}
        self._rows: dict[int, list[Row]] = {}
        self._order: list[tuple[StreamName, Row]] = []
        self._onces: dict[str, tuple[Once, float]] = {}
        self._snapshots: dict[int, bytes] = {}
        self._tables = MemoryTables()
        self._sealed: dict[tuple[TenantId, str], Sealed] = {}

    def prepare(self, tables: Sequence[Table], fill: Callable[[frozenset[str]], None] | None = None) -> None:
        missing = self._tables.prepare(tables)
        if missing and fill is not None:
            fill(missing)

    def stream(self, name: StreamName) -> StreamState | None:
        return self._states.get(name)

    def next_stream_id(self) -> int:
        return max((state.id for state in self._states.values()), default=0) + 1

    def commit(self, batch: Batch) -> None:
        with self._lock:
            self._states.update(batch.streams)
            for state, row in batch.rows:
                kept = replace(row)
                self._rows.setdefault(state.id, []).append(kept)
                self._order.append((state.name, kept))
            self._tables.apply(batch.changes)
            for state, row in batch.erased:
                there = next(kept for kept in self._rows[state.id] if kept.first == row.first)
                there.data, there.salt, there.wire, there.hub = row.data, row.salt, None, None
            for once, at in batch.onces:
                self._onces[once.key] = (once, at)

    def rows(self, stream: StreamState, after: int, limit: int, size: int | None = None) -> list[Row]:  # noqa: ARG002
        with self._lock:
            found = [row for row in self._rows.get(stream.id, ()) if row.last > after]
        return [replace(row) for row in found[:limit]]

    def streams(self, tenant: TenantId | None = None, after: int = 0) -> Iterator[StreamState]:
        with self._lock:
            every = list(self._states.values())
        states = [state for state in every if state.id > after and tenant in {None, state.name.tenant}]
        yield from sorted(states, key=lambda state: state.id)

    def scan(self) -> Iterator[tuple[StreamState, Row]]:
        with self._lock:
            order = list(self._order)
        for name, row in order:
            yield self._states[name], row

    def once(self, key: str) -> Once | None:
        known = self._onces.get(key)
        return known[0] if known else None

    def forget_onces(self, before: float) -> None:
        with self._lock:
            self._onces = {key: kept for key, kept in self._onces.items() if kept[1] >= before}

    def trim(self, stream: StreamState, snapshot: bytes) -> None:
        with self._lock:
            self._states[stream.name] = stream
            self._rows[stream.id] = [row for row in self._rows[stream.id] if row.last > stream.floor]
            self._order = [(n, r) for n, r in self._order if n != stream.name or r.last > stream.floor]
            self._snapshots[stream.id] = snapshot

    def scrub(self, *, shortly: bool = False) -> bool:  # noqa: ARG002 - nothing takes long here
        return True

    def snapshot(self, stream: StreamState) -> bytes | None:
        return self._snapshots.get(stream.id)

    def get(self, table: Table, key: Mapping[str, object]) -> dict[str, Any] | None:
        with self._lock:
            return self._tables.get(table, key)

    def find(self, query: Query) -> list[dict[str, Any]]:
        with self._lock:
            return self._tables.find(query)

    def seal(self, put: Sequence[Sealed], drop: Sequence[Sealed]) -> None:
        with self._lock:
            self._sealed |= {(each.tenant, each.id): each for each in put}
            for each in drop:
                self._sealed.pop((each.tenant, each.id), None)

    def sealed(self, tenant: TenantId | None = None) -> list[Sealed]:
        with self._lock:
            return [each for each in self._sealed.values() if tenant in {None, each.tenant}]

    def drop(self, tenant: TenantId) -> None:
        with self._lock:
            gone = {state.id for name, state in self._states.items() if name.tenant == tenant}
            self._states = {name: state for name, state in self._states.items() if state.id not in gone}
            self._rows = {ident: rows for ident, rows in self._rows.items() if ident not in gone}
            self._order = [(name, row) for name, row in self._order if name.tenant != tenant]
            self._onces = {key: once for key, once in self._onces.items() if not key.startswith(f"{tenant}\n")}
            self._snapshots = {ident: shot for ident, shot in self._snapshots.items() if ident not in gone}
            self._sealed = {key: each for key, each in self._sealed.items() if each.tenant != tenant}
            self._tables.drop(tenant)

    def backup(self, path: str) -> None:
        raise Invalid(f"Memory has no backup to write to {path}; use the SQLite storage.", code="no_backup")

    def close(self) -> None:
        """Nothing to let go of."""
