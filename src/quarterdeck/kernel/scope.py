"""Who is asking: handed to every action and view, never ambient."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from quarterdeck.kernel.errors import NotFound
from quarterdeck.kernel.ids import TenantId

LOCAL_TENANT = TenantId("local")
EVERYTHING = frozenset({"*"})


@dataclass(frozen=True, slots=True)
class Shown:
    """What a scope is known by: the streams in which that may be ended, and when it ends by itself.

    `lends_until` bounds the life of what may be issued with it: a browser's session ends sooner than what it may lend.
    `session` says that it is a browser's, and so travels in a cookie, unasked.
    `seen` counts what had ended before it was looked at: what ends later ends this.
    """

    by: tuple[str, ...]
    ends_at: float | None = None
    lends_until: float | None = None
    session: bool = False
    seen: int = 0

    @property
    def token(self) -> str:
        """The id of the token itself, which comes first."""
        return self.by[0].partition("/")[2]


@dataclass(frozen=True, slots=True)
class Scope:
    """A tenant, an actor within it, and what that actor may do. An operator may act within every tenant.

    In local mode nothing was shown.
    """

    tenant: TenantId
    actor: str
    rights: frozenset[str] = field(default_factory=frozenset)
    operator: bool = False
    shown: Shown | None = None

    def may(self, right: str) -> bool:
        return right in self.rights or "*" in self.rights

    def within(self, tenant: TenantId) -> Scope:
        """The same actor, within this tenant. To anybody else another tenant is not there."""
        if tenant == self.tenant:
            return self
        if not self.operator:
            raise NotFound("There is no such tenant.", code="tenant_not_found")
        return replace(self, tenant=tenant)


# Who showed nothing, where something is to be shown.
NOBODY = Scope(TenantId(""), "nobody")
LOCAL_OWNER = Scope(LOCAL_TENANT, "person:owner", EVERYTHING, operator=True)
