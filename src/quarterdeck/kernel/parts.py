"""What models, tools and people exchange: messages, tool calls, usage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Speaker = Literal["system", "user", "assistant", "tool"]
Reasoning = Literal["on", "off", "auto"]
# What a tool leaves behind, and so what may be done after a crash in the middle: do it again; do it again under the
# same key; look whether it was done; or ask a person.
Effect = Literal["pure", "keyed", "probeable", "irreversible"]
Risk = Literal["none", "low", "medium", "high", "forbidden"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model asks for a tool. `arguments` is the JSON text exactly as the model wrote it; `reason` and `risk` are what
    it says of it."""

    id: str
    name: str
    arguments: str
    reason: str = ""
    risk: Risk = "none"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any] = field(default_factory=dict)
    effect: Effect = "irreversible"


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation. `call_id` names the call a tool message answers."""

    role: Speaker
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """One thing of memory, as a model is told it."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; None where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Persona:
    """Who answers, where it is somebody in particular: an employee, a member of a board, an expert of a team.

    `model` is `provider/model` where it is not its tenant's own; of `tools` and `skills`, None means all there are.
    """

    id: str
    name: str
    prompt: str = ""
    model: str | None = None
    temperature: float | None = None
    tools: tuple[str, ...] | None = None
    skills: tuple[str, ...] | None = None
    memory: bool = True


def within(names: tuple[str, ...] | None, name: str) -> bool:
    """Whether a persona has this tool or skill."""
    return names is None or name in names
