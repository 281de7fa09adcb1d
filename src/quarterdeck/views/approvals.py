"""The read models of what people are asked, what they allowed for always, and what they said to runs."""

from __future__ import annotations

from collections.abc import Sequence

from quarterdeck.engine.approval import state_after
from quarterdeck.events import steering, tool
from quarterdeck.events.base import Recorded
from quarterdeck.events.talk import ConversationDeleted
from quarterdeck.ports import Change, Drop, Patch, Put, Table

APPROVALS = Table(
    "approval",
    {
        "tenant": "text",
        "id": "text",
        "run": "text",
        "call_id": "text",
        "state": "text",
        "asked": "text",
        "tool": "text",
        "arguments": "text",
        "shown": "text",
        "reason": "text",
        "risk": "text",
        "action": "text",
        "why": "text",
        "hash": "text",
        "rule_key": "text",
        "locked": "integer",
        "asked_at": "real",
        "expires_at": "real",
        "decided_at": "real",
        "decided_place": "integer",
        "decided_by": "text",
        "reach": "text",
        "words": "text",
    },
    key=("tenant", "id"),
    lookups=(("id",), ("tenant", "state", "id"), ("state", "id"), ("tenant", "run", "id")),
)
RULES = Table(
    "rule",
    {
        "tenant": "text",
        "id": "text",
        "rule_key": "text",
        "tool": "text",
        "shown": "text",
        "made_by": "text",
        "made_at": "real",
        "expires_at": "real",
        "active": "integer",
    },
    key=("tenant", "id"),
    lookups=(("id",), ("tenant", "rule_key", "active")),
)
INTERVENTIONS = Table(
    "intervention",
    {
        "tenant": "text",
        "id": "text",
        "run": "text",
        "mode": "text",
        "text": "text",
        "state": "text",
        "step": "integer",
        "next_run": "text",
        "why": "text",
        "accepted_at": "real",
    },
    key=("tenant", "id"),
    lookups=(("tenant", "run", "id"),),
)


class ApprovalsView:
    """One line for each approval. It follows the run's stream, so that a reader can go on from the decision."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        if isinstance(fact.event, ConversationDeleted):
            return [Drop(APPROVALS, {"tenant": fact.tenant, "run": run}) for run in fact.event.runs]
        if not fact.stream.startswith("run/"):
            return []
        tenant = {"tenant": fact.tenant}
        match fact.event:
            case tool.ApprovalRequested():
                return [Put(APPROVALS, {**tenant, **_line(fact.event, fact.at)})]
            case tool.ApprovalDecided(approval, _, decision, by, reach, words):
                decided = {"decided_at": fact.at, "decided_place": fact.last, "decided_by": by, "words": words}
                state = {"state": state_after(decision), "reach": reach}
                return [Patch(APPROVALS, {**tenant, "id": approval}, {**decided, **state})]
            case tool.PasswordRequested(approval):
                return [Patch(APPROVALS, {**tenant, "id": approval}, {"locked": 1})]
            case tool.PasswordGiven(approval):
                return [Patch(APPROVALS, {**tenant, "id": approval}, {"locked": 0})]
            case tool.ToolStarted(_, str(approval)):
                return [Patch(APPROVALS, {**tenant, "id": approval}, {"state": "consumed"})]
            case _:
                return []


def _line(asked: tool.ApprovalRequested, at: float) -> dict[str, object]:
    names = ("run", "call_id", "asked", "tool", "arguments", "shown", "reason", "risk", "action", "why", "hash")
    told = {name: getattr(asked, name) for name in names}
    rest = {"rule_key": asked.rule, "locked": 0, "asked_at": at, "expires_at": asked.expires_at}
    return {"id": asked.approval, "state": "pending", **told, **rest}


class RulesView:
    def apply(self, fact: Recorded) -> Sequence[Change]:
        match fact.event:
            case tool.RuleMade(rule, key, of, shown, by, _, expires_at):
                made = {"rule_key": key, "tool": of, "shown": shown, "made_by": by, "made_at": fact.at}
                line = {"tenant": fact.tenant, "id": rule, **made, "expires_at": expires_at, "active": 1}
                return [Put(RULES, line)]
            case tool.RuleRevoked(rule):
                return [Patch(RULES, {"tenant": fact.tenant, "id": rule}, {"active": 0})]
            case _:
                return []


class InterventionsView:
    def apply(self, fact: Recorded) -> Sequence[Change]:
        if isinstance(fact.event, ConversationDeleted):
            return [Drop(INTERVENTIONS, {"tenant": fact.tenant, "run": run}) for run in fact.event.runs]
        if not fact.stream.startswith("run/"):
            return []

        def patched(intervention: str, **values: object) -> Sequence[Change]:
            return [Patch(INTERVENTIONS, {"tenant": fact.tenant, "id": intervention}, values)]

        match fact.event:
            case steering.InterventionAccepted(ident, run_id, mode, text):
                said = {"run": run_id, "mode": mode, "text": text, "accepted_at": fact.at, "state": "accepted"}
                return [Put(INTERVENTIONS, {"tenant": fact.tenant, "id": ident, **said})]
            case steering.InterventionEdited(ident, text):
                return patched(ident, text=text)
            case steering.InterventionRetracted(ident):
                return patched(ident, state="retracted")
            case steering.InterventionApplied(ident, step, next_run):
                return patched(ident, state="applied", step=step, next_run=next_run)
            case steering.InterventionExpired(ident, why):
                return patched(ident, state="expired", why=why)
            case _:
                return []


TABLES = (APPROVALS, RULES, INTERVENTIONS)
VIEWS = (ApprovalsView(), RulesView(), InterventionsView())
