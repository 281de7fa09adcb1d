"""Who an expert is, as one text: what their model is told of them before anything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from quarterdeck.engine.team.texts import TEXTS
from quarterdeck.events.team import Language


@dataclass(frozen=True, slots=True)
class Traits:
    persona: str = ""
    thinking: str = ""
    speaking: str = ""
    deciding: str = ""
    more: Mapping[str, str] = field(default_factory=dict)


def portrait(name: str, traits: Traits, language: Language) -> str:
    told = TEXTS[language]
    lines = [told.you.replace("{name}", name)]
    named = (("persona", traits.persona), ("thinking", traits.thinking), ("speaking", traits.speaking))
    lines += [f"{told.style[key]}: {said}" for key, said in (*named, ("deciding", traits.deciding)) if said.strip()]
    lines += [f"{key}: {said}" for key, said in traits.more.items() if said.strip()]
    return "\n".join(lines)
