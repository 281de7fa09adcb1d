"""Tenants as they cross the network."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from quarterdeck.kernel.tenancy import ModelPrice, ServerDefault, TenantConfig
from quarterdeck.server.wire import Inbound, Shape


class NewTenant(Inbound):
    name: str = Field(max_length=1000, description="What people call it.")
    slug: str = Field(max_length=200, description="A short name in small letters that no other tenant has.")


class TenantChange(Inbound):
    name: str | None = Field(None, max_length=1000)
    slug: str | None = Field(None, max_length=200)


class Tenant(Shape):
    id: str
    name: str
    slug: str
    created_at: float
    changed_at: float


Usd: TypeAlias = Annotated[float, Field(ge=0, le=1_000_000, strict=False)]
Secret: TypeAlias = Annotated[str, Field(min_length=1, max_length=1000)]
ToolName: TypeAlias = Annotated[str, Field(min_length=1, max_length=128)]


class PriceLine(Inbound):
    """USD per million tokens."""

    input: Usd
    output: Usd
    reasoning: Usd | None = None


class TenantSettings(Shape):
    """What of a tenant's configuration anybody within it may read."""

    llm_provider: str | None = None
    llm_model: str | None = None
    llm_base_url: str | None = None
    run_budget_usd: float | None = None
    day_budget_usd: float | None = None
    prices: dict[str, PriceLine] = Field(default_factory=dict)
    tools: list[str] | None = None
    keep_days: float | None = None
    server_default: ServerDefault = "never"
    llm_api_key_last_four: str | None = Field(None, description="Of the first key; null without one, or a short one.")
    llm_api_keys_last_four: list[str | None] = Field(default_factory=list, description="Of each key, in their order.")


class ConfigWish(Inbound):
    llm_provider: str | None = Field(None, max_length=40, description="openai, anthropic, ollama, …, or your own word.")
    llm_api_key: Secret | None = Field(None, description="Never shown again. null takes the stored one away.")
    llm_api_keys: list[Secret] | None = Field(None, max_length=10, description="Several, in the order to try them in.")
    llm_model: str | None = Field(None, max_length=200)
    llm_base_url: str | None = Field(None, max_length=500, description="Where it is, if not at its usual place.")
    run_budget_usd: Usd | None = Field(None, description="What one run may cost, with all that it starts.")
    day_budget_usd: Usd | None = Field(None, description="What all runs of one day (UTC) may cost.")
    prices: dict[str, PriceLine] | None = Field(
        None, max_length=500, description="By `provider/model` or `provider/*`."
    )
    tools: list[ToolName] | None = Field(None, max_length=200, description="An operator's word: which tools there are.")
    keep_days: Annotated[float, Field(gt=0, le=36_500, strict=False)] | None = Field(
        None, description="Days after which an ended run is trimmed to its answer."
    )
    server_default: ServerDefault = Field(
        "never", description="An operator's word: when the server's own model may answer."
    )

    @property
    def keys(self) -> list[str] | None:
        """None where nothing was said of them."""
        said = self.model_fields_set & {"llm_api_key", "llm_api_keys"}
        if not said:
            return None
        one = [] if self.llm_api_key is None else [self.llm_api_key]
        return [*one, *(self.llm_api_keys or [])]

    @property
    def given(self) -> dict[str, Any]:
        """What was said of the rest, under the names of `TenantConfig`."""
        said = {FIELDS.get(name, name): getattr(self, name) for name in self.model_fields_set - KEYS}
        if "prices" in said:
            said["prices"] = tuple(ModelPrice(model, **dict(line)) for model, line in (said["prices"] or {}).items())
        if said.get("tools") is not None:
            said["tools"] = tuple(said["tools"])
        return said


KEYS = {"llm_api_key", "llm_api_keys"}
FIELDS = {"llm_provider": "provider", "llm_model": "model", "llm_base_url": "base_url"}


def shown(config: TenantConfig, last_four: tuple[str | None, ...]) -> TenantSettings:
    return TenantSettings(
        llm_provider=config.provider,
        llm_model=config.model,
        llm_base_url=config.base_url,
        run_budget_usd=config.run_budget_usd,
        day_budget_usd=config.day_budget_usd,
        prices={p.model: PriceLine(input=p.input, output=p.output, reasoning=p.reasoning) for p in config.prices},
        tools=None if config.tools is None else list(config.tools),
        keep_days=config.keep_days,
        server_default=config.server_default,
        llm_api_key_last_four=last_four[0] if last_four else None,
        llm_api_keys_last_four=list(last_four),
    )


class TrialTold(Shape):
    ok: bool
    model: str | None
    code: str | None = None
    detail: str = Field(description="What is wrong, and what helps, in words.")
    took_ms: float | None = None


class Erasure(Shape):
    tenant_id: str
    state: Literal["erasing", "erased"]
    asked_by: str
    asked_at: float
    streams: int | None = Field(description="How many streams it had.")
    places: int | None = Field(description="How many events, each piece of streamed text counted.")
    digest: str | None = Field(description="Over the last hash of each of its streams.")
    erased_at: float | None


class Rotated(Shape):
    tenants: int = Field(description="Whose keys are locked anew.")
