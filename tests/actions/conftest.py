"""A board in memory, for those who act at it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from boardroom import Boardroom, HandClock
from quarterdeck.log.log import Log
from quarterdeck.log.memory import MemoryStore
from quarterdeck.views.tables import TABLES, VIEWS


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def board(clock: HandClock) -> AsyncIterator[Boardroom]:
    room = Boardroom.on(Log(MemoryStore(), clock, TABLES, VIEWS), clock)
    yield room
    await room.log.close()
