"""The read model of tenants."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from quarterdeck.events import tenants as ev
from quarterdeck.events.base import Recorded
from quarterdeck.events.codec import decode, encode
from quarterdeck.kernel.errors import NotFound
from quarterdeck.kernel.ids import TenantId, tenant_stream
from quarterdeck.kernel.scope import LOCAL_TENANT
from quarterdeck.kernel.tenancy import NO_CONFIG, TenantConfig
from quarterdeck.log.log import Log
from quarterdeck.ports import Change, Drop, Patch, Put, Query, Table

PAGE = 500
MOST_KNOWN = 1000
TENANTS = Table(
    "tenant",
    {"id": "text", "name": "text", "slug": "text", "created_at": "real", "changed_at": "real"},
    key=("id",),
    lookups=(("slug",),),
)
# How its runs are to be carried out, as the event said it.
CONFIGS = Table(
    "tenant_config",
    {"tenant": "text", "version": "integer", "config": "text", "changed_at": "real"},
    key=("tenant",),
)
# Those that left, and what of it is done. It is all that is known of them.
LEAVING = Table(
    "leaving",
    {
        "id": "text",
        "state": "text",  # erasing, erased
        "asked_by": "text",
        "asked_at": "real",
        "streams": "integer",
        "places": "integer",
        "digest": "text",
        "erased_at": "real",
    },
    key=("id",),
    lookups=(("state", "id"),),
)
TABLES = (TENANTS, CONFIGS, LEAVING)


class TenantsView:
    """One line for each tenant, and one for how it is configured."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        match fact.event:
            case ev.TenantCreated(ident, name, slug):
                born = {"created_at": fact.at, "changed_at": fact.at}
                return [Put(TENANTS, {"id": ident, "name": name, "slug": slug, **born})]
            case ev.TenantChanged(ident, name, slug):
                said = {"name": name, "slug": slug}
                changed: dict[str, object] = {what: value for what, value in said.items() if value is not None}
                return [Patch(TENANTS, {"id": ident}, {**changed, "changed_at": fact.at})]
            case ev.TenantConfigured(ident) as configured:
                text = encode(configured).decode()
                how = {"version": configured.VERSION, "config": text, "changed_at": fact.at}
                return [Put(CONFIGS, {"tenant": ident, **how})]
            case ev.TenantClosed(ident):
                left = {"id": ident, "state": "erasing", "asked_by": fact.actor, "asked_at": fact.at}
                return [Drop(TENANTS, {"id": ident}), Drop(CONFIGS, {"tenant": ident}), Put(LEAVING, left)]
            case ev.TenantCounted(ident, streams, places, digest):
                return [Patch(LEAVING, {"id": ident}, {"streams": streams, "places": places, "digest": digest})]
            case ev.TenantErased(ident):
                return [Patch(LEAVING, {"id": ident}, {"state": "erased", "erased_at": fact.at})]
            case _:
                return []


async def keep_days(log: Log) -> dict[TenantId, float]:
    """For how long tenants want the course of a run to be kept that said so."""
    found: dict[TenantId, float] = {}
    after = None
    while lines := await log.find(Query(CONFIGS, {}, "tenant", after=after, limit=PAGE)):
        for line in lines:
            days = _config(line).keep_days
            if days is not None:
                found[TenantId(line["tenant"])] = days
        after = lines[-1]["tenant"]
    return found


async def config_of(log: Log, tenant: TenantId) -> TenantConfig:
    """How the runs of a tenant are to be carried out; of one that said nothing, as those of any other."""
    line = await log.get(CONFIGS, tenant=tenant)
    return NO_CONFIG if line is None else _config(line)


class Configs:
    """How tenants are configured, kept at hand for as long as nothing happens to them. May be asked on any loop."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._known: OrderedDict[TenantId, tuple[int, TenantConfig]] = OrderedDict()

    async def of(self, tenant: TenantId) -> TenantConfig:
        state = await self._log.look(tenant_stream(tenant))
        head = 0 if state is None else state.head
        known = self._known.get(tenant)
        if known is None or known[0] != head:
            # What is read may be newer than the head, and is then read once more.
            known = self._known[tenant] = head, await config_of(self._log, tenant)
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        return known[1]


def _config(line: dict[str, Any]) -> TenantConfig:
    event = decode(ev.TenantConfigured.KIND, line["version"], line["config"].encode())
    return event.config if isinstance(event, ev.TenantConfigured) else NO_CONFIG


async def tenant_line(log: Log, tenant: TenantId) -> dict[str, Any]:
    """How a tenant stands, to whoever may know; `NotFound` where there is none. The local one is always there."""
    if tenant == LOCAL_TENANT:
        return {"id": tenant, "name": "Local", "slug": LOCAL_TENANT, "created_at": 0.0, "changed_at": 0.0}
    line = await log.get(TENANTS, id=tenant)
    if line is None:
        raise NotFound("There is no such tenant.", code="tenant_not_found")
    return line


VIEWS = (TenantsView(),)
