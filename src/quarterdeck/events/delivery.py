"""What can happen to what an outside agent is told: that it is done with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quarterdeck.events.base import Event


@dataclass(frozen=True, slots=True)
class DeliveriesHandled(Event):
    """Of this project everything up to `floor`, and of what is above, these places."""

    KIND: ClassVar[str] = "delivery.handled"
    project: str
    floor: int
    above: tuple[int, ...] = ()
