"""Where runs wait that may be what takes the server down: they work one at a time, so that a next crash tells which."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Ward:
    """Belongs to one supervisor. Without it, whatever runs beside a run that kills its process is blamed as well."""

    def __init__(self) -> None:
        self._bed = asyncio.Lock()

    @asynccontextmanager
    async def turn(self, unless: asyncio.Future[None]) -> AsyncIterator[None]:
        """Wait for a turn of one's own, unless there is something to look at first, such as a stop."""
        mine = asyncio.ensure_future(self._bed.acquire())
        try:
            await asyncio.wait((mine, unless), return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            if mine.done() and not mine.cancelled():
                self._bed.release()
            mine.cancel()
