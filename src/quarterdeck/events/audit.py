"""What the audit keeps: each command, who asked for it, what decided, who approved, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from quarterdeck.events.base import Event
from quarterdeck.kernel.parts import Risk

Decider = Literal["policy", "rule", "person"]


@dataclass(frozen=True, slots=True)
class CommandAudited(Event):
    """A command was run, or refused. Every text in it is free of secrets before it comes here.

    `approved` says whether a person or a rule of one allowed it; one that the policy let run was not asked about.
    """

    KIND: ClassVar[str] = "audit.command"
    run: str
    call_id: str
    command: str
    tool: str
    action_type: str
    risk_level: Risk
    decided_by: Decider
    approved: bool
    ok: bool
    asked_by: str | None = None
    approved_by: str | None = None
    approval_id: str | None = None
    exit_status: int | None = None
    output_digest: str | None = None
    workspace: str | None = None
    duration_ms: float | None = None
