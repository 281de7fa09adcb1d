"""The pulse of a worker: it says that it lives; and where another one has ended, what that left behind is taken up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from quarterdeck.kernel.errors import Problem
from quarterdeck.log.log import Log


class Pulse:
    """Belongs to the loop it is started on. Where that loop ends without a word, so does the worker, at once."""

    def __init__(self, log: Log, worker: str, take_up: Callable[[], Awaitable[None]], beat_s: float) -> None:
        self._log, self._worker, self._take_up, self._beat_s = log, worker, take_up, beat_s
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._beat())

    def stop(self) -> None:
        """In good order: whoever has the pulse retires the worker, when all of its work has been let go of."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()

    async def _beat(self) -> None:
        known, ended = self._log.workers(), asyncio.Event()
        leave = self._log.inherit(ended.set)
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._beat_s):
                        await ended.wait()
                told = ended.is_set()
                ended.clear()
                if not told:
                    self._log.beat(self._worker)
                living = self._log.workers()
                if told or known - living:
                    with contextlib.suppress(Problem):
                        await self._take_up()
                known = living
        finally:
            leave()
            if self._task is not None:
                self._log.retire(self._worker)
