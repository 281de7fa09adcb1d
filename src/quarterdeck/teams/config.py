"""Who an expert is: name, character, and what they may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from quarterdeck.engine.team.portrait import Traits, portrait
from quarterdeck.events.team import Expert as Member
from quarterdeck.events.team import Language
from quarterdeck.kernel.parts import Persona


@dataclass
class ExpertConfig:
    """`prompt` holds further lines for the expert's model, by heading. Without a `model` the gateway's own is used.

    `agent_type` and `task_mode` are labels for programs that sort their experts by them; nothing depends on them.
    """

    name: str
    persona: str = ""
    thinking_style: str = ""
    speaking_style: str = ""
    decision_framework: str = ""
    bound_skills: list[str] = field(default_factory=list)
    is_lead: bool = False
    model: str | None = None
    temperature: float | None = None
    prompt: Mapping[str, str] = field(default_factory=dict)
    agent_type: str = "expert"
    task_mode: str = "llm_generate"

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("an expert needs a name")

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> ExpertConfig:
        known = {each.name for each in fields(cls)}
        if strange := sorted(set(told) - known):
            raise ValueError(f"an expert has no {', '.join(strange)}; there are {', '.join(sorted(known))}")
        return cls(**told)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def member(self, language: Language) -> Member:
        """As the rules know them."""
        traits = Traits(
            self.persona, self.thinking_style, self.speaking_style, self.decision_framework, dict(self.prompt)
        )
        skills = tuple(self.bound_skills)
        told = portrait(self.name, traits, language)
        persona = Persona(self.name, self.name, told, self.model, self.temperature, skills=skills)
        about = "; ".join(filter(None, (self.persona, ", ".join(skills))))
        return Member(persona, about, self.is_lead)
