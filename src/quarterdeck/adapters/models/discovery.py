"""Which model answers when nobody chose one for the occasion: what is set, what runs on this machine, what is embedded.

The values come from outside; nothing here reads the environment.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from quarterdeck.adapters.models import local, probes
from quarterdeck.adapters.models.anthropic import ANTHROPIC, AnthropicMessages
from quarterdeck.adapters.models.endpoint import Endpoint
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.openai_chat import OPENAI, OPENAI_HOST, OPENAI_LABELS, OpenAIChat
from quarterdeck.adapters.models.probes import LOOPBACK, Place
from quarterdeck.adapters.models.watch import Patience
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.ports import Model, Traits

OPENAI_DEFAULT = "gpt-4.1-mini"
ANTHROPIC_DEFAULT = "claude-sonnet-4-5"
REASONS = re.compile(r"(?i)^o\d|gpt-5|gpt-oss|qwen3|deepseek-r|reason|think|magistral")

ADVICE = (
    "For a stronger model set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama and pull a model; "
    "QUARTERDECK_MODEL=provider/model chooses one."
)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What was set, under the names that `settings` reads: QUARTERDECK_MODEL, OPENAI_API_KEY, and so on."""

    choice: str | None = None
    openai_key: str | None = field(default=None, repr=False)
    openai_base: str | None = None
    anthropic_key: str | None = field(default=None, repr=False)
    anthropic_base: str | None = None
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True)
class Found:
    """The default model, in words for people: where it came from, and how to get one, or a stronger one."""

    model: Model | None
    source: str
    advice: str = ""


async def find(
    settings: ModelSettings,
    *,
    http: Http,
    scripted: Callable[[str], Model] | None = None,
    loopback: tuple[Place, ...] = LOOPBACK,
    embedded: bool = True,
) -> Found:
    """The first of: what is chosen, what a key is set for, what runs on this machine, what is embedded."""
    if settings.choice:
        return _chosen(settings.choice, settings, http, scripted)
    if settings.openai_key or settings.openai_base:
        return await _openai(settings, http)
    if settings.anthropic_key:
        source = f"anthropic/{ANTHROPIC_DEFAULT}, because ANTHROPIC_API_KEY is set."
        return Found(_anthropic(ANTHROPIC_DEFAULT, settings, http), source)
    running = await probes.first_running(loopback, http)
    if running is not None:
        model = probes.model_at(running, http, settings.patience)
        return Found(model, f"{model.name}, which runs on this machine at {running.place.base_url}.")
    reason = local.available() if embedded else "it is switched off"
    if reason is None:
        return Found(local.LocalModel(), "The embedded model, offline and tiny: good to look around with.", ADVICE)
    return Found(
        None, f"There is no model: nothing is set, nothing runs here, and of the embedded one {reason}.", ADVICE
    )


def _chosen(choice: str, settings: ModelSettings, http: Http, scripted: Callable[[str], Model] | None) -> Found:
    """An explicit choice is taken at its word: nothing is probed, and nothing else is tried."""
    source = f"{choice}, because QUARTERDECK_MODEL says so."
    provider, _, name = choice.strip().partition("/")
    try:
        model = _named(provider.lower(), name, settings, http, scripted)
    except (ModelFailed, OSError, ValueError) as error:
        return Found(None, f"QUARTERDECK_MODEL={choice} cannot be used: {error}", ADVICE)
    return Found(model, source, ADVICE if model.traits.slight else "")


def _named(
    provider: str, name: str, settings: ModelSettings, http: Http, scripted: Callable[[str], Model] | None
) -> Model:
    if provider == "local" and name in ("", "smollm2"):
        return _embedded()
    if not name:
        raise ValueError("it must read provider/model.")
    place = next((place for place in LOOPBACK if place.provider == provider), None)
    if place is not None:
        return probes.model_at(probes.Running(place, name), http, settings.patience)
    if provider == "openai":
        if not settings.openai_key and not settings.openai_base:
            raise ValueError("OPENAI_API_KEY is not set.")
        return openai(name, settings, http)
    if provider == "anthropic":
        if not settings.anthropic_key:
            raise ValueError("ANTHROPIC_API_KEY is not set.")
        return _anthropic(name, settings, http)
    if provider == "scripted" and scripted is not None:
        return scripted(name)
    known = ["openai", "anthropic", *(place.provider for place in LOOPBACK), "local"]
    raise ValueError(f"{provider!r} is no provider we know; there are {', '.join(known)}.")


def _embedded() -> Model:
    reason = local.available()
    if reason is not None:
        raise ValueError(f"{reason}.")
    return local.LocalModel()


async def _openai(settings: ModelSettings, http: Http) -> Found:
    if not settings.openai_base:
        return Found(openai(OPENAI_DEFAULT, settings, http), f"openai/{OPENAI_DEFAULT}, because OPENAI_API_KEY is set.")
    place = Place("openai", settings.openai_base, settings.openai_key)
    endpoint = Endpoint("", settings.openai_base, OPENAI_LABELS)
    if endpoint.host == OPENAI_HOST:
        name: str | None = OPENAI_DEFAULT
    else:
        name = await probes.first_model(place, http, patience_s=probes.REMOTE_S)
    if name is None:
        source = f"There is no model: OPENAI_BASE_URL is set, but {endpoint.where} lists none."
        return Found(None, source, "Name the model in QUARTERDECK_MODEL=openai/…, or check OPENAI_BASE_URL.")
    return Found(openai(name, settings, http), f"openai/{name}, the first one at OPENAI_BASE_URL.")


def openai(name: str, settings: ModelSettings, http: Http) -> OpenAIChat:
    return OpenAIChat(
        model=name,
        base_url=settings.openai_base or OPENAI,
        api_key=settings.openai_key,
        http=http,
        patience=settings.patience,
        traits=Traits(tools=True, schema=True, reasoning=bool(REASONS.search(name))),
    )


def _anthropic(name: str, settings: ModelSettings, http: Http) -> AnthropicMessages:
    base = settings.anthropic_base or ANTHROPIC
    key, patience = settings.anthropic_key, settings.patience
    return AnthropicMessages(model=name, base_url=base, api_key=key, http=http, patience=patience)
