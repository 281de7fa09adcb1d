"""What happened after a run, by the names that clients know: told behind the run's own events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from quarterdeck.events import after as ev
from quarterdeck.events.base import Erased
from quarterdeck.kernel.ids import RunId, TenantId, after_stream
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Query, Row
from quarterdeck.views.memory import AFTERS

MOST_LOOKS = 50
# Said of the looking back itself, rather than of what it came to.
_COURSE = frozenset({ev.AfterRequested.KIND, ev.AfterClaimed.KIND, ev.AfterReleased.KIND, ev.AfterFinished.KIND})


@dataclass(frozen=True, slots=True)
class AfterTold:
    at: float
    event_type: str
    payload: dict[str, Any]


async def told_after(log: Log, tenant: TenantId, run: RunId) -> list[AfterTold]:
    """Everything so far, in order: the look back that began with the run's end, then those that were asked for."""
    lines = await log.find(Query(AFTERS, {"tenant": tenant, "run": run}, "id", limit=MOST_LOOKS))
    return [_told(row, run) for line in lines for row in await log.read(after_stream(tenant, line["id"]))]


def _told(row: Row, run: RunId) -> AfterTold:
    name = row.kind.removeprefix("after.")
    return AfterTold(row.at, f"after_{name}" if row.kind in _COURSE else name, {"task_id": run, **_payload(row)})


def _payload(row: Row) -> dict[str, Any]:
    event = event_of(row)
    if isinstance(event, Erased):
        return {"erased": event.reason}
    if isinstance(event, ev.AfterRequested):  # the rest is told by the run itself
        return {"memory": event.memory, "reflection": event.reflection, "tainted": event.tainted}
    told: dict[str, Any] = orjson.loads(row.data)
    return told
