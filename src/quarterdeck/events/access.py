"""What can happen to the users of a tenant, and to tokens: what somebody shows to say who they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from quarterdeck.events.base import Event


@dataclass(frozen=True, slots=True)
class TokenIssued(Event):
    """Of the token itself only a digest is kept. `parent` is the token that a browser's session was opened with."""

    KIND: ClassVar[str] = "token.issued"
    token: str
    digest: str
    actor: str
    role: str
    name: str = ""
    expires_at: float | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class TokenUsed(Event):
    """Told now and then, not each time."""

    KIND: ClassVar[str] = "token.used"
    token: str


@dataclass(frozen=True, slots=True)
class TokenRevoked(Event):
    KIND: ClassVar[str] = "token.revoked"
    token: str
    by: str


@dataclass(frozen=True, slots=True)
class UserAdded(Event):
    KIND: ClassVar[str] = "user.added"
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class UserChanged(Event):
    """What is None stays as it was."""

    KIND: ClassVar[str] = "user.changed"
    name: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class UserRemoved(Event):
    KIND: ClassVar[str] = "user.removed"
