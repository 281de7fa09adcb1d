"""What can happen to a member, and to the short names that members and projects go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quarterdeck.events.base import Event
from quarterdeck.kernel.board import MemberConfig, MemberType


@dataclass(frozen=True, slots=True)
class MemberAdded(Event):
    """Somebody belongs to the tenant from now on. `account` is the actor that a person acts as."""

    KIND: ClassVar[str] = "member.added"
    type: MemberType
    name: str
    slug: str
    config: MemberConfig
    account: str | None = None


@dataclass(frozen=True, slots=True)
class MemberChanged(Event):
    """How a member is set up from now on, whole."""

    KIND: ClassVar[str] = "member.changed"
    name: str
    config: MemberConfig


@dataclass(frozen=True, slots=True)
class MemberRemoved(Event):
    KIND: ClassVar[str] = "member.removed"
    TERMINAL: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class HandleTaken(Event):
    """The slug that this stream is about is this one's alone from now on."""

    KIND: ClassVar[str] = "handle.taken"
    owner: str


@dataclass(frozen=True, slots=True)
class HandleFreed(Event):
    KIND: ClassVar[str] = "handle.freed"
    owner: str
