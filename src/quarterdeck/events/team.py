"""What can happen to a team, and to a piece of work that a team is given: plan, parts, debates, a person's words, end.

A *part* is what one expert does at one time: planning, a phase, a turn of a debate, the final answer. Each is an
ordinary run with a stream of its own; here stands that it began and what it came to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from quarterdeck.events.base import Event
from quarterdeck.kernel.parts import Persona

Language = Literal["en", "zh", "ru"]
Work = Literal["plan", "revise", "phase", "frame", "position", "rebuttal", "verdict", "synthesis"]
PhaseKind = Literal["execution", "debate"]
PhaseState = Literal["pending", "running", "completed", "failed", "skipped", "stopped"]
PartEnd = Literal["completed", "stopped", "failed"]
Heeding = Literal["applied", "ignored"]
TeamOutcome = Literal["completed", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class Expert:
    """A member of a team. `persona.name` is how the others and people address them."""

    persona: Persona
    about: str = ""  # what the others are told of them
    lead: bool = False

    @property
    def name(self) -> str:
        return self.persona.name


@dataclass(frozen=True, slots=True)
class Planned:
    """A phase as it was planned. `topic` and `participants` are a debate's; nobody named means all members."""

    id: str
    name: str
    expert: str
    task: str
    depends_on: tuple[str, ...] = ()
    kind: PhaseKind = "execution"
    topic: str = ""
    participants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TeamFormed(Event):
    KIND: ClassVar[str] = "team.formed"
    name: str
    experts: tuple[Expert, ...]


@dataclass(frozen=True, slots=True)
class TeamRunRequested(Event):
    """Somebody gives a team a task. The experts are as they were then, whatever becomes of the team."""

    KIND: ClassVar[str] = "team.run_requested"
    team: str
    task: str
    language: Language
    experts: tuple[Expert, ...]
    ask_first: bool = False
    plan: tuple[Planned, ...] = ()
    debate_style: str = "open"
    workspace: str | None = None
    budget_usd: float | None = None


@dataclass(frozen=True, slots=True)
class TeamRunClaimed(Event):
    KIND: ClassVar[str] = "team.claimed"
    worker: str
    epoch: int


@dataclass(frozen=True, slots=True)
class PlanChanged(Event):
    """The plan from now on, whole. Phases that have ended stand in it as they ended."""

    KIND: ClassVar[str] = "team.plan_changed"
    version: int
    phases: tuple[Planned, ...]
    by: str
    why: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanRefused(Event):
    """What the lead wrote is no plan that can be carried out."""

    KIND: ClassVar[str] = "team.plan_refused"
    part: str
    why: str


@dataclass(frozen=True, slots=True)
class PlanApproved(Event):
    KIND: ClassVar[str] = "team.plan_approved"
    version: int


@dataclass(frozen=True, slots=True)
class PartStarted(Event):
    KIND: ClassVar[str] = "team.part_started"
    part: str
    work: Work
    expert: str
    phase: str | None = None
    round: int = 0
    run: str | None = None


@dataclass(frozen=True, slots=True)
class PartWaiting(Event):
    """It rests until a person has answered what its run asks."""

    KIND: ClassVar[str] = "team.part_waiting"
    part: str
    run: str
    status: str


@dataclass(frozen=True, slots=True)
class PartCut(Event):
    """What it might still come to is not wanted any more: it was told to stop."""

    KIND: ClassVar[str] = "team.part_cut"
    part: str


@dataclass(frozen=True, slots=True)
class PartEnded(Event):
    """`text` is what it came to, bounded, also where it was stopped or failed on the way."""

    KIND: ClassVar[str] = "team.part_ended"
    part: str
    end: PartEnd
    text: str = ""
    code: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class PhaseChanged(Event):
    """How a phase stands now. `expert` is who has it from now on."""

    KIND: ClassVar[str] = "team.phase_changed"
    phase: str
    state: PhaseState
    expert: str
    result: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class DebateClosed(Event):
    """What a debate came to. `confidence` is from 0 to 1, None where the moderator gave none."""

    KIND: ClassVar[str] = "team.debate_closed"
    phase: str
    why: str
    rounds: int
    verdict: str
    reasons: tuple[str, ...] = ()
    dissent: tuple[str, ...] = ()
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class TeamInterventionAccepted(Event):
    KIND: ClassVar[str] = "team.intervention_accepted"
    intervention: str
    run: str
    text: str


@dataclass(frozen=True, slots=True)
class TeamInterventionHeeded(Event):
    """What became of it. `code` says why it was ignored; `words` are what is told to the experts from now on."""

    KIND: ClassVar[str] = "team.intervention_heeded"
    intervention: str
    command: str
    outcome: Heeding
    code: str = ""
    detail: str = ""
    phase: str | None = None
    words: str = ""
    to: str | None = None


@dataclass(frozen=True, slots=True)
class TeamRunFinished(Event):
    """The last event of a team's run, exactly once."""

    KIND: ClassVar[str] = "team.run_finished"
    TERMINAL: ClassVar[bool] = True
    outcome: TeamOutcome
    answer: str = ""
    code: str | None = None
    detail: str | None = None
