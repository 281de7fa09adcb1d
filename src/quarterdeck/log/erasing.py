"""Forgetting: what is to be taken out of rows that are there already, and how such rows look afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from quarterdeck.kernel.errors import Invalid, NotFound
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.rows import erased, is_erased
from quarterdeck.ports import Row, Store, StreamState


@dataclass(frozen=True, slots=True)
class Erasure:
    """The content of whatever rows of a stream hold these places, ended or not; the rows themselves stay."""

    stream: StreamName
    places: tuple[int, ...]
    reason: str


def erased_rows(
    erasures: Iterable[Erasure], known: Callable[[StreamName], StreamState | None], store: Store
) -> list[tuple[StreamState, Row]]:
    """The rows as they will be. Places that were trimmed, and those that were erased before, are passed over."""
    found: dict[tuple[StreamName, int], tuple[StreamState, Row]] = {}
    for erasure in erasures:
        state = known(erasure.stream)
        if state is None:
            raise NotFound(f"There is no {erasure.stream}.")
        for place in erasure.places:
            if place > state.floor and not is_erased(row := _row(store, state, place)):
                found[erasure.stream, row.first] = (state, erased(row, erasure.reason))
    return list(found.values())


def _row(store: Store, state: StreamState, place: int) -> Row:
    rows = store.rows(state, place - 1, 1)
    if not rows:
        raise Invalid(f"{state.name} has no place {place} that could be erased.")
    return rows[0]
