"""One approval, from its request to its use: a fold of its own stream, and who may still say what.

pending → approved | denied | expired | cancelled | answered; approved → consumed | voided. Each step is one append that
only goes in where the stream still ends where it was read: of two at the same time one wins.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from quarterdeck.events import tool as ev
from quarterdeck.events.base import Event
from quarterdeck.kernel.errors import Conflict, Gone, Invalid

State: TypeAlias = Literal["pending", "approved", "denied", "expired", "cancelled", "voided", "answered", "consumed"]
LONGEST_WORDS = 4_000

# What may be answered to what was asked.
ANSWERS: dict[ev.AskedFor, frozenset[ev.Decision]] = {
    "tool": frozenset({"approved", "denied"}),
    "answer": frozenset({"approved", "denied"}),
    "outcome": frozenset({"happened", "again", "denied"}),
}
OVER: frozenset[State] = frozenset({"expired", "cancelled", "voided"})


@dataclass(frozen=True, slots=True)
class Approval:
    version: int = 0
    asked: ev.ApprovalRequested | None = None
    state: State = "pending"
    decided: ev.ApprovalDecided | None = None
    lock: Literal["closed", "asked", "open"] = "closed"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person decided. `arguments` are their own, in the place of the model's."""

    decision: ev.Decision
    reach: ev.Reach = "once"
    words: str = ""
    arguments: str | None = None


def evolve(approval: Approval, event: Event) -> Approval:
    return _evolved(replace(approval, version=approval.version + event.span), event)


def _evolved(approval: Approval, event: Event) -> Approval:
    match event:
        case ev.ApprovalRequested():
            return replace(approval, asked=event)
        case ev.ApprovalDecided():
            return replace(approval, state=state_after(event.decision), decided=event)
        case ev.PasswordRequested():
            return replace(approval, lock="asked")
        case ev.PasswordGiven():
            return replace(approval, lock="open")
        case ev.ApprovalConsumed():
            return replace(approval, state="consumed")
        case _:
            return approval


def state_after(decision: ev.Decision) -> State:
    match decision:
        case "happened" | "again":
            return "answered"
        case _:
            return decision


def check(approval: Approval, said: Answer, now: float) -> ev.ApprovalRequested:
    """What was asked, if this may still be answered to it; else raises what is in the way."""
    asked = approval.asked
    assert asked is not None
    if approval.state != "pending":
        raise decided_already(approval)
    if asked.expires_at is not None and asked.expires_at <= now:
        raise Gone("The approval has expired; the run will ask again if it still needs it.", code="approval_expired")
    if said.decision not in ANSWERS[asked.asked]:
        raise Invalid(f"That is no answer to what was asked ({asked.asked}).", code="wrong_answer")
    _check_words(asked, said)
    if said.arguments is not None:
        _check_arguments(asked, said)
    if said.reach == "always" and asked.rule is None:
        raise Invalid(
            "This cannot be allowed for always: only exact, harmless calls can, never a shell, an interpreter or sudo.",
            code="no_rule_possible",
        )
    if said.reach != "once" and asked.action == "privileged":
        raise Invalid("A command that becomes root is allowed once, each time anew.", code="only_once")
    return asked


def decided_already(approval: Approval) -> Conflict:
    by = None if approval.decided is None else approval.decided.by
    extra = {"state": approval.state, "decided_by": by}
    if approval.state in OVER:
        return Gone(
            f"The approval is {approval.state}; nothing can be allowed by it.", code="approval_gone", extra=extra
        )
    return Conflict(f"The approval was answered already: {approval.state}.", code="approval_decided", extra=extra)


def check_password(approval: Approval) -> ev.ApprovalRequested:
    if approval.state not in {"approved", "answered"} or approval.lock != "asked" or approval.asked is None:
        raise Conflict("The run does not wait for a password.", code="password_not_wanted")
    return approval.asked


def _check_words(asked: ev.ApprovalRequested, said: Answer) -> None:
    if len(said.words) > LONGEST_WORDS:
        raise Invalid(f"Say it in at most {LONGEST_WORDS:,} characters.", code="words_too_long")
    if asked.asked == "answer" and said.decision == "approved" and not said.words.strip():
        raise Invalid("The run asked a question: answer it in `words`.", code="words_missing")


def _check_arguments(asked: ev.ApprovalRequested, said: Answer) -> None:
    if asked.asked != "tool" or said.decision != "approved" or said.reach != "once":
        raise Invalid("Arguments can be edited where a tool is allowed once.", code="wrong_answer")
    if not isinstance(json.loads(said.arguments or "null"), dict):
        raise Invalid("`arguments` must be an object.", code="bad_arguments")
