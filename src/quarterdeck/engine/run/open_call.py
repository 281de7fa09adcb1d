"""A tool call of a run that is still open: what has happened to it, and where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from quarterdeck.engine.policy.verdict import verdict
from quarterdeck.events import tool as ev
from quarterdeck.events.base import Event
from quarterdeck.kernel.parts import ToolCall

# `lost`: it had begun, its worker is gone, and what it leaves behind cannot be taken back or looked up.
# `begun`: a person broke it off, and it may have left something behind.
Standing: TypeAlias = Literal["unweighed", "to ask", "asked", "no password", "ready", "over", "begun", "lost"]


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave for the rest of a run: by which approval, and whose."""

    approval: str
    by: str


# By what `grant_of` names.
Grants: TypeAlias = Mapping[str, Grant]
NONE_GRANTED: Grants = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class OpenCall:
    call: ToolCall
    weighed: ev.ToolWeighed | None = None
    approval: str | None = None
    version: int = 0  # events of its approval so far
    asked: ev.AskedFor | None = None
    expires_at: float | None = None
    decision: ev.ApprovalDecided | None = None
    lock: Literal["closed", "asked", "open"] = "closed"  # of one that needs a password
    begun: bool = False
    again: bool = False  # begun once before, by a worker that is gone
    spent: str | None = None  # the approval that it began with: one has no second life


Calls: TypeAlias = tuple[OpenCall, ...]


def opened(calls: Iterable[ToolCall]) -> Calls:
    return tuple(map(OpenCall, calls))


def evolve_calls(calls: Calls, event: Event) -> Calls:
    call_id = getattr(event, "call_id", None) or (event.call.id if isinstance(event, ev.ToolStarted) else None)
    return tuple(_evolved(c, event) if c.call.id == call_id else c for c in calls)


def _evolved(c: OpenCall, event: Event) -> OpenCall:
    match event:
        case ev.ToolWeighed():
            return _weighed(c, event)
        case ev.ToolStarted(_, approval):  # its approval has one more event: that it was consumed
            version = c.version + 1 if approval is not None and approval == c.approval else c.version
            return replace(c, begun=True, spent=approval or c.spent, version=version)
        case ev.ApprovalRequested(approval):
            asking = replace(c, approval=approval, version=1, asked=event.asked, expires_at=event.expires_at)
            return replace(asking, decision=None, lock="closed")
        case ev.ApprovalDecided():
            return _decided(replace(c, version=c.version + 1), event)
        case ev.PasswordRequested():
            return replace(c, version=c.version + 1, lock="asked")
        case ev.PasswordGiven():
            return replace(c, version=c.version + 1, lock="open")
        case _:
            return c


def _weighed(c: OpenCall, event: ev.ToolWeighed) -> OpenCall:
    """Where it comes to something else than what an approval was used up for, leave is wanted again."""
    if c.spent is not None and c.spent == c.approval and c.weighed is not None and c.weighed.hash != event.hash:
        return replace(c, weighed=event, approval=None, asked=None, decision=None, lock="closed")
    return replace(c, weighed=event)


def _decided(c: OpenCall, event: ev.ApprovalDecided) -> OpenCall:
    if event.decision == "voided":  # what would run has changed: it is weighed and asked about anew
        return replace(c, weighed=None, approval=None, asked=None, decision=None)
    if event.decision == "again":
        return replace(c, decision=event, again=False, begun=False)
    if event.decision == "approved" and event.arguments is not None:  # a person wrote exactly this
        return replace(c, decision=event, weighed=None, call=replace(c.call, arguments=event.arguments))
    return replace(c, decision=event)


def left_behind(calls: Calls) -> Calls:
    """The calls of a worker that is gone."""
    return tuple(replace(c, begun=False, again=c.begun or c.again) for c in calls)


def standing(c: OpenCall, grants: Grants) -> Standing:
    if c.begun:
        return "begun" if c.weighed is None or c.weighed.effect == "irreversible" else "ready"
    if c.decision is not None and c.decision.decision in {"denied", "expired", "cancelled", "happened"}:
        return "over"
    if c.weighed is None:
        return "unweighed"
    if c.approval is not None and c.decision is None:
        return "asked"
    if c.again and c.weighed.effect == "irreversible":
        return "lost"
    return _permitted(c, c.weighed, grants)


def _permitted(c: OpenCall, weighed: ev.ToolWeighed, grants: Grants) -> Standing:
    if weighed.risk == "forbidden" or c.call.risk == "forbidden":
        return "over"
    if c.decision is not None:
        if c.asked == "answer":
            return "over"
        return "no password" if weighed.password and c.lock != "open" else "ready"
    allowed = weighed.allowed_by is not None, grant_of(c) in grants
    found = verdict(c.call.risk, weighed.risk, rule_allows=allowed[0], run_allows=allowed[1])
    if found == "run" and weighed.password:  # a password is given for one command that a person has seen
        return "to ask"
    return "ready" if found == "run" else "to ask"


def grant_of(c: OpenCall) -> str:
    """What "for this run" covers: the same again."""
    assert c.weighed is not None
    return c.weighed.rule or c.weighed.hash
