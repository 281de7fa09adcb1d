"""What the audit is told of commands: in the transaction that ends each, whether it was run or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quarterdeck.actions.audit import audit_entry
from quarterdeck.engine.policy.verdict import higher
from quarterdeck.engine.run import RunState
from quarterdeck.engine.run.decide import SYSTEM
from quarterdeck.engine.run.open_call import OpenCall, grant_of
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
    told = [_told(run, state, c, event, around) for event, c in ended if c is not None and _is_command(c)]
    return tuple(audit_entry(run.tenant, each, actor=actor, secrets=secrets) for each in told)


def _is_command(c: OpenCall) -> bool:
    return c.weighed is not None and c.weighed.command is not None


def _told(run: StreamName, state: RunState, c: OpenCall, event: ToolFinished, around: Circumstances) -> CommandAudited:
    w, decided = c.weighed, _decided(state, c)
    assert w is not None
    return CommandAudited(
        run.key,
        c.call.id,
        w.command or "",
        c.call.name,
        w.action,
        higher(c.call.risk, w.risk),
        decided.by_what,
        decided.approved,
        event.ok,
        around.asked_by,
        decided.by,
        decided.approval,
        event.exit_status,
        event.digest,
        around.workspace,
        around.took_ms,
    )


@dataclass(frozen=True, slots=True)
class _Decided:
    by_what: Decider
    approved: bool
    by: str | None = None
    approval: str | None = None


def _decided(state: RunState, c: OpenCall) -> _Decided:
    """A decision about this call goes before leave for the run, and that before a rule."""
    assert c.weighed is not None
    if c.decision is not None:
        by_what: Decider = "policy" if c.decision.by == SYSTEM else "person"
        approved = c.decision.decision in {"approved", "again"} or c.spent is not None
        return _Decided(by_what, approved, c.decision.by, c.approval)
    if higher(c.call.risk, c.weighed.risk) in {"none", "low", "forbidden"}:
        return _Decided("policy", approved=False)
    if c.weighed.allowed_by is not None:
        return _Decided("rule", approved=True)
    grant = state.grants.get(grant_of(c))
    return (
        _Decided("policy", approved=False)
        if grant is None
        else _Decided("person", approved=True, by=grant.by, approval=grant.approval)
    )
