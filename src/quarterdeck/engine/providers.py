"""Providers of models that tenants bring: where each is reached, and what an address may look like. Pure."""

from __future__ import annotations

import re
from types import MappingProxyType

from quarterdeck.kernel.errors import Invalid
from quarterdeck.kernel.tenancy import TenantConfig

# Where those are that need not be told.
BASES = MappingProxyType(
    {
        "openai": "https://api.openai.com/v1",
        "anthropic": "https://api.anthropic.com",
        "openrouter": "https://openrouter.ai/api/v1",
        "deepseek": "https://api.deepseek.com/v1",
        "groq": "https://api.groq.com/openai/v1",
        "mistral": "https://api.mistral.ai/v1",
        "ollama": "http://127.0.0.1:11434/v1",
        "lmstudio": "http://127.0.0.1:1234/v1",
        "llamacpp": "http://127.0.0.1:8080/v1",
        "vllm": "http://127.0.0.1:8000/v1",
    }
)
KEYLESS = frozenset({"ollama", "lmstudio", "llamacpp", "vllm"})
# They read this machine's files or use its processors: the server's own, and nobody else's to choose.
SERVERS_OWN = frozenset({"local", "scripted"})
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
# Narrower than what parsers take, so that no two of them read it differently.
_BASE = re.compile(
    r"(https?)://([A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?"
    r"(/[A-Za-z0-9._~/-]*)?"
)
_PORTS = {"http": 80, "https": 443}
LONGEST_BASE = 500


def checked_provider(name: str) -> str:
    if not _NAME.fullmatch(name) or name in SERVERS_OWN:
        raise Invalid(
            f"`llm_provider` must be one of {', '.join(BASES)}, or a name of your own in small letters with an "
            "`llm_base_url` that speaks OpenAI's protocol.",
            code="bad_provider",
        )
    return name


def checked_base(url: str) -> str:
    found = _BASE.fullmatch(url)
    if found is None or len(url) > LONGEST_BASE or not 0 < int(found[3] or 1) < 65536:
        raise Invalid(
            "`llm_base_url` must read https://host[:port][/path], without a name, password, query or fragment.",
            code="bad_base_url",
        )
    return url.rstrip("/")


def base_of(config: TenantConfig) -> str | None:
    """Where its provider is reached; None where nobody said."""
    return config.base_url or (BASES.get(config.provider) if config.provider else None)


def origin_of(url: str) -> str:
    """Scheme, host and port: what a key is bound to."""
    found = _BASE.fullmatch(url)
    assert found is not None, "only addresses that were checked have an origin"
    scheme = found[1].lower()
    return f"{scheme}://{found[2].lower()}:{int(found[3] or _PORTS[scheme])}"


def split(url: str) -> tuple[str, str, int]:
    """Scheme, host without brackets, port."""
    scheme, _, rest = origin_of(url).partition("://")
    host, _, port = rest.rpartition(":")
    return scheme, host.strip("[]"), int(port)
