"""One connection past its opening: which era is spoken, what tools there are, and calls.

The modern era has no handshake: each request says by itself who asks, and in which version. A server of the legacy era
wants `initialize` first. Which one it is, is found out by asking `server/discover`, which only modern servers know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any

from quarterdeck import __version__
from quarterdeck.adapters.mcp.config import ServerConfig
from quarterdeck.adapters.mcp.troubles import Broken, Refused, Status, Trouble
from quarterdeck.adapters.mcp.wire import LEGACY, MODERN, Wire
from quarterdeck.adapters.mcp.words import line

HEADER_MISMATCH, CAPABILITY_MISSING, VERSION_UNKNOWN = -32020, -32021, -32022
PROBE_S = 5.0
MOST_PAGES = 50
MOST_TOOLS = 256
MOST_ROUNDS = 10
MOST_SAID = 200
LONGEST_SAID = 500
# What changed before the server began to tell of changes was told to nobody, so its beginning counts as a change.
CHANGES = frozenset({"notifications/tools/list_changed", "notifications/subscriptions/acknowledged"})
ABOUT_US = {"name": "quarterdeck", "version": __version__}
ABILITIES: dict[str, Any] = {"elicitation": {"form": {}}}


class Session:
    """It is the ear of its wire, so it is made first and given the wire then."""

    wire: Wire

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._ids = count(1)
        self._says: dict[int, tuple[Callable[[str], None], int]] = {}
        self._listening: asyncio.Task[None] | None = None
        self._abilities: dict[str, Any] = {}
        self.stale = True
        """The tools may have changed since they were last listed."""
        self.declined: list[str] = []
        """What a legacy server wanted to know in the middle of a call, and was told that nobody answers."""

    @property
    def modern(self) -> bool:
        return self.wire.version == MODERN

    async def open(self) -> None:
        if self._config.era == "legacy" or not await self._discovered():
            if self._config.era == "modern":
                raise Trouble("it does not speak the modern era of the protocol; mcp.json asks for it")
            await self._initialize()
        tools = self._abilities.get("tools")
        if isinstance(tools, dict) and tools.get("listChanged") is True:
            self._listening = asyncio.get_running_loop().create_task(self._listen())

    async def _discovered(self) -> bool:
        """Whether it is modern. Whatever does not plainly say so, silence included, is taken for legacy."""
        self.wire.version = MODERN
        try:
            async with asyncio.timeout(min(PROBE_S, self._config.connect_s / 2)):
                found = await self._ask("server/discover", {})
        except TimeoutError:
            return False
        except Refused as refused:
            if refused.code == VERSION_UNKNOWN and isinstance(refused.data, dict):
                return _modern_among(refused.data.get("supported"))
            if refused.code in (HEADER_MISMATCH, CAPABILITY_MISSING):
                raise
            return False
        except Status as status:
            if 400 <= status.status < 500:
                return False
            raise
        self._abilities = _dict(found.get("capabilities"))
        return _modern_among(found.get("supportedVersions"))

    async def _initialize(self) -> None:
        self.wire.version = LEGACY[0]
        asked = {"protocolVersion": LEGACY[0], "capabilities": {"elicitation": {}}, "clientInfo": ABOUT_US}
        try:
            found = await self._ask("initialize", asked)
        except Refused as refused:
            # A modern server that was too slow for the first question has settled on the modern era meanwhile.
            if refused.code != VERSION_UNKNOWN or self._config.era == "legacy" or not await self._discovered():
                raise
            return
        version = found.get("protocolVersion")
        if version not in LEGACY:
            raise Trouble(f"it speaks version {line(str(version), 40)!r} of the protocol, which we do not")
        self.wire.version = str(version)
        self._abilities = _dict(found.get("capabilities"))
        await self.wire.tell("notifications/initialized", {})

    async def tools(self) -> list[Any]:
        """All pages of the list, as the server has them now."""
        if "tools" not in self._abilities:
            return []
        self.stale = False  # before asking, so that a change meanwhile is not missed
        try:
            return await self._pages()
        except BaseException:
            self.stale = True
            raise

    async def _pages(self) -> list[Any]:
        found: list[Any] = []
        cursor: object = None
        seen: set[str] = set()
        for _ in range(MOST_PAGES):
            page = await self._ask("tools/list", {} if cursor is None else {"cursor": cursor})
            tools = page.get("tools")
            if not isinstance(tools, list):
                raise Broken("its list of tools is none")
            found += tools
            cursor = page.get("nextCursor")
            if cursor is None:
                break
            if not isinstance(cursor, str) or cursor in seen or len(found) > MOST_TOOLS:
                raise Trouble(f"its list of tools does not end (after {len(found)})")
            seen.add(cursor)
        return found

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        headers: Mapping[str, str],
        say: Callable[[str], None],
        inputs: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """What it came to; possibly that it needs `inputs` first. A pause that needs none is waited through."""
        extra = dict(inputs or {})
        for attempt in range(MOST_ROUNDS):
            params = {"name": tool, "arguments": arguments, **extra}
            found = await self._ask("tools/call", params, headers, say)
            if found.get("resultType") != "input_required" or found.get("inputRequests"):
                return found
            if not isinstance(found.get("requestState"), str):
                break
            extra = {"requestState": found["requestState"]}
            await asyncio.sleep(min(0.05 * 2**attempt, 1.0))
        raise Trouble("it asks to be asked again, without end")

    async def _ask(
        self,
        method: str,
        params: dict[str, Any],
        headers: Mapping[str, str] | None = None,
        say: Callable[[str], None] | None = None,
    ) -> dict[str, Any]:
        ident = next(self._ids)
        meta: dict[str, Any] = {}
        if self.modern:
            meta = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientInfo": ABOUT_US,
                "io.modelcontextprotocol/clientCapabilities": ABILITIES,
            }
        if say is not None:
            meta["progressToken"] = ident
            self._says[ident] = (say, MOST_SAID)
        try:
            return await self.wire.ask(ident, method, {**params, "_meta": meta} if meta else params, headers or {})
        finally:
            self._says.pop(ident, None)

    async def _listen(self) -> None:
        """Hear of changes as long as the server likes to tell. After that the list is fetched again now and then."""
        with suppress(Trouble):
            if self.modern:
                await self._ask("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            else:
                await self.wire.listen()

    def note(self, method: str, params: dict[str, Any]) -> None:
        if method in CHANGES:
            self.stale = True
        elif method == "notifications/progress":
            token, message = params.get("progressToken"), params.get("message")
            if isinstance(token, int) and isinstance(message, str) and token in self._says:
                say, left = self._says[token]
                if left:
                    self._says[token] = (say, left - 1)
                    say(self._config.hide(line(message, LONGEST_SAID)) + "\n")

    def asked(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        if method == "ping":
            return {}
        if method != "elicitation/create":
            return None
        if len(self.declined) < MOST_SAID:
            self.declined.append(line(str(params.get("message") or "something"), LONGEST_SAID))
        return {"action": "decline"}

    async def aclose(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait([self._listening])
        await self.wire.aclose()

    def drop(self) -> None:
        """End it at once; its event loop may be closed already."""
        if self._listening is not None and not self._listening.get_loop().is_closed():
            self._listening.cancel()
        self.wire.drop()


def _modern_among(versions: object) -> bool:
    if not isinstance(versions, list) or MODERN in versions or any(version in LEGACY for version in versions):
        return isinstance(versions, list) and MODERN in versions
    spoken = line(", ".join(str(version) for version in versions), 100)
    raise Trouble(f"it speaks only versions of the protocol that we do not: {spoken}")


def _dict(found: object) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}
