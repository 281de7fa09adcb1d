"""Filling read models from the log: those that are new, and those that an earlier release knew in another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quarterdeck.events.base import Recorded
from quarterdeck.log.rows import DELTAS, recorded
from quarterdeck.ports import Batch, Change, Store

AT_ONCE = 5_000  # changes in one transaction


class View(Protocol):
    """A read model: what an event changes in its tables."""

    def apply(self, fact: Recorded) -> Sequence[Change]: ...


def fill(store: Store, views: Sequence[View], names: frozenset[str]) -> None:
    """From the first event on. What was trimmed is not told any more; what was erased says nothing."""
    changes: list[Change] = []
    for state, row in store.scan():
        if row.kind in DELTAS:
            continue
        fact = recorded(state.name, row)
        changes += [change for view in views for change in view.apply(fact) if change.table.name in names]
        if len(changes) >= AT_ONCE:
            store.commit(Batch(changes=changes))
            changes = []
    if changes:
        store.commit(Batch(changes=changes))
