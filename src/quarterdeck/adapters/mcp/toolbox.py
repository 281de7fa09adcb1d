"""A toolbox with the tools of MCP servers beside those it already had."""

from __future__ import annotations

from collections.abc import Callable

from quarterdeck.adapters.mcp.tools import McpTool, McpTools
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.parts import ToolCall, ToolSpec
from quarterdeck.ports import Deed, Done, Site, Toolbox, Weighed

PREFIX = "mcp__"


class WithMcp:
    """Keeps the `Toolbox` port. Names that begin with `mcp__` are the servers'; all others are the first one's."""

    def __init__(self, rest: Toolbox, mcp: McpTools) -> None:
        self._rest, self._mcp = rest, mcp

    async def specs(self, site: Site) -> tuple[ToolSpec, ...]:
        own = await self._rest.specs(site)
        return (*own, *(tool.spec for tool in await self._mcp.tools()))

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:
        if not call.name.startswith(PREFIX):
            return await self._rest.weigh(call, site)
        return await (await self._named(call.name)).weigh(call, site)

    async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:
        if not deed.call.name.startswith(PREFIX):
            return await self._rest.use(deed, say)
        return await (await self._named(deed.call.name)).use(deed, say)

    async def probe(self, deed: Deed) -> Done | None:
        if not deed.call.name.startswith(PREFIX):
            return await self._rest.probe(deed)
        return await (await self._named(deed.call.name)).probe(deed)

    async def _named(self, name: str) -> McpTool:
        for tool in await self._mcp.tools():
            if tool.definition.name == name:
                return tool
        raise ToolFailed(f"There is no tool {name[:100]!r} now: no MCP server that can be reached offers it.")
