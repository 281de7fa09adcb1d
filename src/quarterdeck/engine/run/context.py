"""What a run is given besides its own events."""

from __future__ import annotations

from dataclasses import dataclass

from quarterdeck.kernel.parts import Message, ToolSpec


@dataclass(frozen=True, slots=True)
class Context:
    """The conversation so far, the tools on offer, and whether the model is too slight to plan with them."""

    history: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    slight: bool = False
