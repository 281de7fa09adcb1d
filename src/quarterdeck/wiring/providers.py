"""Tenants' providers: which model with which key, or the server's own where the operator lets them have it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from quarterdeck.actions.tenant_config import Vault
from quarterdeck.adapters.models.brought import brought, model_name
from quarterdeck.adapters.models.keyring import KeyedModel, Keyring
from quarterdeck.adapters.models.watch import Patience
from quarterdeck.adapters.models.whereabouts import Whereabouts
from quarterdeck.engine.providers import KEYLESS, base_of, origin_of
from quarterdeck.events.run import Role
from quarterdeck.kernel.errors import LimitReached, ModelFailed, Problem
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.parts import Message, Persona
from quarterdeck.kernel.scope import LOCAL_TENANT
from quarterdeck.kernel.tenancy import TenantConfig
from quarterdeck.ports import Clock, Model, ModelRequest
from quarterdeck.runtime.roles import Models, Providers
from quarterdeck.server.tenancy import Trial
from quarterdeck.views.tenants import Configs
from quarterdeck.wiring import conversation_service

TRIAL_S = 20.0
TRIAL = ModelRequest((Message("user", "Say: ok"),), max_output_tokens=16)


class TenantProviders:
    """Keeps `Providers`. The models of `default` are the server's own."""

    def __init__(
        self, configs: Configs, vault: Vault, places: Whereabouts, default: Providers, clock: Clock, patience: Patience
    ) -> None:
        self._configs, self._vault, self._places, self._default = configs, vault, places, default
        self._patience, self._ring, self._clock = patience, Keyring(clock), clock
        self._trying: set[TenantId] = set()

    def of(self, tenant: TenantId, persona: Persona | None = None) -> Models:
        return _TenantModels(self, tenant, persona)

    async def choose(self, tenant: TenantId, persona: Persona | None) -> Model:
        if tenant == LOCAL_TENANT:
            return await self._default.of(tenant, persona).model("thinker")
        config = await self._configs.of(tenant)
        if config.provider is None:
            if config.server_default == "never":
                raise _failed(
                    "no_model",
                    "This tenant has no model provider yet: set `llm_provider`, `llm_api_key` and `llm_model` with "
                    f"PUT /api/v1/tenants/{tenant}/config.",
                )
            return await self._servers(tenant)
        base = base_of(config)
        if base is None:
            raise _failed("no_model", f"Say in `llm_base_url` where {config.provider} is reached.")
        if config.server_default == "when_failing" and not self._usable(config, base):
            return await self._servers(tenant)
        return await self._own(tenant, config, base, None if persona is None else persona.model)

    async def _servers(self, tenant: TenantId) -> Model:
        """What it is, is the operator's choice, who pays for it."""
        return await self._default.of(tenant, None).model("thinker")

    def _usable(self, config: TenantConfig, base: str) -> bool:
        keys = config.keys
        return self._ring.ready(origin_of(base)) and (not keys or any(self._ring.ready(key) for key in keys))

    async def _own(self, tenant: TenantId, config: TenantConfig, base: str, wanted: str | None) -> Model:
        if not config.keys and config.base_url is None and config.provider not in KEYLESS:
            raise _failed("key_missing", f"This tenant has no key for {config.provider}; set `llm_api_key`.")
        key, origin = self._ring.first(config.keys), origin_of(base)
        try:
            self._places.judge(base)
            secret = None if key is None else await self._vault.take(tenant, key, origin)
        except Problem as problem:
            raise _failed(problem.code, problem.detail) from None
        model = brought(config, model_name(config, wanted), base, secret, self._places.http, self._patience)
        others = tuple(each for each in config.keys if each != key)
        return KeyedModel(model, self._ring, key, others, origin)

    async def try_out(self, tenant: TenantId) -> Trial:
        """A real, small call; what is wrong is told in words. The server's own model is not asked: whoever may try has
        not paid for it."""
        if tenant in self._trying:
            raise LimitReached("Its provider is being tried out already; wait for that.", code="trial_running")
        self._trying.add(tenant)
        try:
            return await self._tried(tenant)
        finally:
            self._trying.discard(tenant)

    async def _tried(self, tenant: TenantId) -> Trial:
        begun, name = self._clock.steady(), None
        try:
            async with asyncio.timeout(TRIAL_S):
                model = await conversation_service.model_for_tenant(tenant, self)
                name = model.name
                if not isinstance(model, KeyedModel | conversation_service.StreamedModel):
                    return Trial(ok=True, model=name, detail=f"The server's own model answers: {name}.")
                async for _ in model.stream(TRIAL):
                    pass
        except ModelFailed as failed:
            return Trial(ok=False, model=name, code=failed.code, detail=failed.detail)
        except TimeoutError:
            detail = f"It did not answer a short question within {TRIAL_S:.0f} seconds."
            return Trial(ok=False, model=name, code="provider_timeout", detail=detail)
        took_ms = round((self._clock.steady() - begun) * 1000, 1)
        return Trial(ok=True, model=name, detail=f"{name} answers.", took_ms=took_ms)

    async def aclose(self) -> None:
        await self._places.http.aclose()


@dataclass(frozen=True, slots=True)
class _TenantModels:
    chooser: TenantProviders
    tenant: TenantId
    persona: Persona | None

    async def model(self, role: Role) -> Model:  # noqa: ARG002 - one model serves every role
        return await conversation_service.model_for_tenant(self.tenant, self.chooser, self.persona)


def _failed(code: str, detail: str) -> ModelFailed:
    return ModelFailed(code, detail, retryable=False)
