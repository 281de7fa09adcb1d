"""The command audit as people read it, take it away, and check it."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from quarterdeck.events.audit import CommandAudited
from quarterdeck.events.base import Recorded
from quarterdeck.kernel.errors import StorageBroken
from quarterdeck.kernel.ids import TenantId, command_audit
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of, recorded
from quarterdeck.ports import Change, Put, Query, Row, Table

EVENT_TYPE = "command_audit"
PAGE = 500
MOST_TROUBLES = 100
_FLAGS = ("approved", "ok")

AUDIT = Table(
    "audit",
    {
        "tenant": "text",
        "place": "integer",
        "at": "real",
        "run": "text",
        "call_id": "text",
        "command": "text",
        "tool": "text",
        "action_type": "text",
        "risk_level": "text",
        "decided_by": "text",
        "approved": "integer",
        "ok": "integer",
        "asked_by": "text",
        "approved_by": "text",
        "approval_id": "text",
        "exit_status": "integer",
        "output_digest": "text",
        "workspace": "text",
        "duration_ms": "real",
    },
    key=("tenant", "place"),
    lookups=(("tenant", "run", "place"),),
)


class AuditView:
    """One line for each command."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        event = fact.event
        if not isinstance(event, CommandAudited):
            return []
        told = {field.name: getattr(event, field.name) for field in dataclasses.fields(event)}
        flags = {name: int(told[name]) for name in _FLAGS}
        return [Put(AUDIT, {"tenant": fact.tenant, "place": fact.last, "at": fact.at, **told, **flags})]


@dataclass(frozen=True, slots=True)
class Verified:
    """`count` commands were checked. Whoever keeps `head_hash` elsewhere can tell later that nothing was cut off."""

    ok: bool
    count: int
    head_hash: str
    troubles: tuple[str, ...]


def payload_of(line: dict[str, Any]) -> dict[str, Any]:
    """A line of the table as it is shown."""
    told = {name: value for name, value in line.items() if name not in {"tenant", "place", "at", "run"}}
    return {"task_id": line["run"], **told, **{name: bool(line[name]) for name in _FLAGS}}


async def exported(log: Log, tenant: TenantId) -> AsyncIterator[bytes]:
    """Every command from the first on, a line of JSON each, with all that its hash is made of."""
    after = 0
    while rows := await log.read(command_audit(tenant), after, PAGE):
        yield b"".join(_line(row) for row in rows)
        after = rows[-1].last


def _line(row: Row) -> bytes:
    proof = {"kind": row.kind, "version": row.version, "actor": row.actor, "cause": row.cause, "salt": row.salt.hex()}
    told = {"seq": row.last, "at": row.at, "event_type": EVENT_TYPE, "payload": _payload(row)}
    data = row.data.decode("utf-8", "replace")
    return orjson.dumps({**told, "hash": row.chain.hex(), "proof": {**proof, "data": data}}) + b"\n"


def _payload(row: Row) -> Any:
    try:
        return orjson.loads(row.data)
    except orjson.JSONDecodeError:  # somebody changed it; what is left of it is in the proof
        return None


async def verified(log: Log, tenant: TenantId) -> Verified:
    """Whether every row is as it was written, and the table that people read says the same."""
    name, count = command_audit(tenant), 0
    troubles = [f"The audit is not what was written: {trouble}." for trouble in await log.verify(name)]
    after = 0
    while len(troubles) < MOST_TROUBLES and (rows := await _rows(log, tenant, after, troubles)):
        lines = await log.find(Query(AUDIT, {"tenant": tenant}, "place", after=after, limit=len(rows)))
        shown = {line["place"]: line for line in lines}
        troubles += [trouble for row in rows if (trouble := _difference(tenant, row, shown.get(row.last)))]
        count, after = count + len(rows), rows[-1].last
    more = await log.find(Query(AUDIT, {"tenant": tenant}, "place", after=after, limit=1))
    if more and len(troubles) < MOST_TROUBLES:
        troubles.append(f"The table of commands shows one at {more[0]['place']} that was never written.")
    state = await log.look(name)
    return Verified(not troubles, count, "" if state is None else state.chain.hex(), tuple(troubles[:MOST_TROUBLES]))


async def _rows(log: Log, tenant: TenantId, after: int, troubles: list[str]) -> list[Row]:
    try:
        return await log.read(command_audit(tenant), after, PAGE)
    except StorageBroken as error:
        troubles.append(f"What is behind place {after} cannot be read: {error.detail}")
        return []


def _difference(tenant: TenantId, row: Row, shown: dict[str, Any] | None) -> str | None:
    """How a line of the table differs from the row it was made of; a row that was changed is named elsewhere."""
    try:
        if not isinstance(event_of(row), CommandAudited):
            return None
        (put,) = AuditView().apply(recorded(command_audit(tenant), row))
    except (TypeError, ValueError, KeyError):
        return f"The row at {row.last} cannot be read."
    if shown is None:
        return f"The table of commands lacks the one at {row.last}."
    written = put.line if isinstance(put, Put) else {}
    wrong = [name for name in AUDIT.columns if shown[name] != written.get(name)]
    return f"The table of commands shows another {', '.join(wrong)} at {row.last} than was written." if wrong else None
