"""Answer what a run asks: allow, refuse, say what became of it, hand over a password. And the rules made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from quarterdeck.actions.desk import Desk
from quarterdeck.engine import approval as rules
from quarterdeck.engine.access import check_outward
from quarterdeck.engine.approval import Answer, Approval
from quarterdeck.engine.policy.rules import checked_rule
from quarterdeck.events.base import Event
from quarterdeck.events.tool import ApprovalDecided, ApprovalRequested, PasswordGiven, RuleMade, RuleRevoked
from quarterdeck.kernel.errors import Closed, Conflict, Gone, Invalid, Moved, NotFound
from quarterdeck.kernel.ids import RunId, approval_stream, rules_stream, run_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.fold import Fold
from quarterdeck.ports import Lockbox

Rules: TypeAlias = Mapping[str, RuleMade]

LONGEST_PASSWORD = 1_024
RULE_LIFE_S = 90 * 24 * 3600.0


async def answer(desk: Desk, scope: Scope, approval: str, said: Answer) -> None:
    """Decide, once: of several at the same time the first one counts, and the others are told who it was."""
    known = await _approval(desk, scope, approval)
    asked = rules.check(known, said, desk.clock.now())
    if said.decision != "denied":
        check_outward(scope, asked.action)
    event = ApprovalDecided(approval, asked.call_id, said.decision, scope.actor, said.reach, said.words, said.arguments)
    try:
        await desk.log.append(*_both(scope, known, asked, event), *_rule(desk, scope, asked, said))
    except Moved:
        raise rules.decided_already(await _approval(desk, scope, approval)) from None
    except Closed:
        raise Gone("The run that asked has ended; there is nothing left to allow.", code="run_ended") from None


async def give_password(desk: Desk, scope: Scope, lockbox: Lockbox, task: str, approval: str, password: str) -> int:
    """Hand it to the run that waits for it; returns the place in the run from which it goes on. It is kept in memory
    for a minute, until the tool takes it, and nowhere else."""
    known = await _approval(desk, scope, approval)
    if known.asked is None or known.asked.run != task:
        raise _unknown()
    asked = rules.check_password(known)
    check_outward(scope, asked.action)
    if not password or len(password) > LONGEST_PASSWORD or any(mark in password for mark in "\n\r\0"):
        raise Invalid("A password is one line of at most 1,024 characters.", code="bad_password")
    event = PasswordGiven(approval, asked.call_id, scope.actor)
    lockbox.put(approval, password)
    try:
        appended = await desk.log.append(*_both(scope, known, asked, event))
    except (Moved, Closed):
        raise Conflict("The run does not wait for a password any more.", code="password_not_wanted") from None
    return appended.places[1][0]


async def make_rule(desk: Desk, scope: Scope, text: str) -> str:
    """Allow exactly this for always, before anybody asks; a rule that is there already is that rule."""
    key = checked_rule(text)
    now = desk.clock.now()
    for made in (await _rules(desk, scope)).values():
        if made.key == key and (made.expires_at is None or made.expires_at > now):
            return made.rule
    tool, _, words = key.partition(" ")
    made = RuleMade(desk.ids.mint(), key, tool, words, scope.actor, None, now + RULE_LIFE_S)
    await desk.log.append(Entry(rules_stream(scope.tenant), (made,), actor=scope.actor))
    return made.rule


async def revoke_rule(desk: Desk, scope: Scope, rule: str) -> None:
    if rule not in await _rules(desk, scope):
        raise NotFound("There is no such rule.", code="rule_not_found")
    await desk.log.append(Entry(rules_stream(scope.tenant), (RuleRevoked(rule, scope.actor),), actor=scope.actor))


async def _rules(desk: Desk, scope: Scope) -> Rules:
    """Those that nobody revoked, by their ids."""
    none: Rules = {}
    return await Fold(desk.log, rules_stream(scope.tenant), none, _with).catch_up()


def _with(known: Rules, event: Event) -> Rules:
    if isinstance(event, RuleMade):
        return {**known, event.rule: event}
    if isinstance(event, RuleRevoked):
        return {rule: made for rule, made in known.items() if rule != event.rule}
    return known


async def _approval(desk: Desk, scope: Scope, approval: str) -> Approval:
    fold = Fold(desk.log, approval_stream(scope.tenant, approval), Approval(), rules.evolve)
    known = await fold.catch_up()
    if known.asked is None:
        raise _unknown()
    return known


def _unknown() -> NotFound:
    return NotFound("There is no such approval.", code="approval_not_found")


def _both(scope: Scope, known: Approval, asked: ApprovalRequested, event: Event) -> tuple[Entry, Entry]:
    """In the approval's own stream, if nobody was quicker, and in the run that waits for it."""
    own = approval_stream(scope.tenant, asked.approval)
    return (
        Entry(own, (event,), actor=scope.actor, cause=asked.run, head=known.version),
        Entry(run_stream(scope.tenant, RunId(asked.run)), (event,), actor=scope.actor, cause=asked.approval),
    )


def _rule(desk: Desk, scope: Scope, asked: ApprovalRequested, said: Answer) -> tuple[Entry, ...]:
    if said.reach != "always" or said.decision != "approved" or asked.rule is None:
        return ()
    until = desk.clock.now() + RULE_LIFE_S
    made = RuleMade(desk.ids.mint(), asked.rule, asked.tool, asked.shown, scope.actor, asked.approval, until)
    return (Entry(rules_stream(scope.tenant), (made,), actor=scope.actor, cause=asked.approval),)
