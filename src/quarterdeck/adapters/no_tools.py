"""A toolbox with nothing in it."""

from __future__ import annotations

from collections.abc import Callable

from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.parts import ToolCall, ToolSpec
from quarterdeck.ports import Deed, Done, Site, Weighed


class NoTools:
    async def specs(self, site: Site) -> tuple[ToolSpec, ...]:  # noqa: ARG002 - there is nothing to look at
        return ()

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:  # noqa: ARG002
        raise ToolFailed(f"there is no tool {call.name!r}.")

    async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:  # noqa: ARG002
        raise ToolFailed(f"there is no tool {deed.call.name!r}.")

    async def probe(self, deed: Deed) -> Done | None:  # noqa: ARG002
        return None
