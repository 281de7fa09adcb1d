"""The client for every outgoing call: an aiohttp session for each event loop, nothing shared between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler

# Bounds what one slow reader holds, and how far a compressed answer is unpacked ahead of it.
READ_AHEAD = 1 << 16
LINGER_S = 1.0


class Http:
    """Sessions by event loop. `resolver` makes a judge of addresses for each session, where one is needed."""

    def __init__(self, *, resolver: Callable[[], AbstractResolver] | None = None) -> None:
        self._resolver = resolver
        self._leases: WeakKeyDictionary[asyncio.AbstractEventLoop, _Lease] = WeakKeyDictionary()

    async def session(self) -> aiohttp.ClientSession:
        """The session of the running loop. The loop closes it when it shuts down, if `aclose` did not before."""
        loop = asyncio.get_running_loop()
        lease = self._leases.get(loop)
        if lease is None or lease.session.closed:
            await self._forget_loops_that_are_gone()
            lease = _Lease(_session(_Connector(self._resolver() if self._resolver else None)))
            self._leases[loop] = lease
            lease.keeper = self._keep(loop, lease)
            await anext(lease.keeper)
        return lease.session

    def part(self, response: aiohttp.ClientResponse, *, whole: bool) -> None:
        """Give the connection back after a whole reply, else close it, which is how the provider learns of it."""
        loop = asyncio.get_running_loop()
        lease = self._leases.get(loop)
        if response.content.is_eof():
            response.release()
        elif not whole or lease is None:
            response.close()
        else:
            # What matters was read, but not yet the end of the body behind it. aiohttp gives the connection back
            # when that comes; we see to it that it does not wait for ever.
            lease.lingering[response] = loop.call_later(LINGER_S, lease.forget, response)
            response.content.on_eof(lambda: lease.forget(response))

    async def aclose(self) -> None:
        """Close the running loop's connections; the next call opens new ones."""
        lease = self._leases.get(asyncio.get_running_loop())
        if lease is not None and lease.keeper is not None:
            await lease.keeper.aclose()

    async def _keep(self, loop: asyncio.AbstractEventLoop, lease: _Lease) -> AsyncGenerator[None, None]:
        """Close the session when this is closed.

        An async generator is what an event loop finishes by itself before it closes (`shutdown_asyncgens`). So
        whoever runs us in a loop of their own, and never heard of `aclose`, leaves no socket behind.
        """
        try:
            yield
        finally:
            self._leases.pop(loop, None)
            for response in list(lease.lingering):
                lease.forget(response)
            await lease.session.close()

    async def _forget_loops_that_are_gone(self) -> None:
        for loop in [loop for loop in self._leases if loop.is_closed()]:
            lease = self._leases.pop(loop)
            with suppress(RuntimeError):  # its connections died with their loop
                await lease.session.close()


@dataclass(slots=True)
class _Lease:
    """What we hold in one loop. A lingering response is whole, but its connection cannot be used again yet."""

    session: aiohttp.ClientSession
    keeper: AsyncGenerator[None, None] | None = None
    lingering: dict[aiohttp.ClientResponse, asyncio.TimerHandle] = field(default_factory=dict)

    def forget(self, response: aiohttp.ClientResponse) -> None:
        timer = self.lingering.pop(response, None)
        if timer is not None:
            timer.cancel()
        if not response.content.is_eof():
            response.close()


class _Connection(ResponseHandler):
    """One that is woken only where it rests. aiohttp wakes it with each piece that is read, which sends nothing through
    the parser and costs a third of what a token costs to read."""

    def resume_reading(self, resume_parser: bool = True) -> None:  # noqa: FBT001, FBT002 - as aiohttp calls it
        if self._reading_paused or self._buffer_paused:
            super().resume_reading(resume_parser)


class _Connector(aiohttp.TCPConnector):
    def __init__(self, resolver: AbstractResolver | None) -> None:
        super().__init__(limit=0, resolver=resolver)
        self._factory = partial(_Connection, loop=self._loop)  # type: ignore[assignment]


def _session(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        trust_env=False,
        auto_decompress=True,
        read_bufsize=READ_AHEAD,
    )
