"""What crosses the network about approvals, rules and interventions."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import Field

from quarterdeck.server.wire import Inbound, Shape

State = Literal["pending", "approved", "denied", "expired", "cancelled", "voided", "answered", "consumed"]


class Allow(Inbound):
    arguments: dict[str, Any] | None = Field(None, description="Your own arguments, in the place of the model's.")
    words: str = Field("", description="For the model; to a question, the answer.")


class Deny(Inbound):
    words: str = Field("", description="Why not; the model reads it.")


class Outcome(Inbound):
    outcome: Literal["happened", "again", "give_up"]
    words: str = ""


class Continue(Inbound):
    approval_id: str = Field(max_length=128)


class Password(Inbound):
    approval_id: str = Field(max_length=128)
    password: str = Field(description="Used once, kept nowhere.", json_schema_extra={"writeOnly": True})


class Approval(Shape):
    approval_id: str
    task_id: str
    call_id: str
    status: State
    asked: Literal["tool", "answer", "outcome"]
    tool: str
    args: Any
    shown: str
    reason: str
    risk_level: str
    action_type: str
    why: str
    hash: str
    always: bool = Field(description="Whether this can be allowed for always.")
    waiting_for_password: bool
    requested_at: float
    expires_at: float | None
    decided_at: float | None
    decided_by: str | None
    scope: str | None
    words: str | None


class Rule(Shape):
    id: str
    tool: str
    shown: str
    made_by: str
    made_at: float
    expires_at: float | None


class Write(Inbound):
    rule: str = Field(
        max_length=2_048, description="A tool and its exact words, with single blanks: `shell_exec_safe uname -a`."
    )


class Intervene(Inbound):
    text: str = Field(description="What the run should heed.")
    mode: Literal["steer", "queue", "interrupt"] = Field(
        "steer", description="At the next safe point, after this answer, or now."
    )


class Edit(Inbound):
    text: str


class Intervention(Shape):
    intervention_id: str
    task_id: str
    mode: str
    text: str
    status: Literal["accepted", "applied", "retracted", "expired"]
    step: int | None = Field(description="The attempt from which on it is heeded.")
    next_task_id: str | None = Field(description="The run that a queued one began.")
    why: str | None
    accepted_at: float


def approval(line: dict[str, Any]) -> Approval:
    return Approval(
        approval_id=line["id"],
        task_id=line["run"],
        call_id=line["call_id"],
        status=line["state"],
        asked=line["asked"],
        tool=line["tool"],
        args=_loaded(line["arguments"]),
        shown=line["shown"],
        reason=line["reason"],
        risk_level=line["risk"],
        action_type=line["action"],
        why=line["why"],
        hash=line["hash"],
        always=line["rule_key"] is not None,
        waiting_for_password=bool(line["locked"]) and line["state"] in {"approved", "answered"},
        requested_at=line["asked_at"],
        expires_at=line["expires_at"],
        decided_at=line["decided_at"],
        decided_by=line["decided_by"],
        scope=line["reach"],
        words=line["words"],
    )


def intervention(line: dict[str, Any]) -> Intervention:
    return Intervention(
        intervention_id=line["id"],
        task_id=line["run"],
        mode=line["mode"],
        text=line["text"],
        status=line["state"],
        step=line["step"],
        next_task_id=line["next_run"],
        why=line["why"],
        accepted_at=line["accepted_at"],
    )


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
