"""A team's plan as programs handle it: phases that may be looked at and changed, and the checks of the rules."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from quarterdeck.engine.team import plan as rules
from quarterdeck.events.team import Planned


class PhaseStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    STOPPED = "stopped"


class PhaseType(StrEnum):
    EXECUTION = "execution"
    DEBATE = "debate"


@dataclass
class PlanPhase:
    """`result` is `{"content": …}` once there is one. A debate's topic and participants are in `debate_config`."""

    id: str
    name: str
    assigned_expert: str
    task_description: str = ""
    depends_on: list[str] = field(default_factory=list)
    phase_type: PhaseType = PhaseType.EXECUTION
    status: PhaseStatus = PhaseStatus.PENDING
    result: dict[str, Any] | None = None
    detail: str = ""
    debate_config: dict[str, Any] | None = None

    def planned(self) -> Planned:
        config = self.debate_config or {}
        return Planned(
            self.id,
            self.name,
            self.assigned_expert,
            self.task_description,
            tuple(self.depends_on),
            self.phase_type.value,
            str(config.get("topic", "")) or (self.task_description if self.phase_type is PhaseType.DEBATE else ""),
            tuple(config.get("participants", ())),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "assigned_expert": self.assigned_expert,
            "task_description": self.task_description,
            "depends_on": list(self.depends_on),
            "phase_type": self.phase_type.value,
            "status": self.status.value,
            "result": self.result,
            "detail": self.detail,
            "debate_config": self.debate_config,
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> PlanPhase:
        shape = dict(told)
        shape["phase_type"] = PhaseType(shape.get("phase_type", "execution"))
        shape["status"] = PhaseStatus(shape.get("status", "pending"))
        return cls(**shape)


@dataclass
class TeamPlan:
    """Phases that form a graph without circles. `version` goes up with every change that a run makes to it."""

    task: str
    phases: list[PlanPhase] = field(default_factory=list)
    lead_expert: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    version: int = 1

    def validate(self, experts: Iterable[str]) -> tuple[str, ...]:
        """Every reason why it cannot be carried out: circles, unknown experts, phases that are never reached."""
        return rules.faults([phase.planned() for phase in self.phases], experts)

    def phase(self, name: str) -> PlanPhase | None:
        return next((phase for phase in self.phases if phase.id == name), None)

    def ready_phases(self) -> list[PlanPhase]:
        """Those that may begin now."""
        free = {phase.id for phase in rules.ready(self.as_rules())}
        return [phase for phase in self.phases if phase.id in free]

    @property
    def is_complete(self) -> bool:
        return rules.over(self.as_rules())

    def as_rules(self) -> tuple[rules.Phase, ...]:
        """As the rules know it."""
        return tuple(
            rules.Phase(phase.planned(), phase.status.value, _text(phase.result), phase.detail) for phase in self.phases
        )

    def take(self, phases: Sequence[rules.Phase], version: int) -> None:
        """Become what the rules made of it. Phases that were there stay the same objects."""
        before = {phase.id: phase for phase in self.phases}
        self.phases[:] = [_taken(before.get(phase.id), phase) for phase in phases]
        self.version = version

    def to_dict(self) -> dict[str, Any]:
        whole = {"id": self.id, "task": self.task, "lead_expert": self.lead_expert, "version": self.version}
        return {**whole, "phases": [phase.to_dict() for phase in self.phases]}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> TeamPlan:
        return cls(**{**told, "phases": [PlanPhase.from_dict(phase) for phase in told.get("phases", ())]})


def _taken(known: PlanPhase | None, phase: rules.Phase) -> PlanPhase:
    planned = phase.planned
    taken = known or PlanPhase(phase.id, planned.name, planned.expert)
    taken.name, taken.assigned_expert, taken.task_description = planned.name, planned.expert, planned.task
    taken.depends_on, taken.phase_type = list(planned.depends_on), PhaseType(planned.kind)
    taken.status, taken.detail = PhaseStatus(phase.state), phase.detail
    if phase.result != _text(taken.result):
        taken.result = {"content": phase.result} if phase.result else None
    if planned.kind == "debate":
        taken.debate_config = {"topic": planned.topic, "participants": list(planned.participants)}
    return taken


def _text(result: Mapping[str, Any] | None) -> str:
    return "" if result is None else str(result.get("content", ""))
