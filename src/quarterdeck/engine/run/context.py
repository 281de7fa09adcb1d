"""What a run is given besides its own events."""

from __future__ import annotations

from dataclasses import dataclass

from quarterdeck.events.run import SkillActivated
from quarterdeck.kernel.parts import Message, Remembered, ToolSpec


@dataclass(frozen=True, slots=True)
class Context:
    """The conversation so far, the tools on offer, what memory offers, the skill and the lessons that fit, and whether
    the model is too slight to plan with them."""

    history: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    slight: bool = False
    memories: tuple[Remembered, ...] = ()
    lessons: tuple[str, ...] = ()
    skill: SkillActivated | None = None
