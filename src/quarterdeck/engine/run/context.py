"""What a run is given besides its own events."""

from __future__ import annotations

from dataclasses import dataclass

from quarterdeck.events.run import SkillActivated
from quarterdeck.kernel.parts import Message, Remembered, ToolSpec


@dataclass(frozen=True, slots=True)
class Context:
    """The conversation so far, the tools on offer, what memory offers, the skill and the lessons that fit, and whether
    the model is too slight to plan with them.

    Of the conversation: what a summary tells of it, about how many messages between that and the history are not in
    hand, the history with the places it has there, and the bytes of it that the model takes in.
    """

    history: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    slight: bool = False
    memories: tuple[Remembered, ...] = ()
    lessons: tuple[str, ...] = ()
    skill: SkillActivated | None = None
    summary: str = ""
    left_out: int = 0
    places: tuple[int, ...] = ()
    window: int = 200_000
