"""Who is asking: handed to every action and view, never ambient."""

from __future__ import annotations

from dataclasses import dataclass, field

from quarterdeck.kernel.ids import TenantId

LOCAL_TENANT = TenantId("local")


@dataclass(frozen=True, slots=True)
class Scope:
    """A tenant, an actor within it, and what that actor may do."""

    tenant: TenantId
    actor: str
    rights: frozenset[str] = field(default_factory=frozenset)


LOCAL_OWNER = Scope(LOCAL_TENANT, "person:owner", frozenset({"*"}))
