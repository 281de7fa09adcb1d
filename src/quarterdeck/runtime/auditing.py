"""What the audit is told of commands: in the transaction that ends each, whether it was run or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quarterdeck.actions.audit import audit_entry
from quarterdeck.engine.policy.verdict import higher
from quarterdeck.engine.run import RunState
from quarterdeck.engine.run.open_call import OpenCall
from quarterdeck.events.audit import CommandAudited, Decider
from quarterdeck.events.base import Event
from quarterdeck.events.tool import ToolFinished
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.entries import Entry


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Who asked for the run, in which folder it works, and how long the command took."""

    asked_by: str | None = None
    workspace: str | None = None
    took_ms: float | None = None


def audited(
    run: StreamName,
    state: RunState,
    events: Sequence[Event],
    actor: str,
    around: Circumstances,
    *,
    secrets: Iterable[str] = (),
) -> tuple[Entry, ...]:
    """An entry for each command that one of these events ends."""
    calls = {c.call.id: c for c in state.calls}
    ended = ((event, calls.get(event.call_id)) for event in events if isinstance(event, ToolFinished))
    told = [_told(run, c, event, around) for event, c in ended if c is not None and _is_command(c)]
    return tuple(audit_entry(run.tenant, each, actor=actor, secrets=secrets) for each in told)


def _is_command(c: OpenCall) -> bool:
    return c.weighed is not None and c.weighed.command is not None


def _told(run: StreamName, c: OpenCall, event: ToolFinished, around: Circumstances) -> CommandAudited:
    w = c.weighed
    assert w is not None
    by_person = c.decision is not None
    decided_by: Decider = "person" if by_person else "rule" if w.allowed_by else "policy"
    approved = w.allowed_by is not None if c.decision is None else c.decision.decision in {"approved", "again"}
    return CommandAudited(
        run.key,
        c.call.id,
        w.command or "",
        c.call.name,
        w.action,
        higher(c.call.risk, w.risk),
        decided_by,
        approved,
        event.ok,
        around.asked_by,
        c.decision.by if c.decision is not None else None,
        c.approval,
        event.exit_status,
        event.digest,
        around.workspace,
        around.took_ms,
    )
