"""Budgets on every store: whoever is first spends, nobody spends twice, and the cap holds whatever happens."""

from __future__ import annotations

import asyncio

import pytest

from logroom import TENANT, HandClock, Shelf, on_loops_of_their_own, soon
from quarterdeck.engine.money import DEFAULT_PRICES, FREE, Ledger, day_of, read_prices
from quarterdeck.events.money import MoneySettled
from quarterdeck.kernel.errors import LimitReached
from quarterdeck.kernel.ids import RunId, StreamName, TenantId, ledger_stream
from quarterdeck.kernel.parts import Message, Usage
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of
from quarterdeck.runtime.purse import Caps, Held, Purse

PRICES = read_prices({"m/x": {"input": 1, "output": 1}})
HELLO = (Message("user", "hello"),)


class Today(HandClock):
    """The time of a day that a test chooses."""

    def now(self) -> float:
        return self.hand


def purse(log: Log, run: float | None = None, day: float | None = None, clock: HandClock | None = None) -> Purse:
    return Purse(log, clock or HandClock(), PRICES, Caps(run, day))


def today() -> StreamName:
    return ledger_stream(TENANT, day_of(HandClock().now()))


def of(run: str) -> StreamName:
    return ledger_stream(TENANT, run)


async def took(purse: Purse, run: str, usd: float, attempt: int = 1) -> Held | None:
    """What was held back; None where the budget refused it."""
    try:
        return await purse.reserve(TENANT, RunId(run), attempt, usd)
    except LimitReached as refused:
        if refused.code != "budget_exceeded":
            raise
        return None


async def test_without_a_cap_nothing_is_held_back_and_nothing_is_written(log: Log) -> None:
    free = purse(log)
    assert not free.capped
    assert await free.hold(TENANT, RunId("r"), 1, "nobody/knows", HELLO) is None
    assert await free.reserve(TENANT, RunId("r"), 1, 5.0) is None
    assert await free.settle(None, Usage(1, 1)) is None
    assert await log.look(today()) is None
    assert await log.look(of("r")) is None


async def test_fifty_at_once_at_99_percent_of_a_cap_never_come_to_more(log: Log) -> None:
    one = purse(log, day=1.0)
    assert await took(one, "before", 0.99)
    taken = await soon(asyncio.gather(*(took(one, f"r{number}", 0.004) for number in range(50))))
    assert len([held for held in taken if held]) == 2
    assert (await one.ledger(today())).reserved == pytest.approx(0.998)


def test_fifty_purses_on_loops_of_their_own_share_one_cap(shelf: Shelf) -> None:
    log = shelf.open()
    assert asyncio.run(took(purse(log, day=1.0), "before", 0.99))

    async def spend(number: int) -> Held | None:
        return await took(purse(log, day=1.0), f"r{number}", 0.004)

    assert len([held for held in on_loops_of_their_own(50, spend) if held]) == 2


async def test_a_run_and_its_children_share_the_cap_of_the_run(log: Log) -> None:
    one = purse(log, run=1.0)
    root = RunId("root")
    children = (one.reserve(TENANT, RunId(f"c{number}"), 1, 0.3, root=root) for number in range(10))
    answers = await asyncio.gather(*children, return_exceptions=True)
    assert len([held for held in answers if isinstance(held, Held)]) == 3
    assert all(isinstance(held, Held | LimitReached) for held in answers)
    assert await took(one, "another", 0.9)


async def test_a_refusal_of_one_cap_takes_nothing_from_the_other(log: Log) -> None:
    one = purse(log, run=0.5, day=2.0)
    assert await took(one, "r", 0.6) is None
    assert await log.look(today()) is None
    assert await took(one, "r", 0.5)
    assert (await one.ledger(today())).reserved == (await one.ledger(of("r"))).reserved == 0.5


async def test_what_was_not_spent_is_free_again(log: Log) -> None:
    one = purse(log, run=1.0, day=1.0)
    held = await one.reserve(TENANT, RunId("r"), 1, 0.9, model="m/x")
    assert await took(one, "r", 0.5, 2) is None
    assert await one.settle(held, Usage(100_000, 100_000)) == 0.2
    assert await took(one, "r", 0.8, 2)
    assert (await one.ledger(today())).spent == 0.2


@pytest.mark.parametrize("usage", [None, Usage()])
async def test_a_call_that_nobody_counted_is_counted_at_its_reservation(log: Log, usage: Usage | None) -> None:
    one = purse(log, day=1.0)
    held = await one.reserve(TENANT, RunId("r"), 1, 0.9, model="m/x")
    assert await one.settle(held, usage) == 0.9
    assert await took(one, "s", 0.2) is None


