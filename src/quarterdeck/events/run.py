"""What can happen to a run, from the request to the last event."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from quarterdeck.events.base import Event
from quarterdeck.kernel.parts import Persona, Reasoning, Remembered, ToolCall, Usage

Loop = Literal["roles", "native"]
Role = Literal["summary", "recall", "action", "thinker", "memory_policy", "critic"]
Stage = Literal["queued", "summarising", "recalling", "planning", "running_tool", "answering"]
Outcome = Literal["completed", "stopped", "failed", "quarantined"]
WaitStatus = Literal["waiting_for_approval", "waiting_for_password", "waiting_for_answer"]


@dataclass(frozen=True, slots=True)
class RunRequested(Event):
    """Somebody wants an answer. Always event 1, so that whoever attaches early sees the run.

    `root` is the run whose budget this one spends from, where it is part of a larger piece of work.
    """

    KIND: ClassVar[str] = "run.requested"
    VERSION: ClassVar[int] = 2
    conversation: str
    message: str
    loop: Loop = "roles"
    workspace: str | None = None
    reasoning: Reasoning | None = None
    debug: bool = False
    deadline_s: float | None = None
    max_steps: int = 24
    persona: Persona | None = None
    root: str | None = None
    budget_usd: float | None = None


@dataclass(frozen=True, slots=True)
class RunClaimed(Event):
    """A worker took the run. Committed before any work, so that a run that kills its process is counted."""

    KIND: ClassVar[str] = "run.claimed"
    worker: str
    epoch: int


@dataclass(frozen=True, slots=True)
class RunReleased(Event):
    """A worker that is shutting down let go in good order; the next claim is no crash."""

    KIND: ClassVar[str] = "run.released"
    worker: str
    epoch: int


@dataclass(frozen=True, slots=True)
class StageChanged(Event):
    KIND: ClassVar[str] = "run.stage_changed"
    stage: Stage


@dataclass(frozen=True, slots=True)
class AttemptStarted(Event):
    """A model is about to be called. Attempts are numbered through the whole run."""

    KIND: ClassVar[str] = "run.attempt_started"
    attempt: int
    role: Role
    model: str


@dataclass(frozen=True, slots=True)
class ReasoningStreamed(Event):
    """Reasoning as it came; each text is one delta and has a place of its own."""

    KIND: ClassVar[str] = "run.reasoning"
    attempt: int
    texts: tuple[str, ...]

    @property
    def span(self) -> int:
        return len(self.texts)

    def behind(self, places: int) -> ReasoningStreamed:
        return replace(self, texts=self.texts[places:])


@dataclass(frozen=True, slots=True)
class ContentStreamed(Event):
    """Answer text as it came; each text is one delta and has a place of its own."""

    KIND: ClassVar[str] = "run.content"
    attempt: int
    texts: tuple[str, ...]

    @property
    def span(self) -> int:
        return len(self.texts)

    def behind(self, places: int) -> ContentStreamed:
        return replace(self, texts=self.texts[places:])


@dataclass(frozen=True, slots=True)
class AttemptFinished(Event):
    """The model said its reply is whole. A streamed text is in its deltas and only its digest is here."""

    KIND: ClassVar[str] = "run.attempt_finished"
    attempt: int
    role: Role
    finish: str
    text: str | None = None
    sha256: str | None = None
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    latency_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class AttemptBroke(Event):
    """A model call ended without a whole reply."""

    KIND: ClassVar[str] = "run.attempt_broke"
    attempt: int
    role: Role
    code: str
    detail: str
    retryable: bool
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class AttemptSuperseded(Event):
    """The text of this attempt, from place `since` to here, no longer counts; another attempt follows."""

    KIND: ClassVar[str] = "run.attempt_superseded"
    attempt: int
    since: int
    reason: str
    retry_in: float = 0.0


@dataclass(frozen=True, slots=True)
class CondensingBegun(Event):
    """What was said in the conversation up to place `through` is to be summarised by the attempt that begins."""

    KIND: ClassVar[str] = "run.condensing"
    through: int


@dataclass(frozen=True, slots=True)
class MemoryRecalled(Event):
    """What was found in memory that may matter to this message."""

    KIND: ClassVar[str] = "run.memory_recalled"
    memories: tuple[Remembered, ...]


@dataclass(frozen=True, slots=True)
class MemoryUsed(Event):
    """What of it the answer is given."""

    KIND: ClassVar[str] = "run.memory_used"
    memories: tuple[Remembered, ...]


@dataclass(frozen=True, slots=True)
class SkillActivated(Event):
    """A skill fits this message: its summary is put before the one who plans."""

    KIND: ClassVar[str] = "run.skill_activated"
    name: str
    description: str
    origin: str


@dataclass(frozen=True, slots=True)
class ActionLoopSkipped(Event):
    """Nothing has to be done before the answer."""

    KIND: ClassVar[str] = "run.action_loop_skipped"
    reason: str


@dataclass(frozen=True, slots=True)
class RunWaiting(Event):
    """Nothing can go on before a person has done something. `left_s` is what remains of the deadline meanwhile."""

    KIND: ClassVar[str] = "run.waiting"
    status: WaitStatus
    left_s: float | None = None


@dataclass(frozen=True, slots=True)
class StopRequested(Event):
    KIND: ClassVar[str] = "run.stop_requested"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DeadlinePassed(Event):
    KIND: ClassVar[str] = "run.deadline_passed"


@dataclass(frozen=True, slots=True)
class Stats:
    """How fast the answer came, in tokens per second over quarter-second windows."""

    tokens: int = 0
    duration_ms: float = 0.0
    first_token_ms: float | None = None
    min_tokens_per_second: float = 0.0
    avg_tokens_per_second: float = 0.0
    max_tokens_per_second: float = 0.0


@dataclass(frozen=True, slots=True)
class RunFinished(Event):
    """The last event of a run, exactly once. `answer` is what there is, also when the run was stopped or failed."""

    KIND: ClassVar[str] = "run.finished"
    TERMINAL: ClassVar[bool] = True
    outcome: Outcome
    answer: str = ""
    code: str | None = None
    detail: str | None = None
    stats: Stats = field(default_factory=Stats)
    usage: Usage = field(default_factory=Usage)
