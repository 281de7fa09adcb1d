"""A tenant as its stream tells it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from quarterdeck.events.base import Event
from quarterdeck.events.tenants import (
    SlugFreed,
    SlugTaken,
    TenantChanged,
    TenantClosed,
    TenantConfigured,
    TenantCounted,
    TenantCreated,
    TenantErased,
)
from quarterdeck.kernel.tenancy import NO_CONFIG, TenantConfig


@dataclass(frozen=True, slots=True)
class TenantState:
    """`id` is None where there is no such tenant."""

    id: str | None = None
    name: str = ""
    slug: str = ""
    config: TenantConfig = NO_CONFIG
    closed: bool = False
    counted: TenantCounted | None = None
    erased: bool = False


def evolve(state: TenantState, event: Event) -> TenantState:
    match event:
        case TenantCreated(ident, name, slug):
            return TenantState(ident, name, slug)
        case TenantChanged(_, name, slug):
            return replace(state, name=state.name if name is None else name, slug=state.slug if slug is None else slug)
        case TenantConfigured(_, config):
            return replace(state, config=config)
        case TenantClosed():
            return replace(state, closed=True)
        case TenantCounted():
            return replace(state, counted=event)
        case TenantErased():
            return replace(state, erased=True)
        case _:
            return state


def slug_holder(holder: str | None, event: Event) -> str | None:
    """Whose a slug is after one more event in its stream."""
    match event:
        case SlugTaken(tenant):
            return tenant
        case SlugFreed():
            return None
        case _:
            return holder
