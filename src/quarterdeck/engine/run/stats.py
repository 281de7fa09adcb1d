"""How fast an answer came: a fold of (when, how many) samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from quarterdeck.events.run import Stats

WINDOW_S = 0.25


class Sample(NamedTuple):
    """`tokens` deltas that arrived together, `at` seconds after the attempt began."""

    at: float
    tokens: int


def measured(samples: Sequence[Sample]) -> Stats:
    """Rates over quarter-second windows; a burst shorter than one window has a single rate."""
    if not samples:
        return Stats()
    tokens = sum(sample.tokens for sample in samples)
    first, last = samples[0].at, samples[-1].at
    length = max(last - first, WINDOW_S if len(samples) == 1 else 1e-3)
    average = tokens / length
    rates = _rates(samples, first, last) or [average]
    return Stats(
        tokens,
        round(last * 1000, 1),
        round(first * 1000, 1),
        round(min(rates), 1),
        round(average, 1),
        round(max(rates), 1),
    )


def _rates(samples: Sequence[Sample], first: float, last: float) -> list[float]:
    whole = int((last - first) / WINDOW_S)
    counts = [0] * whole
    for sample in samples:
        window = int((sample.at - first) / WINDOW_S)
        if window < whole:
            counts[window] += sample.tokens
    return [count / WINDOW_S for count in counts]
