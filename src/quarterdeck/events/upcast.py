"""Old shapes of events made into today's, one version at a time: pure, dict to dict.

A released shape is never edited. When an event changes, its VERSION goes up by one and the step from the version
before is added here, with a golden log of the old shape under tests/data/logs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Shape: TypeAlias = dict[str, Any]
Steps: TypeAlias = Mapping[tuple[str, int], Callable[[Shape], Shape]]

# A version that only adds fields with defaults.
_SAME: Callable[[Shape], Shape] = dict

STEPS: Steps = {
    ("run.requested", 1): _SAME,
    ("run.tool_weighed", 1): _SAME,
    ("conversation.opened", 1): _SAME,
    ("conversation.message_added", 1): _SAME,
}


def upcast(kind: str, version: int, newest: int, shape: Shape, steps: Steps = STEPS) -> Shape:
    """Bring `shape` from `version` to `newest`. A missing step is a programming error and says which."""
    for old in range(version, newest):
        step = steps.get((kind, old))
        if step is None:
            raise LookupError(f"no step takes {kind!r} from version {old} to {old + 1}")
        shape = step(shape)
    return shape
