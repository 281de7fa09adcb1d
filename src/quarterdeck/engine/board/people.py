"""What the rules know of members, projects and chats."""

from __future__ import annotations

from dataclasses import dataclass

from quarterdeck.kernel.board import ChatKind, MemberConfig, MemberType, Voice


@dataclass(frozen=True, slots=True)
class Member:
    id: str
    type: MemberType
    name: str
    slug: str
    config: MemberConfig
    account: str | None = None
    removed: bool = False

    @property
    def voice(self) -> Voice:
        return Voice(self.id, self.slug, self.type)

    @property
    def ours(self) -> bool:
        """Whether we drive it."""
        return self.type == "agent" and self.config.runtime == "built_in" and not self.removed


@dataclass(frozen=True, slots=True)
class Project:
    id: str
    name: str
    slug: str
    description: str
    chat: str
    archived: bool


@dataclass(frozen=True, slots=True)
class Chat:
    """`turns` counts what agents have said here since a person last did."""

    id: str
    project: str
    kind: ChatKind
    name: str
    root: str | None
    members: tuple[str, ...]
    turns: int

    def admits(self, member: str) -> bool:
        """Whether this member of the project is in it; a direct chat is for those it is between."""
        return self.kind != "direct" or member in self.members


@dataclass(frozen=True, slots=True)
class Uttered:
    """Where a message is, and how many agents stand in the chain that led to it."""

    id: str
    chat: str
    hops: int
