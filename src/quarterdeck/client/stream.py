"""The stream contract as a reader keeps it, without a socket: what is applied, what is dropped, what is a loss.

Every place is applied exactly once and in order. What the server leaves out it announces; anything else is a loss, and
the reader goes back to the last place it holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from quarterdeck.client.frames import Frame
from quarterdeck.kernel.cursor import Place, parse_place, print_place
from quarterdeck.kernel.errors import Invalid

# Frames that stand for places that are not sent: the next one is the one behind theirs.
LEAPS = frozenset({"skip", "snapshot", "stream.gap", "stream.reset"})


@dataclass(frozen=True, slots=True)
class Told:
    """One event of a run as a reader is told it; `seq` is its place."""

    seq: int
    event: str
    data: dict[str, Any]


class Missed(Exception):
    """Something between the last place and this frame did not arrive."""


class Over(Exception):
    """The stream has had its last event."""


class Draining(Exception):
    """The server is about to go, or the run rests until a person has done something: it says when to come back."""

    def __init__(self, retry_s: float) -> None:
        super().__init__("draining")
        self.retry_s = retry_s


class Reading:
    """Where a reader stands. `head` is what the last heartbeat promised."""

    def __init__(self, after: str | int | None = None) -> None:
        place = Place(0) if after is None else parse_place(str(after))
        self.seq, self.epoch = place.seq, place.epoch
        self.begun = after is not None
        self.head = 0

    @property
    def behind(self) -> bool:
        return self.head > self.seq

    @property
    def cursor(self) -> str | None:
        """What to resume with; None where nothing was seen yet."""
        if not self.begun:
            return None
        return str(self.seq) if self.epoch is None else print_place(self.epoch, self.seq)

    def take(self, frame: Frame) -> Told | None:
        """The event to apply, or None for one that was seen or that says nothing of the run."""
        if frame.id is None:
            self._beside(frame)
            return None
        try:
            place = parse_place(frame.id)
        except Invalid:
            return None
        data = _object(frame.data)
        return self._leap(frame.event, place, data) if frame.event in LEAPS else self._step(frame.event, place, data)

    def _beside(self, frame: Frame) -> None:
        """Frames without a place: heartbeats, and that the stream ends here."""
        data = _object(frame.data)
        if frame.event == "end":
            raise Draining(0.0) if data.get("waiting") is True else Over
        if frame.event == "draining":
            retry_ms = data.get("retry_ms")
            raise Draining(retry_ms / 1000 if isinstance(retry_ms, int | float) and 0 <= retry_ms < 1e7 else 1.0)
        if frame.event == "hb" and isinstance(head := data.get("head"), int):
            self.head = head

    def _step(self, event: str, place: Place, data: dict[str, Any]) -> Told | None:
        if self.begun and self.epoch is not None and place.epoch != self.epoch:
            raise Missed("the log is another one")
        if place.seq <= self.seq:
            return None
        if place.seq != self.seq + 1:
            raise Missed(f"{self.seq + 1} to {place.seq - 1}")
        self._stand(place)
        return Told(place.seq, event, data)

    def _leap(self, event: str, place: Place, data: dict[str, Any]) -> Told | None:
        if event != "stream.reset":
            if place.seq < self.seq or (event == "skip" and place.seq == self.seq):
                return None
            begin = data.get("from")
            if isinstance(begin, int) and begin > self.seq + 1:
                raise Missed(f"{self.seq + 1} to {begin - 1}")
        self._stand(place)
        if event == "stream.reset":
            self.head = 0
        return Told(place.seq, event, data)

    def _stand(self, place: Place) -> None:
        self.seq, self.epoch, self.begun = place.seq, place.epoch, True


def _object(text: str) -> dict[str, Any]:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
