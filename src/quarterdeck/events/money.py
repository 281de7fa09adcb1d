"""What can happen to money: held back before a model is called, and counted when it has answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quarterdeck.events.base import Event


@dataclass(frozen=True, slots=True)
class MoneyReserved(Event):
    """An attempt may cost as much as this, and nobody else may spend it. The same one again takes its place."""

    KIND: ClassVar[str] = "money.reserved"
    run: str
    attempt: int
    usd: float


@dataclass(frozen=True, slots=True)
class MoneySettled(Event):
    """What the attempt did cost; what it reserved besides is free again."""

    KIND: ClassVar[str] = "money.settled"
    run: str
    attempt: int
    usd: float
