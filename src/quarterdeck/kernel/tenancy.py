"""How a tenant wants its runs to be carried out: whose model, for how much, with which tools, kept how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from quarterdeck.kernel.ids import TenantId

# When a tenant may be answered by the server's own model: an operator's word, for it is the operator's money.
ServerDefault = Literal["never", "when_unset", "when_failing"]


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """USD per million tokens. `model` is `provider/model`, or the beginning of such with a `*` behind it."""

    model: str
    input: float
    output: float
    reasoning: float | None = None


@dataclass(frozen=True, slots=True)
class TenantConfig:
    """`keys` are the ids of what a vault keeps, in the order in which they are tried. `tools` None means those that
    stay among themselves; `keep_days` None means as long as the server keeps runs."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    keys: tuple[str, ...] = ()
    prices: tuple[ModelPrice, ...] = ()
    run_budget_usd: float | None = None
    day_budget_usd: float | None = None
    tools: tuple[str, ...] | None = None
    keep_days: float | None = None
    server_default: ServerDefault = "never"


NO_CONFIG = TenantConfig()


@dataclass(frozen=True, slots=True)
class Sealed:
    """Something that only a vault can open: kept beside the log, and in no event."""

    tenant: TenantId
    id: str
    data: bytes = field(repr=False)
