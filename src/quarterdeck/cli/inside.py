"""A server within this process, for a command that finds none: on a free port, gone with the command."""

from __future__ import annotations

import asyncio
import logging

from quarterdeck.server.serve import listen, server
from quarterdeck.settings import Settings
from quarterdeck.wiring import LocalHouse, app_of


class Inside:
    """Built by the command's thread, so that whatever is in the way is told there; opened and closed on its loop."""

    def __init__(self, settings: Settings) -> None:
        logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(name)s %(message)s")
        self._house = LocalHouse(lambda: settings)
        self._house.ground()
        self._listener = listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._server = server(app_of(self._house), self._house.drain, self._house.hurry)

    async def open(self) -> None:
        self._serving = asyncio.ensure_future(self._server.serve([self._listener]))

    async def close(self) -> None:
        """Drain; a run that is still going is given a little time, and goes on with the next start."""
        self._server.should_exit = True
        await self._serving

    def hurry(self) -> None:
        self._house.hurry()
