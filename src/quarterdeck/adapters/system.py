"""Time and chance from the operating system."""

from __future__ import annotations

import os
import threading
import time
import uuid


class SystemClock:
    def now(self) -> float:
        return time.time()

    def steady(self) -> float:
        return time.monotonic()


CHANCE = 8
AHEAD = 128


class SystemIds:
    """UUIDs of version 7: 48 bits of milliseconds, a 12-bit count within one, and chance; they sort as minted.

    Chance is asked of the system for many ids at a time: a thread that asks gives the interpreter away meanwhile, and
    must win it back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last, self._count = 0, 0
        self._chances: list[bytes] = []

    def mint(self) -> str:
        with self._lock:
            now = max(time.time_ns() // 1_000_000, self._last)
            self._count = self._count + 1 if now == self._last else 0
            if self._count > 0xFFF:
                now, self._count = now + 1, 0
            self._last = now
            count = self._count
            if not self._chances:
                chunk = os.urandom(CHANCE * AHEAD)
                self._chances = [chunk[begin : begin + CHANCE] for begin in range(0, len(chunk), CHANCE)]
            chance = int.from_bytes(self._chances.pop(), "big") & (2**62 - 1)
        return str(uuid.UUID(int=now << 80 | 7 << 76 | count << 64 | 2 << 62 | chance))
