"""What can happen in a project: who is in it, its chats, what is said there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quarterdeck.events.base import Event
from quarterdeck.kernel.board import ChatKind, Voice


@dataclass(frozen=True, slots=True)
class ProjectOpened(Event):
    """Always event 1 of its stream. `chat` is the chat that everybody is in."""

    KIND: ClassVar[str] = "project.opened"
    name: str
    slug: str
    chat: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class ProjectChanged(Event):
    KIND: ClassVar[str] = "project.changed"
    name: str
    description: str
    archived: bool = False


@dataclass(frozen=True, slots=True)
class MemberJoined(Event):
    KIND: ClassVar[str] = "project.member_joined"
    member: Voice
    name: str


@dataclass(frozen=True, slots=True)
class MemberLeft(Event):
    KIND: ClassVar[str] = "project.member_left"
    member: Voice


@dataclass(frozen=True, slots=True)
class ChatOpened(Event):
    """`root` is the message a thread hangs on; `members` are those whom a direct chat is between."""

    KIND: ClassVar[str] = "project.chat_opened"
    chat: str
    kind: ChatKind
    name: str
    root: str | None = None
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MessagePosted(Event):
    """Somebody said something. `mentions` are members; `hops` counts the agents in the chain of answers that led here;
    `held` says why it wakes no agent, where it would have; `stream` is the agent stream it is the end of."""

    KIND: ClassVar[str] = "project.message_posted"
    message: str
    chat: str
    by: Voice
    content: str
    mentions: tuple[str, ...] = ()
    reply_to: str | None = None
    hops: int = 0
    held: str | None = None
    stream: str | None = None
