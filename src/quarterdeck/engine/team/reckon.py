"""What follows from what a part came to: a plan, a phase that is done, another try, another expert."""

from __future__ import annotations

from dataclasses import replace

from quarterdeck.engine.team import debate
from quarterdeck.engine.team.heed import with_wanted
from quarterdeck.engine.team.plan import Phase, merged
from quarterdeck.engine.team.reading import NoPlan, read_plan
from quarterdeck.engine.team.state import Part, TeamState
from quarterdeck.engine.team.styles import MAX_DEBATES
from quarterdeck.events.base import Event
from quarterdeck.events.team import PhaseChanged, PlanChanged, Planned, PlanRefused

TRIES_BY_ONE = 2
MOST_FAILURES = 3  # by whomever, until a phase is given up
LONGEST_DETAIL = 500
RULES = "rules"


def reckoned(state: TeamState, most_debates: int = MAX_DEBATES) -> tuple[Event, ...]:
    """What has to be written down before anything else is done; nothing where all is."""
    if state.unread is not None and not state.stops:
        return _plan(state, state.parts[state.unread], most_debates)
    for phase in state.phases:
        if phase.state == "running" and (found := _debate(state, phase) if phase.is_debate else _phase(state, phase)):
            return found
    return ()


def _plan(state: TeamState, part: Part, most_debates: int) -> tuple[Event, ...]:
    if part.end != "completed":
        why = f"{part.code or part.end}: {part.detail or 'no plan came'}"
        return (PlanRefused(part.key, why[:LONGEST_DETAIL]),)
    known = [phase.id for phase in state.phases]
    left = most_debates - state.debates - len(state.wanted)
    try:
        read = read_plan(part.text, state.names, state.lead.name, known, left)
    except NoPlan as refusal:
        return (PlanRefused(part.key, str(refusal)[:LONGEST_DETAIL]),)
    why = "the lead's plan" if part.work == "plan" else "the lead revised what was left"
    planned = revised(state, read.phases) if state.version else with_wanted(state, read.phases)
    return (PlanChanged(state.version + 1, planned, f"lead:{state.lead.name}", why, read.notes),)


def revised(state: TeamState, fresh: tuple[Planned, ...]) -> tuple[Planned, ...]:
    """A new plan of what has not begun; of what has, nothing changes, whatever the new plan says of it."""
    fixed = {phase.id for phase in state.phases if phase.state in {"running", "completed", "skipped"}}
    fixed |= {phase.id for phase in state.phases if phase.is_debate and phase.state == "pending"}
    return merged(state.phases, [each for each in fresh if each.id not in fixed])


def everybody_at_once(state: TeamState) -> tuple[Planned, ...]:
    """The plan where the lead makes none: each member works on the whole task."""
    task = state.requested.task if state.requested is not None else ""
    who = state.members or (state.lead.name,)
    return tuple(Planned(f"p{number}", name, name, task) for number, name in enumerate(who, 1))


def _phase(state: TeamState, phase: Phase) -> tuple[Event, ...]:
    part = state.current(phase)
    if part is None or part.open:
        return ()
    if part.end == "completed" and part.text.strip():
        return (PhaseChanged(phase.id, "completed", phase.expert, part.text),)
    if state.stops:
        return (PhaseChanged(phase.id, "stopped", phase.expert, part.text, part.detail or "stopped"),)
    if part.end == "stopped":
        return (PhaseChanged(phase.id, "skipped", phase.expert, part.text, "a person stopped this expert's run"),)
    return _failed(state, phase, part)


def _failed(state: TeamState, phase: Phase, part: Part) -> tuple[Event, ...]:
    """Another try, another expert, or the end of it."""
    why = f"{part.code}: {part.detail}" if part.code else part.detail or "the answer was empty"
    why, failures = why[:LONGEST_DETAIL], phase.failures + 1
    if state.broke is not None or failures >= MOST_FAILURES:
        return (PhaseChanged(phase.id, "failed", phase.expert, part.text, why),)
    other = _other(state, phase)
    if failures < TRIES_BY_ONE or other is None:
        return (PhaseChanged(phase.id, "pending", phase.expert, "", why),)
    planned = tuple(
        replace(each.planned, expert=other) if each.id == phase.id else each.planned for each in state.phases
    )
    handed = f"{phase.id} failed with {phase.expert} and goes to {other}"
    changed = PlanChanged(state.version + 1, planned, RULES, handed)
    return (changed, PhaseChanged(phase.id, "pending", other, "", why))


def _other(state: TeamState, phase: Phase) -> str | None:
    """Somebody who has not tried yet; the lead last."""
    return next((name for name in (*state.members, state.lead.name) if name not in phase.had_by), None)


def _debate(state: TeamState, phase: Phase) -> tuple[Event, ...]:
    if state.stops:
        if any(part.open and part.phase == phase.id for part in state.open_parts):
            return ()
        said = debate.positions(debate.rounds(state, phase))
        return (PhaseChanged(phase.id, "stopped", phase.expert, said, "stopped before the verdict"),)
    return debate.closed(state, phase)
