"""Money: what a call may cost, what it did cost, and what is left. Pure; kept in billionths of a dollar."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TypeAlias

from quarterdeck.events.base import Event
from quarterdeck.events.money import MoneyReserved, MoneySettled
from quarterdeck.kernel.errors import Invalid
from quarterdeck.kernel.parts import Message, ToolSpec, Usage

NANO = 1_000_000_000  # sums are kept whole, so that many small ones add up to exactly what a cap says
MILLION = 1_000_000
DEAREST = 1_000_000.0  # USD per million tokens; what is beyond is a slip of the pen
MOST_OUTPUT = 8192  # tokens of an answer whose length nobody bounded
BYTES_PER_TOKEN = 3  # fewer than in most texts of most languages, so that an estimate is rather too high
MESSAGE_TOKENS = 8  # what stands around each message


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens. Reasoning costs what output costs, unless it has a price of its own."""

    input: float
    output: float
    reasoning: float | None = None


Prices: TypeAlias = Mapping[str, Price]
FREE = Price(0.0, 0.0)
DEFAULT_PRICES: Prices = MappingProxyType({"local/*": FREE, "ollama/*": FREE, "scripted/*": FREE})


def read_prices(table: object) -> Prices:
    """Prices by model as a setting gives them: `{"openai/gpt-4.1": {"input": 2, "output": 8}, "openai/*": …}`."""
    if not isinstance(table, dict):
        raise _bad("it must be an object with a price for each model")
    return MappingProxyType({**DEFAULT_PRICES, **{model: _price(model, given) for model, given in table.items()}})


def _price(model: str, given: object) -> Price:
    shape = ", ".join(('{"input": USD', '"output": USD', '"reasoning": USD}')) + " per million tokens"
    if not isinstance(given, dict) or not {"input", "output"} <= set(given) <= {"input", "output", "reasoning"}:
        raise _bad(f"the price of {model!r} must be {shape}; reasoning may be left out")
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= DEAREST:
            raise _bad(f"{name} of {model!r} must be a number from 0 to {DEAREST:,.0f}")
    return Price(**{name: float(value) for name, value in given.items()})


def _bad(why: str) -> Invalid:
    return Invalid(f"QUARTERDECK_PRICES cannot be used: {why}.", code="bad_setting")


def price_of(prices: Prices, model: str) -> Price | None:
    """The price under the model's own name, else under the longest beginning of it that ends in `*`."""
    if model in prices:
        return prices[model]
    fitting = [name for name in prices if name.endswith("*") and model.startswith(name[:-1])]
    return prices[max(fitting, key=len)] if fitting else None


def estimate(
    price: Price, messages: Iterable[Message], max_output: int | None = None, tools: Sequence[ToolSpec] = ()
) -> float:
    """What a call will hardly exceed, in USD: to be reserved before it."""
    size = sum(len(tool.name) + len(tool.description) + len(str(tool.parameters)) for tool in tools)
    tokens = len(tools) * MESSAGE_TOKENS
    for message in messages:
        size += len(message.content.encode("utf-8", "replace"))
        size += sum(len(call.name) + len(call.arguments.encode("utf-8", "replace")) for call in message.calls)
        tokens += MESSAGE_TOKENS
    tokens += math.ceil(size / BYTES_PER_TOKEN)
    output = MOST_OUTPUT if max_output is None else max_output
    return _usd(tokens * price.input + output * max(price.output, price.reasoning or 0.0))


def cost(usage: Usage, price: Price) -> float | None:
    """What a call cost, in USD; None where the provider did not count. Reasoning is part of the output it counted."""
    if price == FREE:
        return 0.0
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    thought = min(usage.reasoning_tokens or 0, usage.output_tokens)
    per_thought = price.output if price.reasoning is None else price.reasoning
    return _usd(
        usage.input_tokens * price.input + (usage.output_tokens - thought) * price.output + thought * per_thought
    )


def _usd(millionths: float) -> float:
    return max(0.0, round(millionths / MILLION, 9))


def nano(usd: float) -> int:
    """Whole billionths of a dollar, rounded up: what is held back is never too little."""
    return math.ceil(round(usd * NANO, 3))


def day_of(at: float) -> str:
    """The day that a moment falls on, in UTC: 2026-01-31."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


# The ledger

Call: TypeAlias = tuple[str, int]  # a run, and which of its attempts


@dataclass(frozen=True, slots=True)
class Ledger:
    """A fold of reservations and settlements. A call that was reserved and never settled stays counted."""

    open: Mapping[Call, int] = field(default_factory=dict)
    spent_nano: int = 0

    @property
    def reserved(self) -> float:
        return sum(self.open.values()) / NANO

    @property
    def spent(self) -> float:
        return self.spent_nano / NANO

    @property
    def counted_nano(self) -> int:
        return self.spent_nano + sum(self.open.values())

    def lost(self, run: str, attempt: int) -> tuple[Call, ...]:
        """Calls of the run before this one that nobody settled: whoever made them is gone."""
        return tuple(call for call in self.open if call[0] == run and call[1] < attempt)

    def fits(self, run: str, attempt: int, usd: float, cap: float) -> bool:
        """Whether the call may be reserved besides all that counts; what it had reserved itself before, it may have."""
        had = self.open.get((run, attempt), 0)
        return self.counted_nano - had + nano(usd) <= math.floor(round(cap * NANO, 3))


def evolve(ledger: Ledger, event: Event) -> Ledger:
    """The ledger after one more event. Total: what settles nothing that is open changes nothing."""
    match event:
        case MoneyReserved(run, attempt, usd):
            return replace(ledger, open={**ledger.open, (run, attempt): nano(usd)})
        case MoneySettled(run, attempt, usd) if (run, attempt) in ledger.open:
            left = {call: held for call, held in ledger.open.items() if call != (run, attempt)}
            return Ledger(left, ledger.spent_nano + nano(usd))
        case _:
            return ledger
