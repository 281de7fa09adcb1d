"""Tenants as they cross the network."""

from __future__ import annotations

from pydantic import BaseModel, Field

from quarterdeck.server.wire import Inbound


class NewTenant(Inbound):
    name: str = Field(max_length=1000, description="What people call it.")
    slug: str = Field(max_length=200, description="A short name in small letters that no other tenant has.")


class TenantChange(Inbound):
    name: str | None = Field(None, max_length=1000)
    slug: str | None = Field(None, max_length=200)


class Tenant(BaseModel):
    id: str
    name: str
    slug: str
    created_at: float
    changed_at: float
