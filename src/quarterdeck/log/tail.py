"""The latest rows of the busiest streams, in memory, bounded. What is not here is in the store."""

from __future__ import annotations

from collections import OrderedDict

from quarterdeck.kernel.ids import StreamName
from quarterdeck.ports import Row

# What a row weighs in memory beside its bytes, and each of its places once its frames are made, roughly.
ROW_COST = 400
FRAME_COST = 120
STREAM_LIMIT = 512 * 1024


class _Stretch:
    """An unbroken run of a stream's latest rows."""

    __slots__ = ("rows", "size")

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.size = 0


class Tail:
    """Written by the committing thread alone, read from any: a list is only ever appended to, or replaced whole."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._stretches: OrderedDict[StreamName, _Stretch] = OrderedDict()

    def add(self, name: StreamName, row: Row) -> None:
        stretch = self._stretches.get(name)
        if stretch is None:
            stretch = self._stretches[name] = _Stretch()
        else:
            self._stretches.move_to_end(name)
        stretch.rows.append(row)
        self._grow(stretch, _weight(row))
        if stretch.size > STREAM_LIMIT:
            self._halve(stretch)
        while self._size > self._limit and len(self._stretches) > 1:
            self._size -= self._stretches.popitem(last=False)[1].size

    def _halve(self, stretch: _Stretch) -> None:
        half = len(stretch.rows) // 2
        self._grow(stretch, -sum(_weight(row) for row in stretch.rows[:half]))
        stretch.rows = stretch.rows[half:]

    def _grow(self, stretch: _Stretch, by: int) -> None:
        stretch.size += by
        self._size += by

    def after(self, name: StreamName, seq: int) -> list[Row] | None:
        """The rows behind `seq`, or None where memory does not reach back so far."""
        stretch = self._stretches.get(name)
        if stretch is None:
            return None
        rows = stretch.rows
        begin = len(rows)
        while begin and rows[begin - 1].last > seq:
            begin -= 1
        found = rows[begin:]
        if found and found[0].first > seq + 1:
            return None
        return found

    def forget(self, name: StreamName) -> None:
        stretch = self._stretches.pop(name, None)
        if stretch is not None:
            self._size -= stretch.size

    def drop(self, tenant: str) -> None:
        for name in [name for name in self._stretches if name.tenant == tenant]:
            self.forget(name)


def _weight(row: Row) -> int:
    return len(row.data) + ROW_COST + FRAME_COST * (row.last - row.first + 1)
