"""What was used: calls, tokens and money, day by day."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

from fastapi import APIRouter, Query

from quarterdeck.engine.money import day_of
from quarterdeck.ports import Query as Find
from quarterdeck.server.station import Here, Station
from quarterdeck.server.wire import UsedDay, UsedModel
from quarterdeck.views.usage import USAGE, summed

router = APIRouter(prefix="/v1/usage", tags=["usage"])

MOST_DAYS = 366
DAY_S = 86_400.0
PAGE = 2000

Days = Annotated[int, Query(ge=1, le=MOST_DAYS, description="How many days back, today among them.")]


@router.get("")
async def list_usage(here: Here, days: Days = 30) -> list[UsedDay]:
    """The latest first, days of UTC; those without a call are left out. `usd` is null where no price is known."""
    now, found = here.desk.clock.now(), []
    prices = await here.tenancy.prices(here.scope.tenant)
    for back in range(days):
        day = day_of(now - back * DAY_S)
        if lines := await _lines(here, day):
            total = dataclasses.asdict(summed(lines, prices))
            models = [UsedModel(model=name, **each) for name, each in sorted(total.pop("models").items())]
            found.append(UsedDay(day=day, models=models, **total))
    return found


async def _lines(here: Station, day: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after: str | None = None
    while True:
        where = {"tenant": here.scope.tenant, "day": day}
        page = await here.desk.log.find(Find(USAGE, where, "id", after=after, limit=PAGE))
        found += page
        if len(page) < PAGE:
            return found
        after = page[-1]["id"]
