"""What is still to be asked about a run that has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from quarterdeck.engine.after.prompts import messages_for
from quarterdeck.engine.after.state import AfterState
from quarterdeck.events.after import AfterRole
from quarterdeck.kernel.parts import Message

MAX_CRASHES = 3


@dataclass(frozen=True, slots=True)
class AskRole:
    role: AfterRole
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Skip:
    """Do without a role: the server went down each time while it was asked."""

    role: AfterRole
    detail: str


@dataclass(frozen=True, slots=True)
class Close:
    """Nothing more is to be asked."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do: it is over, or has not begun."""


Intent: TypeAlias = AskRole | Skip | Close | Wait


def decide(state: AfterState) -> Intent:
    asked = state.requested
    if asked is None or state.finished:
        return Wait()
    wanted: dict[AfterRole, bool] = {"memory_policy": asked.memory, "critic": asked.reflection}
    role = next((role for role, wants in wanted.items() if wants and role not in state.done), None)
    if role is None:
        return Close()
    if state.crashes >= MAX_CRASHES:
        return Skip(role, f"The server stopped {state.crashes} times in a row while {role} was asked.")
    return AskRole(role, messages_for(role, asked))
