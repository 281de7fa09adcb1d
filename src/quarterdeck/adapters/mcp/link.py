"""One server on one event loop: connected when it is needed, again after it broke, its tools listed and kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from quarterdeck.adapters.mcp.config import ServerConfig
from quarterdeck.adapters.mcp.definitions import Defined, Definition, defined
from quarterdeck.adapters.mcp.http import HttpWire
from quarterdeck.adapters.mcp.mirrored import encoded, headers_of
from quarterdeck.adapters.mcp.session import Session
from quarterdeck.adapters.mcp.stdio import StdioWire
from quarterdeck.adapters.mcp.troubles import Broken, Forgotten, Refused, Trouble
from quarterdeck.adapters.mcp.wire import Wire
from quarterdeck.adapters.models.http import Http

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0


class Link:
    def __init__(self, config: ServerConfig, environment: Mapping[str, str], http: Http, fresh_s: float) -> None:
        self.config = config
        self.loop = asyncio.get_running_loop()
        self.trouble: str | None = None
        """Why it cannot be used now, in words."""
        self._environment, self._http, self._fresh_s = environment, http, fresh_s
        self._session: Session | None = None
        self._opening: asyncio.Task[Session] | None = None
        self._listing = asyncio.Lock()
        self._defined = Defined()
        self._listed_at = 0.0
        self._failures = 0
        self._not_before = 0.0

    @property
    def version(self) -> str | None:
        return self._session.wire.version if self._session is not None else None

    async def offered(self) -> Defined:
        """The tools as they are, none if the server is in trouble. One that failed before is not waited for."""
        try:
            if self._failures and not self._connected():
                if time.monotonic() >= self._not_before:
                    self._begin()
                return Defined()
            return await self.tools()
        except Trouble:
            return Defined()

    async def tools(self) -> Defined:
        """The tools, listed again if that was long ago or the server said that they changed. Raises `Trouble`."""
        session = await self._opened()
        async with self._listing:
            if session.stale or time.monotonic() - self._listed_at > self._fresh_s:
                await self._list_again(session)
        return self._defined

    async def call(
        self,
        tool: str,
        digest: str,
        arguments: dict[str, Any],
        say: Callable[[str], None],
        inputs: Mapping[str, Any] | None = None,
    ) -> tuple[dict[str, Any], list[str]]:
        """What the very tool of this digest answers, and what it was denied to ask meanwhile."""
        try:
            return await self._call(tool, digest, arguments, say, inputs)
        except Forgotten:  # nothing was done yet, and the next session is a new one
            return await self._call(tool, digest, arguments, say, inputs)

    async def _call(
        self,
        tool: str,
        digest: str,
        arguments: dict[str, Any],
        say: Callable[[str], None],
        inputs: Mapping[str, Any] | None,
    ) -> tuple[dict[str, Any], list[str]]:
        definition = _same(await self.tools(), tool, digest)
        session = await self._opened()
        denied = len(session.declined)
        headers = {}
        if session.modern:
            headers = {"mcp-name": encoded(tool), **headers_of(definition.mirrored, arguments)}
        async with asyncio.timeout(self.config.timeout_s):
            result = await _answered(session.call(tool, arguments, headers, say, inputs))
        self._failures = 0
        return result, session.declined[denied:]

    def _connected(self) -> bool:
        return self._session is not None and self._session.wire.broken is None

    async def _opened(self) -> Session:
        session = self._session
        if session is not None and self._connected():
            return session
        if session is not None:
            self._lose(session, session.wire.broken or "it broke off")
        if self._opening is None and time.monotonic() < self._not_before:
            raise Trouble(f"{self.trouble} (it will be tried again in a while)")
        return await asyncio.shield(self._begin())

    def _begin(self) -> asyncio.Task[Session]:
        """Connect, once for all who wait for it."""
        if self._opening is None:
            self._opening = self.loop.create_task(self._open())
            self._opening.add_done_callback(self._begun)
        return self._opening

    def _begun(self, task: asyncio.Task[Session]) -> None:
        self._opening = None
        if not task.cancelled():
            task.exception()  # those who wait for it are told; if nobody waits, `trouble` has it

    async def _open(self) -> Session:
        session = Session(self.config)
        wire: Wire | None = None
        try:
            async with asyncio.timeout(self.config.connect_s):
                wire = session.wire = self._wired(session)
                await session.open()
                await self._list(session)
        except (Trouble, TimeoutError) as error:
            why = str(error) if isinstance(error, Trouble) else f"it does not answer within {self.config.connect_s:g} s"
            self._failures += 1
            self._rest(why, FIRST_PAUSE_S)
            raise Trouble(why) from None
        finally:
            if wire is not None and self._session is not session:
                session.drop()
        return session

    def _wired(self, session: Session) -> Wire:
        if self.config.command:
            return StdioWire(self.config, self._environment, session)
        return HttpWire(self.config, self._http, session)

    async def _list_again(self, session: Session) -> None:
        try:
            async with asyncio.timeout(self.config.connect_s):
                await self._list(session)
        except Refused:
            raise
        except (Trouble, TimeoutError) as error:
            late = f"it does not list its tools within {self.config.connect_s:g} s"
            why = late if isinstance(error, TimeoutError) else str(error)
            self._lose(session, why)
            raise Trouble(why) from None

    def _lose(self, session: Session, why: str) -> None:
        """It worked before, so the first time it is tried again at once."""
        if self._session is session:
            self._session = None
            self._failures += 1
            self._rest(why, FIRST_PAUSE_S if self._failures > 1 else 0.0)
        session.drop()

    async def _list(self, session: Session) -> None:
        self._defined = defined(self.config, await session.tools())
        self._listed_at = time.monotonic()
        self._session, self.trouble = session, None

    def _rest(self, why: str, pause_s: float) -> None:
        self.trouble = why
        doublings = min(max(self._failures - 1, 0), 10)
        self._not_before = time.monotonic() + min(pause_s * 2**doublings, LONGEST_PAUSE_S)

    async def aclose(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        session, self._session = self._session, None
        if session is not None:
            await session.aclose()

    def drop(self) -> None:
        """End it at once, from a thread where its event loop is not running, or is closed."""
        session, self._session = self._session, None
        if session is not None:
            session.drop()


async def _answered(call: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    try:
        return await call
    except Forgotten:
        raise
    except Broken as broken:
        raise Broken(f"{broken}; whether the call was carried out is not known") from None


def _same(found: Defined, tool: str, digest: str) -> Definition:
    definition = next((definition for definition in found.tools if definition.tool == tool), None)
    if definition is None:
        raise Trouble("it no longer offers this tool; nothing was done")
    if definition.digest != digest:
        raise Trouble("it has changed what this tool is since the call was weighed; nothing was done, ask for it anew")
    return definition
