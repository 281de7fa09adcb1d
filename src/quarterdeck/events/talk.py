"""What can happen in a conversation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from quarterdeck.events.base import Event
from quarterdeck.kernel.parts import Usage

MessageStatus = Literal["completed", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class ConversationOpened(Event):
    """`employee` is who answers, `user` whose conversation it is, where that is known."""

    KIND: ClassVar[str] = "conversation.opened"
    VERSION: ClassVar[int] = 2
    title: str
    workspace: str | None = None
    employee: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class ConversationRenamed(Event):
    KIND: ClassVar[str] = "conversation.renamed"
    title: str


@dataclass(frozen=True, slots=True)
class MessageAdded(Event):
    """Somebody spoke. `run` is the run the message started or came out of."""

    KIND: ClassVar[str] = "conversation.message_added"
    VERSION: ClassVar[int] = 2
    role: Literal["user", "assistant"]
    content: str
    run: str | None = None
    status: MessageStatus = "completed"
    id: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerAskedAgain(Event):
    """The message at place `question` is answered by another run; the answer at place `answer` counts no longer."""

    KIND: ClassVar[str] = "conversation.answer_asked_again"
    question: int
    run: str
    answer: int | None = None


@dataclass(frozen=True, slots=True)
class ConversationSummarised(Event):
    """What was said up to place `through`, in short, for models whose window it does not fit into any more."""

    KIND: ClassVar[str] = "conversation.summarised"
    through: int
    text: str


@dataclass(frozen=True, slots=True)
class Counted:
    """What an attempt of a run used: it stays known, by number, when its words are gone."""

    run: str
    attempt: int
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class ConversationDeleted(Event):
    """Its words, and those of its runs, were erased in the same transaction. Nothing can be said in it any more."""

    KIND: ClassVar[str] = "conversation.deleted"
    TERMINAL: ClassVar[bool] = True
    runs: tuple[str, ...] = ()
    counted: tuple[Counted, ...] = ()
