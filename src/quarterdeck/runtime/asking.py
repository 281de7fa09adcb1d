"""What a person is asked about a call."""

from __future__ import annotations

from quarterdeck.engine.policy.verdict import higher
from quarterdeck.engine.run.open_call import OpenCall
from quarterdeck.events.tool import ApprovalRequested, AskedFor

LOST = "The server was stopped in the middle of this. It may have happened, or not; it is not done again unasked."


def asked_for(run: str, c: OpenCall, approval: str, expires_at: float) -> ApprovalRequested:
    w = c.weighed
    assert w is not None
    asked: AskedFor = "outcome" if c.again and w.effect == "irreversible" else "tool"
    if w.action == "question":
        asked = "answer"
    return ApprovalRequested(
        approval,
        run,
        c.call.id,
        asked,
        c.call.name,
        w.arguments,
        w.shown,
        c.call.reason,
        higher(c.call.risk, w.risk),
        w.action,
        LOST if asked == "outcome" else w.why,
        w.hash,
        w.rule if asked == "tool" else None,
        w.password,
        None if asked == "outcome" else expires_at,
    )
