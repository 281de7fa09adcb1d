"""What the engine can ask the runtime to do. Imperative mood; closed set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from quarterdeck.engine.run.open_call import OpenCall
from quarterdeck.events.base import Event
from quarterdeck.events.run import Outcome, Role, Stage, WaitStatus
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
    temperature: float | None = None
    before: tuple[Event, ...] = ()  # what is recorded together with its start
    form: Mapping[str, Any] | None = None  # a JSON schema that the reply is held to where the model takes one


@dataclass(frozen=True, slots=True)
class Weigh:
    """Look at calls without doing anything."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a person whether these may be done; of one that a crash cut off, what became of it."""

    calls: tuple[OpenCall, ...]


@dataclass(frozen=True, slots=True)
class AskPassword:
    calls: tuple[OpenCall, ...]


@dataclass(frozen=True, slots=True)
class RunTools:
    """Carry these out, side by side where there are several."""

    calls: tuple[OpenCall, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """Nothing to do but to say so."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Rest until a person has done something."""

    status: WaitStatus


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


Intent: TypeAlias = CallModel | Weigh | Ask | AskPassword | RunTools | Record | Wait | Retry | Finish | Rest
