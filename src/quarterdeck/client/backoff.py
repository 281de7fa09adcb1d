"""How long to wait before the next try: half a second, doubling to thirty, each time a random part of it."""

from __future__ import annotations

import random

SHORTEST_S = 0.5
LONGEST_S = 30.0


class Backoff:
    """Full jitter, so that a thousand clients of a server that came back do not all knock at once."""

    def __init__(self, shortest_s: float = SHORTEST_S, longest_s: float = LONGEST_S) -> None:
        self._shortest, self._longest, self._tries = shortest_s, longest_s, 0

    def worked(self) -> None:
        self._tries = 0

    def next(self, asked: float | None = None) -> float:
        """Seconds to wait; never less than the server asked for."""
        most = min(self._longest, self._shortest * 2.0 ** min(self._tries, 16))
        self._tries += 1
        return (asked or 0.0) + random.uniform(0.0, most)  # noqa: S311 - spreading load, no secret
