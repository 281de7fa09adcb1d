"""A toolbox with nothing in it."""

from __future__ import annotations

from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.parts import ToolCall, ToolSpec


class NoTools:
    def specs(self) -> tuple[ToolSpec, ...]:
        return ()

    async def use(self, call: ToolCall) -> str:
        raise ToolFailed(f"there is no tool {call.name!r}.")
