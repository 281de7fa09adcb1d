"""What the outside must offer: every socket in the walls of the house, in one file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from quarterdeck.kernel.parts import Message, Reasoning, ToolCall, ToolSpec, Usage

# Models


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model. An option that is None was not asked for and is not sent."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    max_output_tokens: int | None = None
    schema: Mapping[str, Any] | None = None
    reasoning: Reasoning | None = None


@dataclass(frozen=True, slots=True)
class Burst:
    """Text that arrived together: one entry for each delta the model sent, none of them empty."""

    kind: Literal["content", "reasoning"]
    texts: list[str]


@dataclass(frozen=True, slots=True)
class Ended:
    """The provider said that the reply is whole. Always last, always there."""

    finish: Literal["stop", "length", "tool_calls", "refused"]
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)


ModelEvent: TypeAlias = Burst | Ended


@dataclass(frozen=True, slots=True)
class Traits:
    """What a model can do. `slight` marks one too small to be asked for decisions about tools."""

    tools: bool = False
    schema: bool = False
    reasoning: bool = False
    slight: bool = False


class Model(Protocol):
    """A language model. It may be called from any event loop, several calls at a time."""

    @property
    def name(self) -> str:
        """`provider/model`, as shown to people and kept in events."""

    @property
    def traits(self) -> Traits: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield bursts as they come and `Ended` last, or raise `ModelFailed`; never stop silently.

        Closing the iterator stops the model at once.
        """

    async def aclose(self) -> None:
        """Let go of connections that belong to the running loop."""
