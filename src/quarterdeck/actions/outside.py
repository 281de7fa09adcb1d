"""What agents outside ask of people: may they? Nothing of ours hangs on the answer; it is told to whoever asked."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import orjson

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.memory import once_only
from quarterdeck.engine.approval import Approval, evolve
from quarterdeck.engine.board.people import Member
from quarterdeck.engine.policy.keys import redacted
from quarterdeck.events.tool import ApprovalDecided, ApprovalRequested
from quarterdeck.kernel.errors import Moved, TooLarge
from quarterdeck.kernel.ids import RunId, approval_stream, run_stream
from quarterdeck.kernel.parts import Risk
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.fold import Fold

OUTSIDE = "outside:"
LIFE_S = 24 * 3600.0
LONGEST_ARGS = 64 * 1024


@dataclass(frozen=True, slots=True)
class Plea:
    """What an agent would do, with what, and why."""

    tool: str
    args: Any
    reason: str
    risk: Risk


async def ask_people(
    desk: Desk, scope: Scope, who: Member, plea: Plea, *, key: str | None = None, body: bytes = b""
) -> Approval:
    """The approval as it stands: asked again under the same key, the same."""
    approval = desk.ids.mint()
    asked = _asked(desk, approval, who, plea)
    answer = once_only(scope, "approval_request", key, body, {"id": approval})
    own = Entry(approval_stream(scope.tenant, approval), (asked,), actor=scope.actor, cause=asked.run)
    run = Entry(run_stream(scope.tenant, RunId(asked.run)), (asked,), actor=scope.actor, cause=approval)
    appended = await desk.log.append(own, run, once=answer)
    if appended.answer is not None:
        approval = str(orjson.loads(appended.answer)["id"])
    return await Fold(desk.log, approval_stream(scope.tenant, approval), Approval(), evolve).catch_up()


def _asked(desk: Desk, approval: str, who: Member, plea: Plea) -> ApprovalRequested:
    arguments = redacted(orjson.dumps({} if plea.args is None else plea.args).decode())
    if len(arguments) > LONGEST_ARGS:
        raise TooLarge(f"Describe it in at most {LONGEST_ARGS:,} characters.", code="args_too_large")
    digest = hashlib.sha256(orjson.dumps([who.id, plea.tool, arguments])).hexdigest()
    return ApprovalRequested(
        approval,
        OUTSIDE + approval,
        approval,
        "tool",
        plea.tool,
        arguments,
        f"{plea.tool} {arguments}",
        redacted(plea.reason),
        plea.risk,
        "outside_agent",
        f"{who.slug} works outside of this server and asks before it goes on.",
        digest,
        expires_at=desk.clock.now() + LIFE_S,
    )


async def expire(desk: Desk, scope: Scope, approval: str) -> None:
    """Nobody answered in time."""
    own = approval_stream(scope.tenant, approval)
    known = await Fold(desk.log, own, Approval(), evolve).catch_up()
    if known.asked is None or known.state != "pending":
        return
    event = ApprovalDecided(approval, known.asked.call_id, "expired", "system")
    try:
        await desk.log.append(
            Entry(own, (event,), cause=known.asked.run, head=known.version),
            Entry(run_stream(scope.tenant, RunId(known.asked.run)), (event,), cause=approval),
        )
    except Moved:  # somebody answered at this very moment
        return
