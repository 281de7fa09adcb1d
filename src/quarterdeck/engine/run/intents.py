"""What the engine can ask the runtime to do. Imperative mood; closed set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from quarterdeck.events.run import Outcome, Role, Stage
from quarterdeck.kernel.parts import Message, Reasoning, ToolCall, ToolSpec


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask a model in a role. The thinker's reply is streamed; any other role's is read whole."""

    attempt: int
    role: Role
    stage: Stage
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    reasoning: Reasoning | None = None


@dataclass(frozen=True, slots=True)
class RunTools:
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Retry:
    """Give up on an attempt, take back its text from place `since` on, and try again after a while."""

    attempt: int
    since: int
    reason: str
    delay_s: float


@dataclass(frozen=True, slots=True)
class Finish:
    outcome: Outcome
    answer: str = ""
    code: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing to do: the run is over, or has not begun."""


Intent: TypeAlias = CallModel | RunTools | Retry | Finish | Rest
