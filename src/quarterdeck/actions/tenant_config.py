"""How a tenant's runs are carried out: whose model, for how much. Its keys go to the vault, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.tenants import tenant_state
from quarterdeck.engine.providers import base_of, checked_base, checked_provider, origin_of
from quarterdeck.events.tenants import TenantConfigured
from quarterdeck.kernel.errors import Conflict, Invalid, Moved, NotAllowed
from quarterdeck.kernel.ids import TenantId, tenant_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.kernel.tenancy import NO_CONFIG, TenantConfig
from quarterdeck.log.entries import Entry

TRIES = 50
MOST_KEYS = 10
LONGEST_KEY = 1000
OPERATORS = frozenset({"tools", "server_default"})


class Vault(Protocol):
    """Keeps the keys of tenants' providers. Each is bound to its tenant and to the origin (`https://host:port`) that it
    is for, and is given out for no other. May be used from any event loop."""

    async def put(self, tenant: TenantId, origin: str, secrets: Sequence[str]) -> tuple[str, ...]:
        """Keep them, and return an id for each."""

    async def take(self, tenant: TenantId, ident: str, origin: str) -> str:
        """Raises a `Problem` with the sentence that says what is in the way."""

    async def last_four(self, tenant: TenantId, idents: Sequence[str]) -> tuple[str | None, ...]:
        """By what people tell their keys apart; None of one that is too short to show that much."""

    async def drop(self, tenant: TenantId, idents: Sequence[str]) -> None:
        """Lose them for good."""

    async def rotate(self) -> int:
        """Lock everything under a new master key, and lose the old one. Returns how many tenants it holds."""


@dataclass(frozen=True, slots=True)
class Wish:
    """`given` are fields of `TenantConfig`; `keys` None keeps those that are there. The `whole` one leaves nothing else
    as it was but what is an operator's to say."""

    given: Mapping[str, Any]
    keys: Sequence[str] | None = field(default=None, repr=False)
    whole: bool = False


Judge: TypeAlias = Callable[[str], None]


async def configure(desk: Desk, scope: Scope, tenant: TenantId, wish: Wish, vault: Vault, judge: Judge) -> TenantConfig:
    """Answers once it is durable. `judge` raises where a base URL may not be."""
    state, _ = await tenant_state(desk.log, tenant)
    first = _planned(state.config, wish, scope, judge)
    fresh = await _kept(vault, tenant, first, wish.keys)
    try:
        before, config = await _configured(desk, scope, tenant, wish, judge, replace(first, keys=fresh))
    except BaseException:
        await vault.drop(tenant, fresh)
        raise
    await vault.drop(tenant, tuple(set(before.keys) - set(config.keys)))
    return config


async def _configured(
    desk: Desk, scope: Scope, tenant: TenantId, wish: Wish, judge: Judge, first: TenantConfig
) -> tuple[TenantConfig, TenantConfig]:
    for _ in range(TRIES):
        state, head = await tenant_state(desk.log, tenant)
        config = _planned(state.config, wish, scope, judge)
        if wish.keys is None:
            _must_fit(state.config, config)
        elif wish.keys and base_of(config) != base_of(first):
            raise Conflict("Somebody else changed the provider in the same moment; look, and try again.", code="busy")
        else:
            config = replace(config, keys=first.keys)
        event = TenantConfigured(tenant, config)
        try:
            await desk.log.append(Entry(tenant_stream(tenant), (event,), actor=scope.actor, head=head))
        except Moved:
            continue
        return state.config, config
    raise Conflict("The tenant changes too quickly; try again.", code="busy")


def _planned(before: TenantConfig, wish: Wish, scope: Scope, judge: Judge) -> TenantConfig:
    given = dict(wish.given)
    if not scope.operator and (theirs := [n for n in OPERATORS & set(given) if given[n] != getattr(before, n)]):
        raise NotAllowed(f"Only an operator of this server may set `{min(theirs)}`.", code="operators_only")
    config = before
    if wish.whole:
        config = replace(NO_CONFIG, keys=before.keys)
        if not scope.operator:
            config = replace(config, tools=before.tools, server_default=before.server_default)
    return _checked(replace(config, **given), judge)


def _checked(config: TenantConfig, judge: Judge) -> TenantConfig:
    if config.provider is not None:
        checked_provider(config.provider)
    if config.base_url is not None:
        config = replace(config, base_url=checked_base(config.base_url))
    base = base_of(config)
    if config.provider is not None and base is None:
        raise Invalid(f"Say in `llm_base_url` where {config.provider!r} is reached.", code="base_url_missing")
    if config.provider is None and (config.base_url or config.model):
        raise Invalid(
            "Name the `llm_provider` as well; `openai` speaks to any server like OpenAI's.", code="no_provider"
        )
    if base is not None:
        judge(base)
    return config


async def _kept(vault: Vault, tenant: TenantId, config: TenantConfig, keys: Sequence[str] | None) -> tuple[str, ...]:
    if not keys:
        return ()
    base = base_of(config)
    if base is None:
        raise Invalid("A key needs to know whose it is: name the `llm_provider` as well.", code="no_provider")
    if len(keys) > MOST_KEYS or any(not 0 < len(key) <= LONGEST_KEY or not _plain(key) for key in keys):
        raise Invalid(
            f"Keys are at most {MOST_KEYS}, each of 1 to {LONGEST_KEY} plain characters without blanks.", code="bad_key"
        )
    return await vault.put(tenant, origin_of(base), keys)


def _plain(key: str) -> bool:
    """What an HTTP header can carry."""
    return key.isascii() and key.isprintable() and " " not in key


def _must_fit(before: TenantConfig, after: TenantConfig) -> None:
    """A stored key goes nowhere but where it was meant to go."""
    if not before.keys:
        return
    old, new = base_of(before), base_of(after)
    if old is not None and (new is None or origin_of(new) != origin_of(old)):
        raise Conflict(
            f"The stored key belongs to {origin_of(old)} and goes nowhere else. Send the key for the new place along, "
            "or `null` to lose the old one.",
            code="key_bound",
        )
