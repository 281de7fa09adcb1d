"""What every action needs: the log, new ids, the time."""

from __future__ import annotations

from dataclasses import dataclass

from quarterdeck.log.log import Log
from quarterdeck.ports import Clock, Ids


@dataclass(frozen=True, slots=True)
class Desk:
    log: Log
    ids: Ids
    clock: Clock
