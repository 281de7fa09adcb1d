"""What can happen to a tenant, and to the slug that is its alone. Each has a stream of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quarterdeck.events.base import Event
from quarterdeck.kernel.tenancy import TenantConfig


@dataclass(frozen=True, slots=True)
class TenantCreated(Event):
    KIND: ClassVar[str] = "tenant.created"
    id: str
    name: str
    slug: str


@dataclass(frozen=True, slots=True)
class TenantChanged(Event):
    """What is None stayed as it was."""

    KIND: ClassVar[str] = "tenant.changed"
    id: str
    name: str | None = None
    slug: str | None = None


@dataclass(frozen=True, slots=True)
class TenantConfigured(Event):
    """From now on its runs are carried out like this. Of its provider's keys only their ids in the vault are here."""

    KIND: ClassVar[str] = "tenant.configured"
    id: str
    config: TenantConfig


@dataclass(frozen=True, slots=True)
class TenantClosed(Event):
    """It leaves: from now on it is nobody's, and all that it had goes."""

    KIND: ClassVar[str] = "tenant.closed"
    id: str


@dataclass(frozen=True, slots=True)
class TenantCounted(Event):
    """What it had when nothing could be added any more: streams, places in them, and a digest of how each ended."""

    KIND: ClassVar[str] = "tenant.counted"
    id: str
    streams: int
    places: int
    digest: str


@dataclass(frozen=True, slots=True)
class TenantErased(Event):
    """All that it had is in no file any more. That it was is what stays."""

    KIND: ClassVar[str] = "tenant.erased"
    TERMINAL: ClassVar[bool] = True
    id: str


@dataclass(frozen=True, slots=True)
class SlugTaken(Event):
    """The slug that this stream is about is this tenant's from now on."""

    KIND: ClassVar[str] = "slug.taken"
    tenant: str


@dataclass(frozen=True, slots=True)
class SlugFreed(Event):
    """Anybody may have it."""

    KIND: ClassVar[str] = "slug.freed"
