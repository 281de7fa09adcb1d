"""The toolbox: finds the tool a call names. Other rooms add tools by handing in more of them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from quarterdeck.adapters.tools.tool import Say, Tool
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.parts import ToolCall, ToolSpec
from quarterdeck.ports import Deed, Done, Site, Weighed


class LocalToolbox:
    """Keeps the `Toolbox` port. It holds nothing that belongs to an event loop."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        if len(self._tools) != len(tools):
            names = sorted(tool.spec.name for tool in tools)
            raise ValueError(f"two tools have one name: {', '.join(names)}")

    async def specs(self, site: Site) -> tuple[ToolSpec, ...]:  # noqa: ARG002 - the same tools everywhere
        return tuple(tool.spec for tool in self._tools.values())

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:
        return await self._named(call.name).weigh(call, site)

    async def use(self, deed: Deed, say: Say) -> Done:
        if deed.weighed.risk == "forbidden":
            raise ToolFailed(f"{deed.call.name} may not do this, whoever asks: {deed.weighed.why}")
        return await self._named(deed.call.name).use(deed, say)

    async def probe(self, deed: Deed) -> Done | None:
        return await self._named(deed.call.name).probe(deed)

    def _named(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            # The words of a name in another order are the same name to a model: read_file for file_read.
            known = {_sorted(each): each for each in self._tools}
            near = get_close_matches(_sorted(name[:100]), known, 1)
            rest = f"did you mean {known[near[0]]!r}?" if near else f"there are {', '.join(self._tools) or 'none'}."
            raise ToolFailed(f"There is no tool {name[:100]!r}; {rest}")
        return tool


def _sorted(name: str) -> str:
    return "_".join(sorted(name.split("_")))
