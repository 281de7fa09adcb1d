"""Who hears what, and who of those is woken: by how a member listens, and whether it is meant."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from quarterdeck.engine.board.people import Member
from quarterdeck.kernel.board import Reason, Voice

MOST_HOPS = 6
MOST_TURNS = 12


def hears_chat(member: Member, author: str, *, mentions: Collection[str], direct: bool = False) -> bool:
    """Whether something said in a chat is for this member's ears. Nobody is told what they said themselves, and what
    is said in a direct chat is meant for whoever else is in it."""
    if member.id == author or member.removed:
        return False
    meant = direct or member.id in mentions
    return member.config.chat_listen == "all" or (meant and member.config.chat_listen == "mentions")


def hears_task(member: Member, author: str, *, assigned: bool, mentioned: bool) -> bool:
    """Whether something done to a task is for this member's ears: from `all` over `mentions` and `assigned` to `none`
    each hears less than the one before."""
    if member.id == author or member.removed:
        return False
    match member.config.task_listen:
        case "all":
            return True
        case "mentions":
            return assigned or mentioned
        case "assigned":
            return assigned
        case _:
            return False


@dataclass(frozen=True, slots=True)
class Said:
    """What was said where, as far as waking goes. `turns` are those of agents before it without a person."""

    by: Voice
    mentions: tuple[str, ...]
    hops: int
    turns: int


def held(said: Said) -> str | None:
    """Why this wakes no agent at all: agents that only talk to each other are stopped, by the length of the chain and
    by the number of turns. A person's word wakes always."""
    if said.by.type != "agent":
        return None
    if said.hops > MOST_HOPS:
        return "hops"
    return "turns" if said.turns >= MOST_TURNS else None


def woken_by_message(member: Member, said: Said, *, direct: bool = False) -> Reason | None:
    """Why a message wakes this agent, if it does and nothing holds it."""
    if member.type != "agent" or not hears_chat(member, said.by.member, mentions=said.mentions, direct=direct):
        return None
    return "mention" if member.id in said.mentions else "message"


def woken_by_comment(member: Member, said: Said, *, assigned: bool) -> Reason | None:
    """A comment wakes whom it mentions, and a person's comment whoever has the task."""
    mentioned = member.id in said.mentions
    heard = hears_task(member, said.by.member, assigned=assigned, mentioned=mentioned)
    if member.type != "agent" or not heard:
        return None
    if mentioned:
        return "mention"
    return "comment" if assigned and said.by.type == "human" else None


def woken_by_assignment(member: Member, said: Said) -> bool:
    """Being given a task wakes, unless one does not listen to tasks; giving it to oneself does not."""
    return member.type == "agent" and hears_task(member, said.by.member, assigned=True, mentioned=False)
