"""What can happen in a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from quarterdeck.events.base import Event

MessageStatus = Literal["completed", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class ConversationOpened(Event):
    KIND: ClassVar[str] = "conversation.opened"
    title: str
    workspace: str | None = None


@dataclass(frozen=True, slots=True)
class MessageAdded(Event):
    """Somebody spoke. `run` is the run the message started or came out of."""

    KIND: ClassVar[str] = "conversation.message_added"
    role: Literal["user", "assistant"]
    content: str
    run: str | None = None
    status: MessageStatus = "completed"
