"""The read model of tokens, and what one that is shown says of whoever shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.engine.access import RIGHTS, expired, id_of, same
from quarterdeck.events import access
from quarterdeck.events.base import Recorded
from quarterdeck.kernel.ids import TenantId, token_stream
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
    if line["parent"] is None:
        return _scope(line, Shown((_stream(line),), line["expires_at"], line["expires_at"]))
    parent = await log.get(TOKENS, id=line["parent"])
    if parent is None or not _good(parent, now):
        return None
    return _scope(line, Shown((_stream(line), _stream(parent)), line["expires_at"], parent["expires_at"]))


def _good(line: Mapping[str, Any], now: float) -> bool:
    return line["revoked_at"] is None and not expired(line["expires_at"], now)


def _stream(line: Mapping[str, Any]) -> str:
    return str(token_stream(TenantId(line["tenant"]), line["id"]))


def _scope(line: Mapping[str, Any], shown: Shown) -> Scope:
    """A role that this release does not know may do nothing."""
    rights = RIGHTS.get(line["role"], frozenset())
    return Scope(TenantId(line["tenant"]), line["actor"], rights, line["role"] == "operator", shown)


TABLES = (TOKENS,)
VIEWS = (TokensView(),)
