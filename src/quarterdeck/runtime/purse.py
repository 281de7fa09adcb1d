"""The purse: money is held back before a model is called and settled after, so that a cap holds whatever happens."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from quarterdeck.engine.money import NANO, Ledger, Price, Prices, cost, day_of, estimate, evolve, price_of
from quarterdeck.events.money import MoneyReserved, MoneySettled
from quarterdeck.kernel.errors import LimitReached, Moved, Unavailable
from quarterdeck.kernel.ids import RunId, StreamName, TenantId, ledger_stream
from quarterdeck.kernel.parts import Message, ToolSpec, Usage
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Clock

TRIES = 200  # how often others may come first; each time one of them has got on
LEDGERS = 256  # kept level in memory
ACTOR = "system:purse"


@dataclass(frozen=True, slots=True)
class Caps:
    """USD that a run may cost with all its children, and all of a tenant on one day. None: as much as they like."""

    run: float | None = None
    day: float | None = None
    run_setting: str = "QUARTERDECK_RUN_BUDGET_USD"
    day_setting: str = "QUARTERDECK_DAY_BUDGET_USD"

    @property
    def any(self) -> bool:
        return self.run is not None or self.day is not None


@dataclass(frozen=True, slots=True)
class Terms:
    """For how much the runs of a tenant may be carried out, and what models cost it."""

    prices: Prices
    caps: Caps


TermsOf: TypeAlias = Callable[[TenantId], Awaitable[Terms]]


@dataclass(frozen=True, slots=True)
class Held:
    """Money that is held back for one attempt, and the ledgers it is written in."""

    run: RunId
    attempt: int
    usd: float
    model: str
    ledgers: tuple[StreamName, ...]
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class _Cap:
    ledger: StreamName
    usd: float
    whose: str
    setting: str


class Purse:
    """Belongs to one event loop; purses of other loops and processes may spend from the same ledgers.

    Without a cap it does nothing at all, and nothing is written. `terms_of` says which hold for a tenant.
    """

    def __init__(self, log: Log, clock: Clock, prices: Prices, caps: Caps, terms_of: TermsOf | None = None) -> None:
        self._log, self._clock, self._terms, self._terms_of = log, clock, Terms(prices, caps), terms_of
        self._levels: OrderedDict[StreamName, tuple[int, Ledger]] = OrderedDict()
        self._turn = asyncio.Lock()

    @property
    def capped(self) -> bool:
        return self._terms.caps.any

    async def hold(  # noqa: PLR0913 - what makes a call, and who makes it
        self,
        tenant: TenantId,
        run: RunId,
        attempt: int,
        model: str,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSpec] = (),
        max_output: int | None = None,
        root: RunId | None = None,
        cap: float | None = None,
    ) -> Held | None:
        """Hold back what the call may cost; None where there is no cap. `cap` is one of this very run, or of its root.

        Raises `LimitReached` with the code `budget_exceeded`, or `no_price` where nobody said what the model costs."""
        terms = await self._of(tenant)
        if not (terms.caps.any or cap is not None):
            return None
        price = price_of(terms.prices, model)
        if price is None:
            raise LimitReached(
                f"There is a budget, but nobody said what {model} costs. Set QUARTERDECK_PRICES, or the tenant's "
                f'`prices`, to {{"{model}": {{"input": 1.0, "output": 4.0}}}} with its prices in USD per million.',
                code="no_price",
            )
        usd = estimate(price, messages, max_output, tools)
        return await self.reserve(tenant, run, attempt, usd, model=model, root=root, cap=cap)

    async def _of(self, tenant: TenantId) -> Terms:
        return self._terms if self._terms_of is None else await self._terms_of(tenant)

    async def reserve(
        self,
        tenant: TenantId,
        run: RunId,
        attempt: int,
        usd: float,
        *,
        model: str = "",
        root: RunId | None = None,
        cap: float | None = None,
    ) -> Held | None:
        """Hold back an amount. `root` is the run that a child spends for, whose cap it shares.

        Earlier attempts of the run that were never settled are counted at what they had reserved: their calls are lost,
        and may have been answered for money all the same.
        """
        terms = await self._of(tenant)
        caps = self._capped(terms.caps, tenant, root or run, cap)
        if not caps:
            return None
        held = Held(run, attempt, usd, model, tuple(cap.ledger for cap in caps), price_of(terms.prices, model))
        async with self._turn:
            for _ in range(TRIES):
                entries = [await self._entry(held, cap) for cap in caps]
                try:
                    await self._log.append(*entries)
                except Moved:
                    continue
                return held
        raise Unavailable("Too many calls want money at once; try again in a moment.", code="budget_busy")

    async def settle(self, held: Held | None, usage: Usage | None = None) -> float | None:
        """Count what the attempt did cost and free the rest; what that was, in USD. A call whose price or usage nobody
        knows, such as one that broke off, is counted at its reservation."""
        if held is None:
            return None
        known = None if usage is None or held.price is None else cost(usage, held.price)
        usd = held.usd if known is None else known
        await self.settle_at(held, usd)
        return usd

    async def settle_at(self, held: Held, usd: float) -> None:
        """Settling twice counts once."""
        settled = (MoneySettled(held.run, held.attempt, usd),)
        await self._log.append(*(Entry(ledger, settled, actor=ACTOR, cause=held.run) for ledger in held.ledgers))

    async def ledger(self, name: StreamName) -> Ledger:
        return (await self._level(name))[1]

    def _capped(self, caps: Caps, tenant: TenantId, root: RunId, own: float | None) -> tuple[_Cap, ...]:
        """The ledgers that have a cap. A run has one of its own, because it may go on over midnight."""
        day, found = day_of(self._clock.now()), []
        if caps.run is not None and (own is None or caps.run <= own):
            found.append(_Cap(ledger_stream(tenant, root), caps.run, "this run", caps.run_setting))
        elif own is not None:
            found.append(_Cap(ledger_stream(tenant, root), own, "this run", "its budget"))
        if caps.day is not None:
            found.append(_Cap(ledger_stream(tenant, day), caps.day, day, caps.day_setting))
        return tuple(found)

    async def _entry(self, held: Held, cap: _Cap) -> Entry:
        head, ledger = await self._level(cap.ledger)
        if not ledger.fits(held.run, held.attempt, held.usd, cap.usd):
            raise _exceeded(cap, ledger, held)
        lost = (MoneySettled(*call, ledger.open[call] / NANO) for call in ledger.lost(held.run, held.attempt))
        events = (*lost, MoneyReserved(held.run, held.attempt, held.usd))
        return Entry(cap.ledger, events, actor=ACTOR, cause=held.run, head=head)

    async def _level(self, name: StreamName) -> tuple[int, Ledger]:
        head, ledger = self._levels.get(name, (0, Ledger()))
        while rows := await self._log.read(name, head):
            for row in rows:
                head, ledger = row.last, evolve(ledger, event_of(row))
        self._levels[name] = head, ledger
        self._levels.move_to_end(name)
        while len(self._levels) > LEDGERS:
            self._levels.popitem(last=False)
        return head, ledger


def _exceeded(cap: _Cap, ledger: Ledger, held: Held) -> LimitReached:
    counted = ledger.counted_nano / NANO
    return LimitReached(
        f"The budget of {cap.whose} is {cap.usd:.4g} USD; {counted:.4g} are spent or held back, and the next call may "
        f"cost {held.usd:.4g}. Raise {cap.setting}, or ask for less.",
        code="budget_exceeded",
        extra={"cap_usd": cap.usd, "counted_usd": counted, "asked_usd": held.usd},
    )
