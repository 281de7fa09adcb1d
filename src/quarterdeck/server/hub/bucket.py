"""How often a client may say something."""

from __future__ import annotations

from quarterdeck.server.hub import limits


class Bucket:
    """How often something may be done: a burst, then so many a second."""

    def __init__(self, now: float) -> None:
        self._left, self._at = float(limits.BURST), now

    def take(self, now: float) -> float:
        """How long to wait before this one."""
        self._left = min(limits.BURST, self._left + (now - self._at) * limits.FRAMES_PER_S)
        self._at = now
        self._left -= 1
        return 0.0 if self._left >= 0 else -self._left / limits.FRAMES_PER_S
