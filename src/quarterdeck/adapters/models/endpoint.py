"""Where a model is reached, and what the settings are called that say so: an error should name the one to look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Labels:
    """What people call an endpoint and its settings: environment variables, or the fields of a tenant's form."""

    provider: str
    key: str
    url: str
    model: str = "QUARTERDECK_MODEL"


@dataclass(frozen=True, slots=True)
class Endpoint:
    model: str
    base_url: str
    labels: Labels
    api_key: str | None = field(default=None, repr=False)

    def at(self, path: str) -> str:
        return self.base_url.rstrip("/") + path

    @property
    def name(self) -> str:
        return f"{self.labels.provider}/{self.model}"

    @property
    def who(self) -> str:
        return f"{self.labels.provider} at {self.where}" if self.base_url else "The embedded model"

    @property
    def host(self) -> str:
        return _host(self.base_url)

    @property
    def where(self) -> str:
        """Host, port and path, without whatever else a URL may carry: it is shown to people."""
        return _where(self.base_url)


# Kept, because every attempt asks for them.
@lru_cache(maxsize=256)
def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


@lru_cache(maxsize=256)
def _where(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that is no URL"
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}{port}{parts.path.rstrip('/')}"
