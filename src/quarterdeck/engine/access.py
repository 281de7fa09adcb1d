"""Who may do what: the rights of each role; and tokens, as they are written, known again and kept."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Literal, TypeAlias, get_args

from quarterdeck.kernel.errors import NotAllowed
from quarterdeck.kernel.scope import EVERYTHING, Scope

Right: TypeAlias = Literal[
    "read",  # look at runs, conversations, memory, approvals
    "board",  # look at the board
    "work",  # write on the board, stream on the hub
    "talk",  # start, steer and stop runs; write to employees; remember
    "approve",  # answer what a run asks
    "manage",  # employees, members, users, tokens, rules, the audit
    "own",  # how the tenant is set up, its keys, its export and its end
    "operate",  # all tenants
]
Role: TypeAlias = Literal["viewer", "agent", "member", "admin", "owner", "operator"]

_MEMBER: frozenset[str] = frozenset({"read", "board", "work", "talk", "approve"})
RIGHTS: dict[Role, frozenset[str]] = {
    "viewer": frozenset({"read", "board"}),
    "agent": frozenset({"board", "work"}),
    "member": _MEMBER,
    "admin": _MEMBER | {"manage"},
    "owner": _MEMBER | {"manage", "own"},
    "operator": EVERYTHING,
}
ROLES: tuple[Role, ...] = get_args(Role)
ACTOR = re.compile(r"(person|agent|token):[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
TOKEN = re.compile(r"qd_([0-9a-f]{32})_[A-Za-z0-9_-]{43}")


def check_grant(scope: Scope, role: Role) -> None:
    """Nobody gives away what they do not have."""
    enough = scope.operator if role == "operator" else all(map(scope.may, RIGHTS[role]))
    if not enough:
        raise NotAllowed(f"You may not make anybody {role}: that role may do more than you.", code="role_too_high")


def role_of(scope: Scope) -> Role:
    """The highest role that gives no more than this scope has."""
    if scope.operator:
        return "operator"
    return next((role for role in reversed(ROLES[:-1]) if all(map(scope.may, RIGHTS[role]))), "viewer")


def id_of(token: str) -> str | None:
    """The id of the token, or None for what is none: nothing else is done with that."""
    found = TOKEN.fullmatch(token)
    return None if found is None else found[1]


def digest_of(token: str) -> str:
    """A token holds 256 bits of chance, so that a plain hash gives nothing away."""
    return hashlib.sha256(token.encode()).hexdigest()


def same(digest: str, token: str) -> bool:
    return hmac.compare_digest(digest, digest_of(token))


def expired(expires_at: float | None, now: float) -> bool:
    return expires_at is not None and expires_at <= now