async def test_a_call_that_was_lost_in_a_crash_stays_counted_and_the_next_attempt_settles_it(shelf: Shelf) -> None:
    assert await took(purse(shelf.open(), run=1.0, day=1.0), "r", 0.6)
    again = purse(log := shelf.open(), run=1.0, day=1.0)
    assert await took(again, "r", 0.6, 2) is None, "the lost call may have been answered for money"
    held = await again.reserve(TENANT, RunId("r"), 2, 0.3, model="m/x")
    await again.settle(held, Usage(100_000, 0))
    for name in (today(), of("r")):
        assert await again.ledger(name) == Ledger({}, 700_000_000)
        settled = [event for event in map(event_of, await log.read(name)) if isinstance(event, MoneySettled)]
        assert [(event.attempt, event.usd) for event in settled] == [(1, 0.6), (2, 0.1)]


async def test_an_attempt_that_was_never_begun_reserves_anew_in_its_own_place(log: Log) -> None:
    one = purse(log, day=1.0)
    assert await took(one, "r", 0.9)
    assert await took(one, "r", 0.8)
    assert (await one.ledger(today())).reserved == 0.8


async def test_settling_twice_counts_once(log: Log) -> None:
    one = purse(log, day=1.0)
    held = await one.reserve(TENANT, RunId("r"), 1, 0.5, model="m/x")
    await one.settle(held, Usage(100_000, 0))
    await one.settle(held, Usage(100_000, 0))
    assert (await one.ledger(today())).spent == 0.1


async def test_each_tenant_has_ledgers_of_its_own(log: Log) -> None:
    one = purse(log, day=1.0)
    assert await took(one, "r", 1.0)
    assert await took(one, "s", 0.1) is None
    assert await one.reserve(TenantId("other"), RunId("s"), 1, 1.0)


async def test_a_new_day_has_a_new_budget_and_a_run_over_midnight_keeps_its_own(log: Log) -> None:
    clock = Today()
    one = purse(log, run=1.5, day=1.0, clock=clock)
    held = await one.reserve(TENANT, RunId("r"), 1, 1.0, model="m/x")
    clock.hand = 86_400.0
    assert await took(one, "r", 0.6, 2) is None, "the run's budget goes on"
    assert await took(one, "s", 1.0)
    await one.settle(held, Usage(0, 0))
    assert (await one.ledger(ledger_stream(TENANT, "1970-01-01"))).counted_nano == 0
    assert (await one.ledger(ledger_stream(TENANT, "1970-01-02"))).reserved == 1.0


async def test_a_model_without_a_price_is_refused_where_there_is_a_cap_and_the_way_to_set_one_is_told(log: Log) -> None:
    one = purse(log, day=1.0)
    with pytest.raises(LimitReached, match="QUARTERDECK_PRICES") as refused:
        await one.hold(TENANT, RunId("r"), 1, "nobody/knows", HELLO)
    assert refused.value.code == "no_price"
    assert await log.look(today()) is None
    held = await one.hold(TENANT, RunId("r"), 1, "m/x", HELLO, max_output=100)
    assert held is not None
    assert 0.0001 < held.usd < 0.0002


async def test_a_model_that_is_free_is_held_at_nothing_even_where_all_is_spent(log: Log) -> None:
    assert DEFAULT_PRICES["local/*"] == FREE
    one = purse(log, day=0.0)
    held = await one.hold(TENANT, RunId("r"), 1, "local/smollm2", HELLO)
    assert held is not None
    assert await one.settle(held, Usage()) == 0.0
    assert await took(one, "r", 0.001, 2) is None


async def test_a_refusal_says_what_is_left_and_which_setting_to_raise(log: Log) -> None:
    one = purse(log, run=0.5, day=1.0)
    with pytest.raises(LimitReached, match=r"budget of this run is 0\.5 USD.*QUARTERDECK_RUN_BUDGET_USD"):
        await one.reserve(TENANT, RunId("r"), 1, 0.6)
    await one.reserve(TENANT, RunId("a"), 1, 0.5)
    await one.reserve(TENANT, RunId("b"), 1, 0.4)
    with pytest.raises(LimitReached, match=rf"{today().key} is 1 USD; 0\.9 .*QUARTERDECK_DAY_BUDGET_USD") as refused:
        await one.reserve(TENANT, RunId("c"), 1, 0.5)
    assert refused.value.extra == {"cap_usd": 1.0, "counted_usd": 0.9, "asked_usd": 0.5}
