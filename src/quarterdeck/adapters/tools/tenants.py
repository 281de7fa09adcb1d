"""The tools of tenants: those they were given, and nothing that leaves their own folder or the sandbox."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from quarterdeck.adapters.tools.board import NAMES as BOARD
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.parts import ToolCall, ToolSpec
from quarterdeck.kernel.scope import LOCAL_TENANT
from quarterdeck.ports import Deed, Done, Site, Toolbox, Weighed

# What a tenant has that was given nothing else: they touch no file of this machine, and start nothing.
GENTLE = frozenset({"ask_user", "memory_search", "skill_read", "web_fetch"}) | BOARD
OUTWARD = frozenset({"file_outside_workspace", "privileged"})
UNCONFINED = frozenset({"plain", "sudo"})  # lanes of a command

Names: TypeAlias = Callable[[TenantId], Awaitable[tuple[str, ...] | None]]


class TenantToolbox:
    """Keeps the `Toolbox` port. The local tenant is the owner of this machine, whose own word is asked for instead: the
    tools of `owners` know what else the owner allowed them.

    Nobody within a tenant can allow what is refused here: this machine is not theirs.
    """

    def __init__(self, owners: Toolbox, tenants: Toolbox, names: Names) -> None:
        self._owners, self._tenants, self._names = owners, tenants, names

    async def specs(self, site: Site) -> tuple[ToolSpec, ...]:
        if site.tenant == LOCAL_TENANT:
            return await self._owners.specs(site)
        theirs = await self._theirs(site.tenant)
        return tuple(spec for spec in await self._tenants.specs(site) if spec.name in theirs)

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:
        if site.tenant == LOCAL_TENANT:
            return await self._owners.weigh(call, site)
        if call.name not in await self._theirs(site.tenant):
            raise ToolFailed(f"There is no tool {call.name[:100]!r} for you.", malformed=True)
        weighed = await self._tenants.weigh(call, site)
        if weighed.action in OUTWARD or weighed.bound.get("lane") in UNCONFINED:
            return replace(
                weighed, risk="forbidden", why=f"{weighed.why} No tenant may do that here.".strip(), rule=None
            )
        return weighed

    async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:
        if deed.weighed.risk == "forbidden":
            raise ToolFailed(f"{deed.call.name} may not do this, whoever asks: {deed.weighed.why}")
        return await self._of(deed).use(deed, say)

    async def probe(self, deed: Deed) -> Done | None:
        return await self._of(deed).probe(deed)

    def _of(self, deed: Deed) -> Toolbox:
        return self._owners if deed.site.tenant == LOCAL_TENANT else self._tenants

    async def _theirs(self, tenant: TenantId) -> frozenset[str]:
        given = await self._names(tenant)
        return GENTLE if given is None else frozenset(given)
