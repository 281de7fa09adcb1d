"""The read models of users and tokens, and what a token that is shown says of whoever shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.engine.access import RIGHTS, expired, id_of, same
from quarterdeck.events import access
from quarterdeck.events.base import Recorded
from quarterdeck.kernel.ids import TenantId, token_stream, user_stream
from quarterdeck.kernel.scope import Scope, Shown
from quarterdeck.log.log import Log
from quarterdeck.ports import Change, Patch, Put, Table

TOKENS = Table(
    "token",
    {
        "id": "text",
        "tenant": "text",
        "digest": "text",
        "actor": "text",
        "role": "text",
        "name": "text",
        "parent": "text",
        "issued_by": "text",
        "issued_at": "real",
        "expires_at": "real",
        "used_at": "real",
        "revoked_at": "real",
        "revoked_by": "text",
    },
    key=("id",),
    lookups=(("tenant", "id"), ("tenant", "actor", "id"), ("parent", "id")),
)
USERS = Table(
    "user",
    {
        "tenant": "text",
        "id": "text",
        "name": "text",
        "role": "text",
        "added_at": "real",
        "removed": "integer",
    },
    key=("tenant", "id"),
    lookups=(("id",), ("tenant", "removed", "id")),
)


class UsersView:
    def apply(self, fact: Recorded) -> Sequence[Change]:
        key = {"tenant": fact.tenant, "id": fact.stream.partition("/")[2]}
        match fact.event:
            case access.UserAdded(name, role):
                return [Put(USERS, {**key, "name": name, "role": role, "added_at": fact.at, "removed": 0})]
            case access.UserChanged(name, role):
                said = {"name": name, "role": role}
                return [Patch(USERS, key, {what: value for what, value in said.items() if value is not None})]
            case access.UserRemoved():
                return [Patch(USERS, key, {"removed": 1})]
            case _:
                return []


class TokensView:
    def apply(self, fact: Recorded) -> Sequence[Change]:
        match fact.event:
            case access.TokenIssued(token, digest, actor, role, name, expires_at, parent):
                whose = {"tenant": fact.tenant, "actor": actor, "role": role, "name": name, "parent": parent}
                issued = {"issued_by": fact.actor, "issued_at": fact.at, "expires_at": expires_at}
                return [Put(TOKENS, {"id": token, "digest": digest, **whose, **issued})]
            case access.TokenUsed(token):
                return [Patch(TOKENS, {"id": token}, {"used_at": fact.at})]
            case access.TokenRevoked(token, by):
                return [Patch(TOKENS, {"id": token}, {"revoked_at": fact.at, "revoked_by": by})]
            case _:
                return []


async def authenticate(log: Log, token: str, now: float) -> Scope | None:
    """Who shows this token; None where it is malformed (nothing is looked up for it), unknown, revoked or expired."""
    ident = id_of(token)
    line = None if ident is None else await log.get(TOKENS, id=ident)
    if line is None or not same(line["digest"], token) or not _good(line, now):
        return None
    parent = line if line["parent"] is None else await log.get(TOKENS, id=line["parent"])
    if parent is None or not _good(parent, now):
        return None
    return await _scope(log, line, parent)


async def _scope(log: Log, line: Mapping[str, Any], parent: Mapping[str, Any]) -> Scope | None:
    """Nobody may more than their token and, for a user of the tenant, than that user. A role that this release does not
    know may nothing."""
    tenant, rights = TenantId(line["tenant"]), RIGHTS.get(line["role"], frozenset())
    by = [str(token_stream(tenant, each)) for each in dict.fromkeys((line["id"], parent["id"]))]
    kind, _, name = line["actor"].partition(":")
    user = await log.get(USERS, tenant=tenant, id=name) if kind == "person" and line["role"] != "operator" else None
    if user is not None:
        if user["removed"]:
            return None
        rights &= RIGHTS.get(user["role"], frozenset())
        by.append(str(user_stream(tenant, name)))
    shown = Shown(tuple(by), line["expires_at"], parent["expires_at"], session=line["parent"] is not None)
    return Scope(tenant, line["actor"], rights, line["role"] == "operator", shown)


def _good(line: Mapping[str, Any], now: float) -> bool:
    return line["revoked_at"] is None and not expired(line["expires_at"], now)


TABLES = (USERS, TOKENS)
VIEWS = (UsersView(), TokensView())
