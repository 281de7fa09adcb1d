"""The tools of all configured servers, as tools of ours. Each call asks, unless the operator's file says otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import orjson

from quarterdeck.adapters.mcp import results
from quarterdeck.adapters.mcp.config import ServerConfig
from quarterdeck.adapters.mcp.definitions import Definition
from quarterdeck.adapters.mcp.link import Link
from quarterdeck.adapters.mcp.troubles import Trouble
from quarterdeck.adapters.mcp.wire import MODERN
from quarterdeck.adapters.mcp.words import line, visible
from quarterdeck.adapters.models.http import Http
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.parts import ToolCall, ToolSpec
from quarterdeck.ports import Deed, Done, Site, Weighed

FRESH_S = 60.0
LONGEST_ARGUMENTS = 256 << 10
LONGEST_RULE = 4096


@dataclass(frozen=True, slots=True)
class ServerReport:
    """How it stands with one server, for people. `left_out` says why a tool of it cannot be used."""

    name: str
    where: str
    era: str | None
    version: str | None
    tools: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    trouble: str | None


class McpTools:
    """It may be used from any event loop; each has connections of its own, and ends them when it shuts down.

    `environment` is what every server that we start may know of ours; `mcp.json` tells it the rest.
    """

    def __init__(
        self,
        servers: Sequence[ServerConfig],
        *,
        environment: Mapping[str, str],
        http: Http | None = None,
        fresh_s: float = FRESH_S,
    ) -> None:
        self._servers = tuple(servers)
        self._http = http or Http()
        self._own_http = self._http if http is None else None
        self._environment, self._fresh_s = environment, fresh_s
        self._leases: WeakKeyDictionary[asyncio.AbstractEventLoop, _Lease] = WeakKeyDictionary()
        self._lock = Lock()

    async def tools(self) -> tuple[McpTool, ...]:
        """What can be used now. A server in trouble is left out, and `describe` says why."""
        links = [await self.link(server) for server in self._servers]
        found = await asyncio.gather(*(link.offered() for link in links))
        pairs = zip(self._servers, found, strict=True)
        return tuple(McpTool(self, server, one) for server, offered in pairs for one in offered.tools)

    async def describe(self) -> tuple[ServerReport, ...]:
        links = [await self.link(server) for server in self._servers]
        return tuple(await asyncio.gather(*(_report(link) for link in links)))

    async def link(self, server: ServerConfig) -> Link:
        loop = asyncio.get_running_loop()
        with self._lock:
            gone = [lease for other, lease in list(self._leases.items()) if other.is_closed()]
            for lease in gone:
                del self._leases[lease.loop]
            lease = self._leases.setdefault(loop, _Lease(loop))
        for other in gone:
            other.drop()
        if lease.keeper is None:
            lease.keeper = self._keep(lease)
            await anext(lease.keeper)
        if server.name not in lease.links:
            lease.links[server.name] = Link(server, self._environment, self._http, self._fresh_s)
        return lease.links[server.name]

    async def aclose(self) -> None:
        """End every connection, on whatever loop it is, and every server that was started."""
        with self._lock:
            leases = list(self._leases.values())
            self._leases.clear()
        for lease in leases:
            if lease.loop is asyncio.get_running_loop():
                await lease.aclose()
            elif lease.loop.is_running():
                lease.loop.call_soon_threadsafe(lease.drop)
            else:
                lease.drop()
        if self._own_http is not None:
            await self._own_http.aclose()

    async def _keep(self, lease: _Lease) -> AsyncGenerator[None, None]:
        """An event loop that shuts down closes this generator, and with it what belongs to the loop."""
        try:
            yield
        finally:
            with self._lock:
                self._leases.pop(lease.loop, None)
            await lease.aclose()


@dataclass(eq=False)
class _Lease:
    loop: asyncio.AbstractEventLoop
    links: dict[str, Link] = field(default_factory=dict)
    keeper: AsyncGenerator[None, None] | None = None

    async def aclose(self) -> None:
        """Once, whether it is the loop that shuts down or somebody who asks, or both at the same time."""
        links, self.links = self.links, {}
        await asyncio.gather(*(link.aclose() for link in links.values()))

    def drop(self) -> None:
        for link in self.links.values():
            link.drop()


@dataclass(frozen=True)
class McpTool:
    """One tool as it was when it was listed. A call is bound to that, and fails where it has changed since."""

    box: McpTools = field(repr=False)
    server: ServerConfig
    definition: Definition

    @property
    def spec(self) -> ToolSpec:
        effect = "pure" if self.definition.tool in self.server.pure else "irreversible"
        found = self.definition
        return ToolSpec(found.name, found.description, found.schema, effect)  # type: ignore[arg-type]

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:  # noqa: ARG002 - the same at every site
        """Every call asks. What the server says of its own tools (that one only reads, say) lowers nothing."""
        tool, server = self.definition.tool, self.server.name
        found = _read(call.arguments, self.definition.schema)
        arguments = orjson.dumps(found, option=orjson.OPT_SORT_KEYS).decode()
        shown = visible(orjson.dumps(found, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2).decode())
        allowed = tool in self.server.allow
        rule = f"mcp {server} {tool} {self.definition.digest} {arguments}"
        return Weighed(
            risk="low" if allowed else "medium",
            action="mcp",
            effect=self.spec.effect,
            arguments=arguments,
            shown=f"{server}: {visible(tool)} {shown}",
            why="mcp.json allows it." if allowed else f"It is carried out by another program, the MCP server {server}.",
            bound={"server": server, "config": self.server.digest, "tool": tool, "schema": self.definition.digest},
            rule=rule if len(rule) <= LONGEST_RULE else None,
        )

    async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:
        """Raises `InputNeeded`, a `ToolFailed`, where the server has a question first."""
        return await self._use(deed, say, None)

    async def resume(self, deed: Deed, resume: str, response: Mapping[str, Any], say: Callable[[str], None]) -> Done:
        """Go on with a call after `InputNeeded`. `response` is {"action": "accept", "content": {…}}, or the action
        is "decline" or "cancel"."""
        return await self._use(deed, say, results.inputs(resume, dict(response)))

    async def probe(self, deed: Deed) -> Done | None:  # noqa: ARG002 - the protocol has no way to ask
        return None

    async def _use(self, deed: Deed, say: Callable[[str], None], inputs: Mapping[str, Any] | None) -> Done:
        name, server = self.definition.tool, self.server
        bound = deed.weighed.bound
        if (bound.get("server"), bound.get("config"), bound.get("tool")) != (server.name, server.digest, name):
            raise ToolFailed(f"MCP server {server.name} is another one since the call was weighed; ask for it anew.")
        link = await self.box.link(server)
        try:
            arguments = orjson.loads(deed.weighed.arguments)
            result, denied = await link.call(name, bound.get("schema", ""), arguments, say, inputs)
            if result.get("resultType") == "input_required":
                raise results.needed(server, result)
            done = results.done(server, result)
        except TimeoutError:
            late = f"{name} took more than {server.timeout_s:g} s and was cancelled; what it did is not known"
            raise ToolFailed(f"MCP server {server.name}: {late}.") from None
        except Trouble as trouble:
            raise ToolFailed(server.hide(f"MCP server {server.name}, {line(name, 80)}: {trouble}.")) from None
        return _with_denied(done, server, denied)


def _with_denied(done: Done, server: ServerConfig, denied: list[str]) -> Done:
    if not denied:
        return done
    asked = server.hide(" / ".join(denied[:5]))
    text = f"{done.text}\n[It wanted to ask a person, which is not possible in this call: {asked}]"
    return Done(text, done.ok, done.exit_status, done.digest)


def _read(arguments: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, whole and an object. Whether they fit in detail, the server says."""
    if len(arguments) > LONGEST_ARGUMENTS:
        raise ToolFailed(f"The arguments are longer than {LONGEST_ARGUMENTS >> 10} KiB.")
    try:
        found = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError as error:
        raise ToolFailed(f"The arguments are no JSON: {error}.") from None
    if not isinstance(found, dict):
        raise ToolFailed("The arguments must be a JSON object.")
    required = schema.get("required")
    missing = [name for name in required if name not in found] if isinstance(required, list) else []
    if missing:
        raise ToolFailed(f"These arguments are missing: {', '.join(map(str, missing))}.")
    return found


async def _report(link: Link) -> ServerReport:
    server, trouble = link.config, None
    tools: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    try:
        found = await link.tools()
        tools, left_out = tuple(tool.name for tool in found.tools), found.left_out
        known = {tool.tool for tool in found.tools}
        unknown = sorted((server.allow | server.pure) - known)
        left_out += tuple((name, "mcp.json names it, but the server has no such tool") for name in unknown)
    except Trouble as error:
        trouble = server.hide(str(error))
    version = link.version if trouble is None else None
    era = None if version is None else "modern" if version == MODERN else "legacy"
    return ServerReport(server.name, server.where, era, version, tools, left_out, trouble)
