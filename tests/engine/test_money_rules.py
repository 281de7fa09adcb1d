"""What a call may cost and did cost, and what a ledger counts."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.engine.money import (
    DEFAULT_PRICES,
    FREE,
    MOST_OUTPUT,
    NANO,
    Ledger,
    Price,
    cost,
    day_of,
    estimate,
    evolve,
    nano,
    price_of,
    read_prices,
)
from quarterdeck.events.base import Unknown
from quarterdeck.events.money import MoneyReserved, MoneySettled
from quarterdeck.kernel.errors import Invalid
from quarterdeck.kernel.parts import Message, ToolCall, ToolSpec, Usage

PRICE = Price(2.0, 8.0)


def test_what_runs_here_is_free_and_what_nobody_priced_has_no_price() -> None:
    assert price_of(DEFAULT_PRICES, "local/smollm2") == FREE
    assert price_of(DEFAULT_PRICES, "ollama/qwen3:8b") == FREE
    assert price_of(DEFAULT_PRICES, "scripted/demo") == FREE
    assert price_of(DEFAULT_PRICES, "openai/gpt-4.1") is None
    assert price_of(DEFAULT_PRICES, "localhost/x") is None


def test_the_name_itself_goes_before_the_longest_beginning_of_it() -> None:
    prices = read_prices(
        {
            "*": {"input": 1, "output": 1},
            "openai/*": {"input": 2, "output": 2},
            "openai/gpt-4.1": {"input": 3, "output": 3, "reasoning": 4},
        }
    )
    assert price_of(prices, "openai/gpt-4.1") == Price(3.0, 3.0, 4.0)
    assert price_of(prices, "openai/gpt-4.1-mini") == Price(2.0, 2.0)
    assert price_of(prices, "anthropic/x") == Price(1.0, 1.0)
    assert price_of(prices, "local/smollm2") == FREE


@pytest.mark.parametrize(
    "table",
    [
        [],
        None,
        {"m": 3},
        {"m": {}},
        {"m": {"input": 1}},
        {"m": {"input": 1, "output": "2"}},
        {"m": {"input": 1, "output": -1}},
        {"m": {"input": 1, "output": True}},
        {"m": {"input": 1, "output": float("nan")}},
        {"m": {"input": 1, "output": float("inf")}},
        {"m": {"input": 1, "output": 1, "cached": 1}},
    ],
    ids=str,
)
def test_a_price_that_cannot_be_meant_is_refused(table: object) -> None:
    with pytest.raises(Invalid, match="QUARTERDECK_PRICES"):
        read_prices(table)


def test_a_call_costs_what_was_counted_and_reasoning_is_part_of_the_output() -> None:
    usage = Usage(1_000_000, 500_000, 100_000)
    assert cost(usage, PRICE) == 2.0 + 4.0
    assert cost(usage, Price(2.0, 8.0, 20.0)) == pytest.approx(2.0 + 3.2 + 2.0)
    assert cost(Usage(3, 1), PRICE) == 0.000014
    assert cost(Usage(0, 0), PRICE) == 0.0


@pytest.mark.parametrize("usage", [Usage(), Usage(5, None), Usage(None, 5)])
def test_what_nobody_counted_is_not_called_free(usage: Usage) -> None:
    assert cost(usage, PRICE) is None
    assert cost(usage, FREE) == 0.0


@given(st.text(max_size=400), st.integers(0, 5000))
def test_an_estimate_covers_a_token_for_every_three_bytes_and_the_whole_answer(text: str, output: int) -> None:
    held = estimate(PRICE, [Message("user", text)], output)
    spent = cost(Usage(-(-len(text.encode("utf-8", "replace")) // 3), output), PRICE)
    assert spent is not None
    assert held >= spent


def test_an_estimate_counts_calls_and_tools_and_bounds_an_answer_that_nobody_bounded() -> None:
    bare = estimate(PRICE, [Message("user", "hi")], 10)
    call = Message("assistant", "hi", (ToolCall("1", "file_read", "x" * 300),))
    assert estimate(PRICE, [call], 10) > bare
    assert estimate(PRICE, [Message("user", "hi")], 10, [ToolSpec("file_read", "Reads.", {"a": "b" * 300})]) > bare
    assert estimate(PRICE, [Message("user", "hi")]) == estimate(PRICE, [Message("user", "hi")], MOST_OUTPUT)
    assert estimate(Price(2.0, 8.0, 90.0), [], 1_000_000) == 90.0


def test_a_day_is_that_of_utc() -> None:
    assert day_of(0.0) == "1970-01-01"
    assert day_of(86_399.999) == "1970-01-01"
    assert day_of(86_400.0) == "1970-01-02"


def folded(*events: MoneyReserved | MoneySettled) -> Ledger:
    ledger = Ledger()
    for event in events:
        ledger = evolve(ledger, event)
    return ledger


def test_a_reservation_counts_until_it_is_settled_and_then_what_it_cost_does() -> None:
    held = folded(MoneyReserved("r", 1, 0.5), MoneyReserved("s", 1, 0.25))
    assert (held.reserved, held.spent) == (0.75, 0.0)
    settled = evolve(held, MoneySettled("r", 1, 0.1))
    assert (settled.reserved, settled.spent) == (0.25, 0.1)


def test_settling_twice_or_for_nobody_counts_nothing() -> None:
    once = folded(MoneyReserved("r", 1, 0.5), MoneySettled("r", 1, 0.1))
    assert evolve(once, MoneySettled("r", 1, 0.1)) == once
    assert evolve(once, MoneySettled("r", 2, 0.1)) == once
    assert evolve(once, Unknown("money.minted", b"{}")) == once


def test_reserving_again_takes_the_place_of_what_was_reserved() -> None:
    assert folded(MoneyReserved("r", 1, 0.5), MoneyReserved("r", 1, 0.2)).reserved == 0.2


def test_earlier_attempts_of_the_same_run_that_are_still_open_are_lost() -> None:
    ledger = folded(
        MoneyReserved("r", 1, 0.1),
        MoneySettled("r", 1, 0.1),
        MoneyReserved("r", 2, 0.1),
        MoneyReserved("r", 3, 0.1),
        MoneyReserved("s", 1, 0.1),
    )
    assert ledger.lost("r", 3) == (("r", 2),)
    assert ledger.lost("r", 1) == ()


@pytest.mark.parametrize("usd", ["1.1", "0.29", "0.000246", "0.001002", "0.000000001"])
def test_an_amount_is_kept_whole_and_a_part_is_rounded_up(usd: str) -> None:
    assert nano(float(usd)) == Decimal(usd) * NANO
    assert nano(float(usd) + 0.0000000001) == Decimal(usd) * NANO + 1


def test_sums_of_many_small_amounts_meet_a_cap_exactly() -> None:
    ledger = folded(*(MoneyReserved("r", number, 0.1) for number in range(9)))
    assert ledger.fits("r", 9, 0.1, 1.0)
    assert not evolve(ledger, MoneyReserved("r", 9, 0.1)).fits("r", 10, 0.000000001, 1.0)
    assert not ledger.fits("r", 9, 0.100000001, 1.0)
    assert evolve(ledger, MoneyReserved("r", 9, 0.1)).fits("r", 9, 0.1, 1.0), "its own reservation is in nobody's way"


@given(st.lists(st.tuples(st.integers(1, 4), st.floats(0, 10), st.booleans()), max_size=30))
def test_what_was_admitted_never_comes_to_more_than_the_cap(course: list[tuple[int, float, bool]]) -> None:
    ledger, cap = Ledger(), 10.0
    for attempt, usd, settle in course:
        if settle:
            held = ledger.open.get(("r", attempt), 0) / 1e9
            ledger = evolve(ledger, MoneySettled("r", attempt, min(usd, held)))
        elif ledger.fits("r", attempt, usd, cap):
            ledger = evolve(ledger, MoneyReserved("r", attempt, usd))
        assert ledger.counted_nano <= cap * 1e9 + len(course)
