"""What can be asked of the log: entries to append, and the answer to them."""

from __future__ import annotations

from dataclasses import dataclass

from quarterdeck.events.base import Event
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.spout import Spout


@dataclass(frozen=True, slots=True)
class Claim:
    """Take the stream over as `worker` under this epoch, which must be the one after the last."""

    worker: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Producer:
    """A writer that numbers its own appends, so that sending one again adds nothing."""

    id: str
    epoch: int
    seq: int


@dataclass(frozen=True, slots=True)
class Entry:
    """Events for one stream. `opening` goes first where the stream is still empty.

    `fence` is the epoch of the writer's claim: a stream that has been claimed since refuses the entry.
    `head` is where the stream must still end for the entry to make sense: one that has gone on refuses it.
    `behind` is a spout whose text this entry sums up: where any of it was refused, so is the entry.
    """

    stream: StreamName
    events: tuple[Event, ...]
    opening: tuple[Event, ...] = ()
    actor: str = "system"
    cause: str | None = None
    fence: int | None = None
    claim: Claim | None = None
    producer: Producer | None = None
    head: int | None = None
    behind: Spout | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """Where each entry begins and ends. `answer` is the stored one where the request had been carried out before."""

    places: tuple[tuple[int, int], ...] = ()
    answer: bytes | None = None
