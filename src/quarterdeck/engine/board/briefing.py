"""What an agent that we drive is told: who it is, where, and what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quarterdeck.engine.board.card import Card
from quarterdeck.engine.board.people import Member, Project
from quarterdeck.events.inbox import WakeQueued
from quarterdeck.kernel.parts import Persona

MOST_CHARACTERS = 24_000
LONGEST_LINE = 6_000


@dataclass(frozen=True, slots=True)
class Line:
    """Something that was said, and by whom."""

    slug: str
    content: str


def persona_of(member: Member, project: Project) -> Persona:
    """Who answers. The model is one of its tenant's where the member names none."""
    config = member.config
    model = f"{config.provider}/{config.model}" if config.provider and config.model else config.model
    here = f"You are {member.name}, known as @{member.slug}, a member of the project “{project.name}”."
    prompt = f"{here}\n\n{config.prompt or 'Answer plainly and briefly.'}"
    return Persona(member.id, member.name, prompt, model, tools=config.tools)


def chat_brief(wake: WakeQueued, lines: Sequence[Line]) -> str:
    """What was said since it last spoke there, ending with what woke it; alone, that stands for itself."""
    if len(lines) <= 1:
        return f"@{wake.by}: {wake.text}"
    return "\n\n".join((*_fitted(lines), "(Answer the last message.)"))


def card_brief(wake: WakeQueued, card: Card, lines: Sequence[Line]) -> str:
    about = [f"Task: {card.title}"] + ([card.description] if card.description else [])
    said = ["Said about it so far:", *_fitted(lines)] if lines else []
    match wake.reason:
        case "sent_back":
            asked = f"Your work on it was sent back by @{wake.by}: {wake.text}\nDo what is missing, and answer with it."
        case "comment" | "mention":
            asked = f"@{wake.by} asks you about it: {wake.text}"
        case _:
            words = f"@{wake.by} says: {wake.text}\n" if wake.text else ""
            asked = f"{words}It was given to you. Do it, and answer with the result."
    return "\n\n".join((*about, *said, asked))


def _fitted(lines: Sequence[Line]) -> list[str]:
    """The latest that fit; what was left out is said."""
    found: list[str] = []
    room = MOST_CHARACTERS
    for line in reversed(lines):
        text = f"@{line.slug}: {line.content[:LONGEST_LINE]}"
        if room < len(text):
            found.append("(Earlier messages do not fit here.)")
            break
        room -= len(text)
        found.append(text)
    return found[::-1]
