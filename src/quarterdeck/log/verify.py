"""Whether a store still holds what was written into it: every place, every hash."""

from __future__ import annotations

from quarterdeck.log.rows import broken_link
from quarterdeck.ports import Store, StreamState

PAGE = 500


def troubles(store: Store) -> list[str]:
    """What is wrong, a sentence for each stream; nothing where every place and hash is as it was written."""
    found = []
    for state in store.streams():
        trouble = _trouble(store, state)
        if trouble is not None:
            found.append(f"{state.name.tenant}:{state.name}: {trouble}")
    return found


def _trouble(store: Store, state: StreamState) -> str | None:
    after, chain = state.floor, state.floor_chain
    while rows := store.rows(state, after, PAGE):
        piece = StreamState(state.id, state.name, floor=after, floor_chain=chain)
        if trouble := broken_link(piece, rows):
            return trouble
        after, chain = rows[-1].last, rows[-1].chain
    if after < state.head:
        return f"its last {state.head - after} places are missing"
    return None
