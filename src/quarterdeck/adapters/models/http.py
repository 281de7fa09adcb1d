"""The client for every outgoing call: an aiohttp session for each event loop, nothing shared between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp.abc import AbstractResolver

# Bounds what one slow reader holds, and how far a compressed answer is unpacked ahead of it.
READ_AHEAD = 1 << 16

Lease = AsyncGenerator[aiohttp.ClientSession, None]


class Http:
    """Sessions by event loop. `resolver` makes a judge of addresses for each session, where one is needed."""

    def __init__(self, *, resolver: Callable[[], AbstractResolver] | None = None) -> None:
        self._resolver = resolver
        self._leases: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[aiohttp.ClientSession, Lease]]
        self._leases = WeakKeyDictionary()

    async def session(self) -> aiohttp.ClientSession:
        """The session of the running loop. The loop closes it when it shuts down, if `aclose` did not before."""
        loop = asyncio.get_running_loop()
        kept = self._leases.get(loop)
        if kept is not None and not kept[0].closed:
            return kept[0]
        await self._forget_loops_that_are_gone()
        # An async generator is what an event loop finishes by itself before it closes (`shutdown_asyncgens`).
        # So whoever runs us in a loop of their own, and never heard of `aclose`, leaves no socket behind.
        lease = self._lease(loop)
        session = await anext(lease)
        self._leases[loop] = (session, lease)
        return session

    async def aclose(self) -> None:
        """Close the running loop's connections; the next call opens new ones."""
        kept = self._leases.pop(asyncio.get_running_loop(), None)
        if kept is not None:
            await kept[1].aclose()

    async def _lease(self, loop: asyncio.AbstractEventLoop) -> Lease:
        connector = aiohttp.TCPConnector(limit=0, resolver=self._resolver() if self._resolver else None)
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            trust_env=False,
            auto_decompress=True,
            read_bufsize=READ_AHEAD,
        )
        try:
            yield session
        finally:
            self._leases.pop(loop, None)
            await session.close()

    async def _forget_loops_that_are_gone(self) -> None:
        for loop in [loop for loop in self._leases if loop.is_closed()]:
            session, _ = self._leases.pop(loop)
            with suppress(RuntimeError):  # its connections died with their loop
                await session.close()
