"""The model that a tenant brings: its provider, its address, its key, under the names that its settings have."""

from __future__ import annotations

from quarterdeck.adapters.models.anthropic import AnthropicMessages
from quarterdeck.adapters.models.discovery import ANTHROPIC_DEFAULT, OPENAI_DEFAULT, REASONS
from quarterdeck.adapters.models.endpoint import Labels
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.openai_chat import OpenAIChat
from quarterdeck.adapters.models.probes import LEAST
from quarterdeck.adapters.models.watch import Patience
from quarterdeck.engine.providers import KEYLESS
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.kernel.tenancy import TenantConfig
from quarterdeck.ports import Model, Traits

DEFAULTS = {"openai": OPENAI_DEFAULT, "anthropic": ANTHROPIC_DEFAULT}


def model_name(config: TenantConfig, wanted: str | None) -> str:
    """The one that is asked for, else the tenant's own. `provider/` before it may be left out."""
    provider = config.provider or ""
    name = (wanted or config.model or DEFAULTS.get(provider, "")).removeprefix(f"{provider}/")
    if not name:
        raise ModelFailed("no_model", f"Name one of {provider}'s models in `llm_model`.", retryable=False)
    return name


def brought(config: TenantConfig, name: str, base: str, key: str | None, http: Http, patience: Patience) -> Model:
    provider = config.provider or ""
    labels = Labels(provider, "`llm_api_key`", "`llm_base_url`", "`llm_model`")
    if provider == "anthropic":
        return AnthropicMessages(model=name, base_url=base, api_key=key, http=http, patience=patience, labels=labels)
    able = Traits(tools=True, schema=True, reasoning=bool(REASONS.search(name)))
    traits = LEAST if provider in KEYLESS else able
    return OpenAIChat(
        model=name, base_url=base, api_key=key, http=http, patience=patience, traits=traits, labels=labels
    )
