"""A team's work without the work: given what happened, what next? The library and the server ask this one function."""

from __future__ import annotations

from quarterdeck.engine.team import debate
from quarterdeck.engine.team.heed import heed, with_wanted
from quarterdeck.engine.team.intents import Begin, Cut, Finish, Intent, Record, Rest, Wait
from quarterdeck.engine.team.plan import SATISFIED, Phase, ready, stalled
from quarterdeck.engine.team.prompts import report
from quarterdeck.engine.team.reckon import RULES, everybody_at_once, reckoned
from quarterdeck.engine.team.state import Part, TeamState
from quarterdeck.engine.team.styles import MAX_DEBATES
from quarterdeck.events.team import PartStarted, PhaseChanged, PlanChanged

MOST_PLANS = 2  # tries at the first one
MOST_REVISIONS = 2  # of a plan that has stalled
MOST_SYNTHESES = 2  # that may fail
AT_ONCE = 16
WILL_COME = SATISFIED | {"pending", "running"}


def decide(state: TeamState, most_debates: int = MAX_DEBATES) -> Intent:  # noqa: PLR0911 - the order of these lines is the whole rule
    if state.requested is None or state.outcome is not None:
        return Rest()
    if state.pending:
        return Record(heed(state, state.pending[0], most_debates))
    if unwanted := tuple(part.key for part in state.open_parts if not part.cut and _unwanted(state, part)):
        return Cut(unwanted)
    if events := reckoned(state, most_debates):
        return Record(events)
    if state.stops:
        return _wound_up(state)
    if not state.version:
        return _first_plan(state)
    if not state.approved:
        return Wait("approval")
    if state.paused:
        return Wait("paused")
    return _next(state)


def _unwanted(state: TeamState, part: Part) -> bool:
    if state.stops:
        return part.work != "synthesis" or state.stops > 1 or part.moves < state.moves
    if part.work == "synthesis":
        return part.moves < state.moves
    if part.work in {"plan", "revise"}:
        return part.version < state.by_person
    phase = state.phase(part.phase)
    return phase is None or phase.state != "running"


def _first_plan(state: TeamState) -> Intent:
    assert state.requested is not None
    if state.requested.plan:
        planned = with_wanted(state, state.requested.plan)
        return Record((PlanChanged(1, planned, "person", "the plan came with the task"),))
    if state.broke is not None:
        return Finish("failed", "", state.broke.code, state.broke.detail)
    if state.open_parts:
        return Wait()
    if state.paused:
        return Wait("paused")
    if len(state.experts) > 1 and len(state.refused) < MOST_PLANS:
        return Begin((PartStarted(f"plan.{len(state.refused) + 1}", "plan", state.lead.name),))
    planned = with_wanted(state, everybody_at_once(state))
    why = (
        f"no plan could be read ({state.refused[-1]}), so everybody works on the task"
        if state.refused
        else "one expert"
    )
    return Record((PlanChanged(1, planned, RULES, why),))


def _next(state: TeamState) -> Intent:
    if any(part.work == "revise" for part in state.open_parts):
        return Wait()  # what has not begun is about to be another
    if state.replan:
        return Begin((_revision(state),))
    room = AT_ONCE - len(state.open_parts)
    starts = [start for phase in state.phases if phase.state == "running" for start in _turns(state, phase)]
    starts += [_start(state, phase) for phase in ready(state.phases)]
    if starts and room > 0:
        return Begin(tuple(starts[:room]))
    if state.open_parts:
        return Wait()
    if stalled(state.phases):
        return _unblocked(state)
    return _summed_up(state)


def _turns(state: TeamState, phase: Phase) -> tuple[PartStarted, ...]:
    """Of a debate that goes on; those of a round that could not all begin at once follow."""
    return debate.next_turns(state, phase) if phase.is_debate else ()


def _start(state: TeamState, phase: Phase) -> PartStarted:
    if phase.is_debate:
        return debate.opening(state, phase)
    return PartStarted(f"phase.{phase.id}.{phase.started + 1}", "phase", phase.expert, phase.id)


def _revision(state: TeamState) -> PartStarted:
    number = sum(part.work == "revise" for part in state.parts.values()) + 1
    return PartStarted(f"revise.{number}", "revise", state.lead.name)


def _unblocked(state: TeamState) -> Intent:
    """Something is left to do and waits for what failed: the lead plans anew; where that is no use, it is left out."""
    revisions = sum(part.work == "revise" for part in state.parts.values())
    if state.broke is None and revisions < MOST_REVISIONS and len(state.experts) > 1:
        return Begin((_revision(state),))
    stands = {phase.id: phase.state for phase in state.phases}
    left_out = [
        PhaseChanged(phase.id, "skipped", phase.expert, "", "it waited for " + ", ".join(vain))
        for phase in state.phases
        if phase.state == "pending" and (vain := [i for i in phase.depends_on if stands.get(i) not in WILL_COME])
    ]
    return Record(tuple(left_out))


def _wound_up(state: TeamState) -> Intent:
    """A person said stop: what is there is summed up, unless they said it twice."""
    if state.open_parts:
        return Wait("stopping")
    something = any(phase.result.strip() for phase in state.phases)
    detail = "A person stopped it; this is what there was."
    if not something or state.stops > 1 or state.broke is not None:
        return Finish("stopped", report(state), "stopped", detail)
    return _synthesis(state, "stopped", "stopped", detail)


def _summed_up(state: TeamState) -> Intent:
    if not any(phase.state == "completed" for phase in state.phases):
        why = state.broke
        code, detail = (why.code, why.detail) if why is not None else ("nothing_finished", "No phase came to an end.")
        return Finish("failed", report(state), code, detail)
    if state.broke is not None:
        return Finish("failed", report(state), state.broke.code, state.broke.detail)
    return _synthesis(state, "completed", None, None)


def _synthesis(state: TeamState, outcome: str, code: str | None, detail: str | None) -> Intent:
    tries = [part for part in state.parts.values() if part.work == "synthesis"]
    good = next((part for part in tries if _holds(state, part)), None)
    if good is not None:
        return Finish(outcome, good.text, code, detail)  # type: ignore[arg-type]
    failed = [part for part in tries if not part.cut and part.end is not None]
    if len(failed) >= MOST_SYNTHESES:
        last = failed[-1]
        why = f"Nobody could sum it up ({last.code or 'empty'}: {last.detail or 'no text'}); these are the results."
        return Finish(outcome, report(state), code or "no_synthesis", why[:500])  # type: ignore[arg-type]
    return Begin((PartStarted(f"synthesis.{len(tries) + 1}", "synthesis", state.lead.name),))


def _holds(state: TeamState, part: Part) -> bool:
    """Whether this sums up what there is now, and was told all that a person said."""
    return part.end == "completed" and not part.cut and bool(part.text.strip()) and part.moves == state.moves
