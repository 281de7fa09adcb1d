"""Who may do what: the rights of each role; and tokens, as they are written, known again and kept."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Literal, TypeAlias, get_args

from quarterdeck.kernel.errors import NotAllowed
from quarterdeck.kernel.scope import EVERYTHING, LOCAL_TENANT, Scope

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
# Kinds of calls that may reach beyond the folder of a run.
OUTWARD = frozenset({"file_outside_workspace", "privileged", "shell", "destructive"})
ROLES: tuple[Role, ...] = get_args(Role)
ACTOR = re.compile(r"(person|agent|token):[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
TOKEN = re.compile(r"qd_([0-9a-f]{32})_[A-Za-z0-9_-]{43}")


def check_grant(scope: Scope, role: Role) -> None:
    """Nobody gives away what they do not have."""
    enough = scope.operator if role == "operator" else all(map(scope.may, RIGHTS[role]))
    if not enough:
        raise NotAllowed(f"You may not make anybody {role}: that role may do more than you.", code="role_too_high")


def check_folder(scope: Scope, folder: str | None) -> None:
    """Within the local tenant a folder can be any of this machine, which is the operator's. Other tenants have theirs,
    and come no further."""
    if folder is not None and scope.tenant == LOCAL_TENANT and not scope.operator:
        raise NotAllowed("Only an operator of this server names a folder on it; leave it out.", code="operators_only")


def check_outward(scope: Scope, action: str) -> None:
    """The same of what reaches beyond the folder. Of other tenants it is refused before anybody is asked."""
    if action in OUTWARD and scope.tenant == LOCAL_TENANT and not scope.operator:
        raise NotAllowed("This reaches into the server itself: only an operator may allow it.", code="operators_only")


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
