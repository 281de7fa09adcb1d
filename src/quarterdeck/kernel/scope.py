"""Who is asking: handed to every action and view, never ambient."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from quarterdeck.kernel.errors import NotFound
from quarterdeck.kernel.ids import TenantId

LOCAL_TENANT = TenantId("local")


@dataclass(frozen=True, slots=True)
class Scope:
    """A tenant, an actor within it, and what that actor may do. An operator may act within every tenant."""

    tenant: TenantId
    actor: str
    rights: frozenset[str] = field(default_factory=frozenset)
    operator: bool = False

    def within(self, tenant: TenantId) -> Scope:
        """The same actor, within this tenant. To anybody else another tenant is not there."""
        if tenant == self.tenant:
            return self
        if not self.operator:
            raise NotFound("There is no such tenant.", code="tenant_not_found")
        return replace(self, tenant=tenant)


LOCAL_OWNER = Scope(LOCAL_TENANT, "person:owner", frozenset({"*"}), operator=True)
