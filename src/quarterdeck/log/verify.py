"""Whether a store still holds what was written into it: every place, every hash, every end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from quarterdeck.kernel.errors import StorageBroken
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.rows import broken_link, unended
from quarterdeck.ports import Row, Store, StreamState

PAGE = 500


def troubles(
    store: Store, known: Mapping[StreamName, StreamState] | None = None, only: StreamName | None = None
) -> list[str]:
    """What is wrong, a sentence for each stream; nothing where every place and hash is as it was written.

    `known` is where streams stood before, which tells when an end was cut off. `only` looks at one stream.
    """
    found, left = [], {name: state for name, state in (known or {}).items() if only in {None, name}}
    for state in store.streams() if only is None else filter(None, (store.stream(only),)):
        seen = left.pop(state.name, None)
        trouble = _lasting_trouble(store, state, 0 if seen is None else seen.head)
        if trouble is not None:
            found.append(_told(state.name, trouble))
    return found + [_told(name, "the whole stream is missing") for name in left]


def _told(name: StreamName, trouble: str) -> str:
    return f"{name.tenant}:{name}: {trouble}"


def _lasting_trouble(store: Store, state: StreamState, least: int) -> str | None:
    """Trouble that is still there when nobody trimmed the stream while it was read."""
    while (trouble := _trouble(store, state, least)) is not None:
        now = store.stream(state.name)
        if now is None or now.floor == state.floor:
            return trouble
        state = now
    return None


def _trouble(store: Store, state: StreamState, least: int) -> str | None:
    piece, last = replace(state), None
    while rows := _rows(store, piece):
        if isinstance(rows, str):
            return rows
        if trouble := broken_link(piece, rows):
            return trouble
        last = rows[-1]
        piece = replace(piece, floor=last.last, floor_chain=last.chain)
    head = max(state.head, least)
    if piece.floor < head:
        return f"its last {head - piece.floor} places are missing"
    return "its last event is missing" if unended(state, last) else None


def _rows(store: Store, piece: StreamState) -> list[Row] | str:
    try:
        return store.rows(piece, piece.floor, PAGE)
    except StorageBroken as error:
        return f"what is behind place {piece.floor} cannot be read: {error.detail}"
