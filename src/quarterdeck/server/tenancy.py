"""What routes about tenants need besides the desk: the vault, a judge of addresses, a way to try a provider out,
and all that a tenant takes along when it leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from quarterdeck.actions.tenant_config import Judge, Vault
from quarterdeck.engine.money import Prices
from quarterdeck.kernel.ids import TenantId


@dataclass(frozen=True, slots=True)
class Trial:
    """How a small call of a tenant's model went: `code` and `detail` say what is wrong, in words."""

    ok: bool
    model: str | None
    detail: str
    code: str | None = None
    took_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Tenancy:
    vault: Vault
    judge: Judge
    prices: Callable[[TenantId], Awaitable[Prices]]
    try_out: Callable[[TenantId], Awaitable[Trial]]
    luggage: Callable[[TenantId], AsyncIterator[bytes]]
