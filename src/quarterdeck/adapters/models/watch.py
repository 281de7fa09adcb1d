"""How long we wait for a provider, and the one timer of a stream that sees to it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import aiohttp

from quarterdeck.adapters.models.failures import failed


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds until an attempt is given up: to connect, to the headers, without a byte, without anything said."""

    connect_s: float = 10.0
    first_byte_s: float = 60.0
    silence_s: float = 60.0
    meaning_s: float = 120.0

    @classmethod
    def of(cls, seconds: float) -> Patience:
        """All of them from one figure: how long a silence may be."""
        return cls(min(cls().connect_s, seconds), seconds, seconds, 2 * seconds)


class Watch:
    """Interrupts a read that waits too long.

    Setting a timer for every token would cost more than decoding it. So there is one, which looks at most once per
    period at when we last heard something (any byte) and understood something (keep-alives are not that), and only
    while we listen: how long a slow consumer takes is not the provider's fault.
    """

    __slots__ = (
        "_content",
        "_heard_at",
        "_heard_bytes",
        "_listening",
        "_loop",
        "_patience",
        "_time",
        "_timer",
        "_understood_at",
        "_where",
    )

    def __init__(self, content: aiohttp.StreamReader, patience: Patience, where: str) -> None:
        self._content, self._patience, self._where = content, patience, where
        self._loop = asyncio.get_running_loop()
        self._time = self._loop.time
        self._heard_at = self._understood_at = self._time()
        self._heard_bytes = 0
        self._listening = True
        self._timer = self._loop.call_later(self._period, self._look)

    @property
    def _period(self) -> float:
        return min(self._patience.silence_s, self._patience.meaning_s)

    def listen(self) -> None:
        self._listening = True

    def heard(self) -> None:
        self._listening = False
        self._heard_at = self._time()
        self._heard_bytes = self._content.total_bytes

    def understood(self) -> None:
        """Called when the consumer is done with what was understood: from now on we wait again."""
        self._heard_at = self._understood_at = self._time()

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        now, patience = self._time(), self._patience
        if not self._listening or self._content.total_bytes != self._heard_bytes:  # or it came, and is read next
            left = self._period
        else:
            silence, nothing = now - self._heard_at, now - self._understood_at
            if silence >= patience.silence_s:
                return self._give_up(f"sent nothing for {patience.silence_s:g} s")
            if nothing >= patience.meaning_s:
                return self._give_up(f"said nothing for {patience.meaning_s:g} s, though it kept the line open")
            left = min(patience.silence_s - silence, patience.meaning_s - nothing)
        self._timer = self._loop.call_later(left, self._look)
        return None

    def _give_up(self, what: str) -> None:
        self._content.set_exception(failed("provider_timeout", f"{self._where} {what}."))
