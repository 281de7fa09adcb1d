"""What models were used for: a line for each attempt, summed up by day and model when somebody asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from quarterdeck.engine.money import Prices, cost, day_of, price_of
from quarterdeck.events.base import Recorded
from quarterdeck.events.run import AttemptFinished, AttemptStarted
from quarterdeck.events.talk import ConversationDeleted
from quarterdeck.kernel.parts import Usage
from quarterdeck.ports import Change, Patch, Put, Table

USAGE = Table(
    "usage",
    {
        "tenant": "text",
        "id": "text",
        "day": "text",
        "model": "text",
        "role": "text",
        "input_tokens": "integer",
        "output_tokens": "integer",
        "reasoning_tokens": "integer",
    },
    key=("tenant", "id"),
    lookups=(("tenant", "day", "id"),),
)


class UsageView:
    """One line for each attempt, with its tokens once they were counted."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        run = fact.stream.partition("/")[2]
        match fact.event:
            case AttemptStarted(attempt, role, model):
                key = {"tenant": fact.tenant, "id": f"{run}#{attempt}"}
                return [Put(USAGE, {**key, "day": day_of(fact.at), "model": model, "role": role})]
            case AttemptFinished(attempt=attempt, usage=usage):
                return [_counted(fact.tenant, run, attempt, usage)]
            case ConversationDeleted(_, counted):  # the attempts' own words are erased, and these stand for them
                return [_counted(fact.tenant, each.run, each.attempt, each.usage) for each in counted]
            case _:
                return []


def _counted(tenant: str, run: str, attempt: int, usage: Usage) -> Change:
    tokens = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }
    return Patch(USAGE, {"tenant": tenant, "id": f"{run}#{attempt}"}, tokens)


@dataclass(slots=True)
class Total:
    """`usd` is what is known of the cost, by the prices of today; None where nothing is."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    usd: float | None = None

    def add(self, line: dict[str, Any], usd: float | None) -> None:
        self.calls += 1
        self.input_tokens += line["input_tokens"] or 0
        self.output_tokens += line["output_tokens"] or 0
        self.reasoning_tokens += line["reasoning_tokens"] or 0
        if usd is not None:
            self.usd = round((self.usd or 0.0) + usd, 9)


@dataclass(slots=True)
class DayTotal(Total):
    models: dict[str, Total] = field(default_factory=dict)


def summed(lines: Iterable[dict[str, Any]], prices: Prices) -> DayTotal:
    """One day's lines, summed up as a whole and by model."""
    day = DayTotal()
    for line in lines:
        price = price_of(prices, line["model"])
        usage = Usage(line["input_tokens"], line["output_tokens"], line["reasoning_tokens"])
        usd = None if price is None else cost(usage, price)
        day.add(line, usd)
        day.models.setdefault(line["model"], Total()).add(line, usd)
    return day
