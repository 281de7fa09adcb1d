"""Issue a token, revoke a token."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quarterdeck.actions.desk import Desk
from quarterdeck.engine.access import ACTOR, ROLES, Role, check_grant, digest_of, expired
from quarterdeck.events.access import TokenIssued, TokenRevoked
from quarterdeck.kernel.errors import Invalid, NotAllowed, NotFound
from quarterdeck.kernel.ids import token_stream
from quarterdeck.kernel.scope import LOCAL_TENANT, Scope
from quarterdeck.log.entries import Entry
from quarterdeck.ports import Once

LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """A token for somebody: `person:<user>`, `agent:<member>` or `token:<name>`. Times are seconds since 1970."""

    actor: str
    role: Role
    name: str = ""
    expires_at: float | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Issued:
    """`token` is shown this once. `entry` makes it good: append it together with whatever the token belongs to."""

    id: str
    token: str = field(repr=False)
    entry: Entry = field(repr=False)


async def issue_token(desk: Desk, scope: Scope, wanted: Wanted, *, once: Once | None = None) -> Issued:
    """A token within the scope's tenant; nobody gets more than whoever issues it has."""
    issued = new_token(desk, scope, wanted)
    await desk.log.append(issued.entry, once=once)
    return issued


def new_token(desk: Desk, scope: Scope, wanted: Wanted) -> Issued:
    """The same, left to be appended."""
    _check(desk, scope, wanted)
    ident = desk.ids.mint().replace("-", "")
    token = f"qd_{ident}_{secrets.token_urlsafe(32)}"
    event = TokenIssued(
        ident, digest_of(token), wanted.actor, wanted.role, wanted.name, wanted.expires_at, wanted.parent
    )
    tenant = LOCAL_TENANT if wanted.role == "operator" else scope.tenant
    return Issued(ident, token, Entry(token_stream(tenant, ident), (event,), actor=scope.actor))


async def revoke_token(desk: Desk, scope: Scope, line: Mapping[str, Any]) -> None:
    """From now on nobody is known by it, and what is open with it ends. Revoking it again changes nothing."""
    if line["tenant"] != scope.tenant:
        raise NotFound("There is no such token.", code="token_not_found")
    if line["actor"] != scope.actor and not scope.may("manage"):
        raise NotAllowed("Only those who manage this tenant revoke the tokens of others.", code="not_allowed")
    check_grant(scope, line["role"])
    if line["revoked_at"] is None:
        await end_token(desk, scope, line["id"])


async def end_token(desk: Desk, scope: Scope, token: str) -> None:
    """One of this tenant that is good."""
    event = TokenRevoked(token, scope.actor)
    await desk.log.append(Entry(token_stream(scope.tenant, token), (event,), actor=scope.actor))


def _check(desk: Desk, scope: Scope, wanted: Wanted) -> None:
    if wanted.role not in ROLES:
        raise Invalid(f"The role {wanted.role!r} is none of {', '.join(ROLES)}.", code="unknown_role")
    if not ACTOR.fullmatch(wanted.actor):
        raise Invalid("A token is for a `person:…`, an `agent:…` or a `token:…`.", code="bad_actor")
    if len(wanted.name) > LONGEST_NAME or not wanted.name.isprintable():
        raise Invalid(f"A token's name is one line of at most {LONGEST_NAME} characters.", code="bad_name")
    if wanted.actor != scope.actor and not scope.may("manage"):
        raise NotAllowed("Only those who manage this tenant issue tokens for others.", code="not_allowed")
    check_grant(scope, wanted.role)
    if expired(wanted.expires_at, desk.clock.now()):
        raise Invalid("The token would have expired already.", code="already_expired")
    if wanted.role != "agent":  # an agent belongs to its tenant, not to whoever added it
        _check_life(scope, wanted.expires_at)


def _check_life(scope: Scope, expires_at: float | None) -> None:
    until = None if scope.shown is None else scope.shown.lends_until
    if until is not None and (expires_at is None or expires_at > until):
        raise NotAllowed("A token cannot live longer than the one that issues it.", code="outlives_issuer")
