"""What holds for the runs of a tenant: prices, budgets, tools, its folder. The local one has the server's own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

from quarterdeck.engine.money import Price, Prices
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.scope import LOCAL_TENANT
from quarterdeck.kernel.tenancy import TenantConfig
from quarterdeck.runtime.purse import Caps, Terms, TermsOf
from quarterdeck.settings import Settings
from quarterdeck.views.tenants import Configs


def terms_of(configs: Configs, settings: Settings) -> TermsOf:
    own = Terms(settings.prices, Caps(settings.run_budget_usd, settings.day_budget_usd))

    async def of(tenant: TenantId) -> Terms:
        if tenant == LOCAL_TENANT:
            return own
        config = await configs.of(tenant)
        return Terms(prices_of(config, settings.prices), _caps(config, own.caps))

    return of


def prices_of(config: TenantConfig, servers: Prices) -> Prices:
    """Where the server's own model may answer, the operator pays, and what the operator says of a price goes first."""
    theirs = {line.model: Price(line.input, line.output, line.reasoning) for line in config.prices}
    return {**servers, **theirs} if config.server_default == "never" else {**theirs, **servers}


def _caps(config: TenantConfig, servers: Caps) -> Caps:
    """The tighter one of the two."""
    run, run_setting = _tighter(config.run_budget_usd, "`run_budget_usd`", servers.run, servers.run_setting)
    day, day_setting = _tighter(config.day_budget_usd, "`day_budget_usd`", servers.day, servers.day_setting)
    return Caps(run, day, run_setting, day_setting)


def _tighter(one: float | None, its: str, other: float | None, others: str) -> tuple[float | None, str]:
    return (one, its) if one is not None and (other is None or one < other) else (other, others)


def workspaces(settings: Settings) -> Callable[[TenantId, str | None], str]:
    """The folder a run may work in, without links. Of the owner of this machine any; of a tenant one of its own, and
    what is beneath it: elsewhere are others' things. Ours are made where they are missing; one that somebody named is
    theirs to make, so that a slip of the pen is told."""

    def of(tenant: TenantId, asked: str | None) -> str:
        if tenant == LOCAL_TENANT:
            if asked is None and settings.folder is None:
                with contextlib.suppress(OSError):  # whatever needs it says that it is not there
                    settings.workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.path.realpath(settings.workspace if asked is None else Path(asked).expanduser())
        own = tenant_folder(settings, tenant)
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = Path(os.path.realpath(own / asked)) if asked else own
        return str(there if there.is_relative_to(own) else own)

    return of


def tenant_folder(settings: Settings, tenant: TenantId) -> Path:
    return Path(os.path.realpath(settings.database.parent)) / "tenants" / tenant


def files_lost(settings: Settings) -> Callable[[TenantId], Awaitable[None]]:
    """How the files of a tenant that leaves are lost."""

    async def lose(tenant: TenantId) -> None:
        await asyncio.to_thread(shutil.rmtree, tenant_folder(settings, tenant), ignore_errors=True)

    return lose
