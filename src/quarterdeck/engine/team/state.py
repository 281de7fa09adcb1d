"""A team's run as its events tell it. A fold, total: an event that fits nothing changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from quarterdeck.engine.team.plan import Phase, settled
from quarterdeck.events import team as ev
from quarterdeck.events.base import Event
from quarterdeck.events.team import Expert, Language, PartEnd, PartStarted, Planned, TeamRunRequested, Work

# What no other try, and no other expert, will change: the money of the whole run.
FINAL = frozenset({"budget_exceeded", "no_price"})


@dataclass(frozen=True, slots=True)
class Part:
    """One expert's work at one time. `version` is that of the plan when it began, `moves` how much had happened."""

    key: str
    work: Work
    expert: str
    phase: str | None = None
    round: int = 0
    run: str | None = None
    version: int = 0
    moves: int = 0
    cut: bool = False
    end: PartEnd | None = None
    text: str = ""
    code: str | None = None
    detail: str | None = None

    @property
    def open(self) -> bool:
        return self.end is None


@dataclass(frozen=True, slots=True)
class Pending:
    """What a person said and nobody has heeded yet."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Guidance:
    words: str
    to: str | None = None


@dataclass(frozen=True, slots=True)
class TeamState:
    requested: TeamRunRequested | None = None
    epoch: int = 0
    phases: tuple[Phase, ...] = ()
    version: int = 0
    moves: int = 0  # of phases and of people, since the beginning
    by_person: int = 0  # the latest version that a person made
    approved: bool = False
    parts: Mapping[str, Part] = field(default_factory=dict)
    pending: tuple[Pending, ...] = ()
    guidance: tuple[Guidance, ...] = ()
    debates: int = 0
    wanted: tuple[Planned, ...] = ()  # debates that open when there is a plan
    verdicts: Mapping[str, ev.DebateClosed] = field(default_factory=dict)
    extended: Mapping[str, int] = field(default_factory=dict)
    closing: frozenset[str] = frozenset()
    unread: str | None = None  # the part whose plan nobody has looked at yet
    refused: tuple[str, ...] = ()  # why plans were refused since the last good one
    paused: bool = False
    stops: int = 0
    replan: bool = False
    broke: ev.PartEnded | None = None  # after which no other call will do
    outcome: str | None = None
    answer: str = ""

    @property
    def language(self) -> Language:
        return "en" if self.requested is None else self.requested.language

    @property
    def experts(self) -> tuple[Expert, ...]:
        return () if self.requested is None else self.requested.experts

    @property
    def lead(self) -> Expert:
        return next((expert for expert in self.experts if expert.lead), self.experts[0])

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(expert.name for expert in self.experts)

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(expert.name for expert in self.experts if expert.name != self.lead.name)

    @property
    def open_parts(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts.values() if part.open)

    def phase(self, name: str | None) -> Phase | None:
        return next((phase for phase in self.phases if phase.id == name), None)

    def expert(self, name: str) -> Expert:
        return next((expert for expert in self.experts if expert.name == name), self.lead)

    def current(self, phase: Phase) -> Part | None:
        """What the expert of a phase is doing about it, or last did."""
        return self.parts.get(phase_key(phase))


def phase_key(phase: Phase) -> str:
    return f"phase.{phase.id}.{phase.started}"


def evolve(state: TeamState, event: Event) -> TeamState:  # noqa: C901, PLR0911, PLR0912 - one line for each event
    match event:
        case ev.TeamRunRequested():
            return replace(state, requested=event)
        case ev.TeamRunClaimed(_, epoch):
            return replace(state, epoch=epoch)
        case ev.PlanChanged():
            return _planned(state, event)
        case ev.PlanRefused(_, why):
            return replace(state, unread=None, refused=(*state.refused, why))
        case ev.PlanApproved(version) if version == state.version:
            return replace(state, approved=True)
        case ev.PhaseChanged():
            return _moved(state, event)
        case ev.DebateClosed(phase):
            return replace(state, verdicts={**state.verdicts, phase: event})
        case ev.TeamInterventionAccepted(ident, _, text):
            return replace(state, pending=(*state.pending, Pending(ident, text)))
        case ev.TeamInterventionHeeded():
            return _heeded(state, event)
        case ev.TeamRunFinished(outcome, answer):
            return replace(state, outcome=outcome, answer=answer)
        case _:
            return _part(state, event)


def _part(state: TeamState, event: Event) -> TeamState:
    match event:
        case PartStarted():
            return _started(state, event)
        case ev.PartCut(key) if key in state.parts:
            return _with(state, replace(state.parts[key], cut=True))
        case ev.PartEnded() if event.part in state.parts:
            return _ended(state, event)
        case _:
            return state


def _with(state: TeamState, part: Part) -> TeamState:
    return replace(state, parts={**state.parts, part.key: part})


def _started(state: TeamState, event: PartStarted) -> TeamState:
    begun = Part(event.part, event.work, event.expert, event.phase, event.round, event.run, state.version, state.moves)
    phases = state.phases
    if event.work in {"phase", "frame"}:
        phases = tuple(
            replace(phase, state="running", started=phase.started + 1, had_by=(*phase.had_by, event.expert))
            if phase.id == event.phase
            else phase
            for phase in phases
        )
    replan = state.replan and event.work != "revise"
    return _with(replace(state, phases=phases, replan=replan), begun)


def _ended(state: TeamState, event: ev.PartEnded) -> TeamState:
    part = state.parts[event.part]
    done = replace(part, end=event.end, text=event.text, code=event.code, detail=event.detail)
    wanted = part.work in {"plan", "revise"} and not part.cut and part.version >= state.by_person
    unread = part.key if wanted else state.unread
    broke = event if event.end == "failed" and event.code in FINAL else state.broke
    return replace(_with(state, done), unread=unread, broke=broke)


def _planned(state: TeamState, event: ev.PlanChanged) -> TeamState:
    known = {phase.id for phase in state.phases}
    opened = sum(each.kind == "debate" and each.id not in known for each in event.phases)
    person = event.by.startswith("person")
    approved = state.approved or person or (state.requested is not None and not state.requested.ask_first)
    return replace(
        state,
        phases=settled(state.phases, event.phases),
        version=event.version,
        moves=state.moves + 1,
        by_person=event.version if person else state.by_person,
        approved=approved,
        debates=state.debates + opened,
        wanted=(),
        unread=None,
        refused=(),
    )


def _moved(state: TeamState, event: ev.PhaseChanged) -> TeamState:
    phases = tuple(_changed(phase, event) for phase in state.phases)
    state = replace(state, phases=phases, moves=state.moves + 1)
    if event.state != "pending":
        return state
    extended = {name: more for name, more in state.extended.items() if name != event.phase}
    return replace(state, closing=state.closing - {event.phase}, extended=extended)


def _changed(phase: Phase, event: ev.PhaseChanged) -> Phase:
    if phase.id != event.phase:
        return phase
    failures = phase.failures
    if event.state == "pending":
        failures = failures + 1 if phase.state == "running" else 0
    return replace(
        phase,
        planned=replace(phase.planned, expert=event.expert),
        state=event.state,
        result=event.result,
        detail=event.detail,
        failures=failures,
        had_by=() if event.state == "pending" and failures == 0 else phase.had_by,
    )


def _heeded(state: TeamState, event: ev.TeamInterventionHeeded) -> TeamState:
    left = tuple(each for each in state.pending if each.id != event.intervention)
    state = replace(state, pending=left)
    if event.outcome == "ignored":
        return state
    if event.words and event.command != "debate":
        guidance = (*state.guidance, Guidance(event.words, event.to))
        state = replace(state, guidance=guidance, moves=state.moves + 1)
    phase = event.phase or ""
    match event.command:
        case "stop":
            return replace(state, stops=state.stops + 1, paused=False, moves=state.moves + 1)
        case "pause" | "resume":
            return replace(state, paused=event.command == "pause")
        case "replan":
            return replace(state, replan=state.version > 0)
        case "extend":
            return replace(state, extended={**state.extended, phase: state.extended.get(phase, 0) + 1})
        case "close":
            return replace(state, closing=state.closing | {phase})
        case "debate" if event.words and state.version == 0:
            return replace(state, wanted=(*state.wanted, _wanted(state, event)))
        case _:
            return state


def _wanted(state: TeamState, event: ev.TeamInterventionHeeded) -> Planned:
    """A debate that was asked for before there is a plan to put it in: its topic is in the words, who in `to`."""
    who = tuple(filter(None, (event.to or "").split("\n")))
    name = f"debate{len(state.wanted) + 1}"
    topic = event.words
    return Planned(name, topic[:120], state.lead.name, topic, (), "debate", topic, who)
