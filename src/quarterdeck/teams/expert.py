"""An expert of a team: who they are, and the gateway they think with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quarterdeck.teams.config import ExpertConfig
from quarterdeck.teams.gateway import Gateway


@dataclass
class Agent:
    """What an expert works with. Programs of old reach for the gateway under this name."""

    _llm_gateway: Gateway | None = None


class Expert:
    """One who is not active keeps the seat and is given no work."""

    def __init__(self, config: ExpertConfig, gateway: Gateway | None = None) -> None:
        self.config, self.agent = config, Agent(gateway)
        self.is_active = True
        self.team_id: str | None = None

    @property
    def name(self) -> str:
        return self.config.name

    def get_capabilities_summary(self) -> dict[str, Any]:
        config = self.config
        return {
            "name": config.name,
            "persona": config.persona,
            "thinking_style": config.thinking_style,
            "bound_skills": list(config.bound_skills),
            "is_lead": config.is_lead,
        }
