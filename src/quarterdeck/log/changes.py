"""What a commit changes in the read models, put together as it gathers."""

from __future__ import annotations

from quarterdeck.ports import Change, Patch, Put


def noted(changes: list[Change], change: Change) -> None:
    """Keep a change; one that patches the same line as the last is made one with it."""
    last = changes[-1] if changes else None
    if last is None or not isinstance(change, Patch) or last.table is not change.table:
        changes.append(change)
    elif isinstance(last, Put) and change.key.items() <= last.line.items():
        changes[-1] = Put(change.table, {**last.line, **change.values})
    elif isinstance(last, Patch) and last.key == change.key:
        changes[-1] = Patch(change.table, change.key, {**last.values, **change.values})
    else:
        changes.append(change)
