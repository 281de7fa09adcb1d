"""What can happen to a tool call of a run, and to the permission it may need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from quarterdeck.events.base import Event
from quarterdeck.kernel.parts import Effect, Risk, ToolCall

# What a person is asked for: leave to use a tool, an answer, or what became of a call that a crash cut off.
AskedFor = Literal["tool", "answer", "outcome"]
Decision = Literal["approved", "denied", "expired", "cancelled", "voided", "happened", "again"]
Reach = Literal["once", "run", "always"]


@dataclass(frozen=True, slots=True)
class ToolWeighed(Event):
    """A call was looked at, and nothing was changed. `hash` is over exactly what would be done; `allowed_by` is the
    rule of a person's that covers it; `bound` is all that its outcome hangs on besides its arguments, by name."""

    KIND: ClassVar[str] = "run.tool_weighed"
    VERSION: ClassVar[int] = 2
    call_id: str
    risk: Risk
    action: str
    effect: Effect
    arguments: str
    shown: str
    hash: str
    why: str = ""
    rule: str | None = None
    allowed_by: str | None = None
    password: bool = False
    command: str | None = None
    bound: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ToolStarted(Event):
    """Committed before the tool begins. With an `approval`, that one is used up by this."""

    KIND: ClassVar[str] = "run.tool_started"
    call: ToolCall
    approval: str | None = None


@dataclass(frozen=True, slots=True)
class ToolSaid(Event):
    """Output of a tool while it works."""

    KIND: ClassVar[str] = "run.tool_said"
    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished(Event):
    """What a call came to, whether or not it was carried out. A `malformed` one made no sense."""

    KIND: ClassVar[str] = "run.tool_finished"
    call_id: str
    name: str
    ok: bool
    result: str
    malformed: bool = False
    exit_status: int | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRequested(Event):
    """A call waits for a person. What is allowed is what `hash` is over, nothing else."""

    KIND: ClassVar[str] = "approval.requested"
    approval: str
    run: str
    call_id: str
    asked: AskedFor
    tool: str
    arguments: str
    shown: str
    reason: str
    risk: Risk
    action: str
    why: str
    hash: str
    rule: str | None = None
    password: bool = False
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class ApprovalDecided(Event):
    """Once, by whoever was first. `arguments` are a person's own, where they were edited."""

    KIND: ClassVar[str] = "approval.decided"
    approval: str
    call_id: str
    decision: Decision
    by: str
    reach: Reach = "once"
    words: str = ""
    arguments: str | None = None


@dataclass(frozen=True, slots=True)
class PasswordRequested(Event):
    KIND: ClassVar[str] = "approval.password_requested"
    approval: str
    call_id: str
    shown: str


@dataclass(frozen=True, slots=True)
class PasswordGiven(Event):
    """That it was given. It itself is in memory only, once, and not for long."""

    KIND: ClassVar[str] = "approval.password_given"
    approval: str
    call_id: str
    by: str


@dataclass(frozen=True, slots=True)
class ApprovalConsumed(Event):
    """What was allowed has begun. An approval has no second life."""

    KIND: ClassVar[str] = "approval.consumed"
    TERMINAL: ClassVar[bool] = True
    approval: str
    call_id: str


@dataclass(frozen=True, slots=True)
class RuleMade(Event):
    """A person allowed exactly this for always, until it is revoked or expires."""

    KIND: ClassVar[str] = "rule.made"
    rule: str
    key: str
    tool: str
    shown: str
    by: str
    approval: str | None = None
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class RuleRevoked(Event):
    KIND: ClassVar[str] = "rule.revoked"
    rule: str
    by: str
