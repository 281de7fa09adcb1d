"""One-time passwords: in memory alone, handed out once, gone after a minute."""

from __future__ import annotations

import threading

from quarterdeck.ports import Clock

LIFE_S = 60.0


class MemoryLockbox:
    """May be used from any thread. What is not taken in time is dropped with the next use."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._held: dict[str, tuple[float, str]] = {}

    def put(self, approval: str, password: str) -> None:
        with self._lock:
            self._drop_old()
            self._held[approval] = (self._clock.steady() + LIFE_S, password)

    def take(self, approval: str) -> str | None:
        with self._lock:
            self._drop_old()
            held = self._held.pop(approval, None)
        return None if held is None else held[1]

    def _drop_old(self) -> None:
        now = self._clock.steady()
        for approval in [each for each, (until, _) in self._held.items() if until <= now]:
            del self._held[approval]
