"""What a person's words do to a team's run: one intervention in, what follows from it out, and always a receipt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from quarterdeck.engine.team.commands import Command, parse
from quarterdeck.engine.team.debate import rounds_of, who_debates
from quarterdeck.engine.team.plan import Phase, free_id, ready, with_debate
from quarterdeck.engine.team.reading import LONGEST_TOPIC
from quarterdeck.engine.team.state import Pending, TeamState
from quarterdeck.engine.team.styles import MAX_DEBATES, MAX_ROUNDS
from quarterdeck.events.base import Event
from quarterdeck.events.team import (
    PhaseChanged,
    PlanApproved,
    PlanChanged,
    Planned,
    TeamInterventionHeeded,
)


def heed(state: TeamState, said: Pending, most_debates: int = MAX_DEBATES) -> tuple[Event, ...]:
    command = parse(said.text, state.names)
    if state.stops and command.word not in {"stop", "guidance", "member"}:
        return _ignored(said, command, "stopping", "The run is being stopped.")
    if command.word == "debate":
        return _debate(state, said, command, most_debates)
    return _RULES[command.word](state, said, command)


def _applied(said: Pending, command: Command, detail: str, **more: str | None) -> TeamInterventionHeeded:
    return TeamInterventionHeeded(said.id, command.word, "applied", "", detail, **more)  # type: ignore[arg-type]


def _ignored(said: Pending, command: Command, code: str, detail: str) -> tuple[Event, ...]:
    return (TeamInterventionHeeded(said.id, command.word, "ignored", code, detail),)


def _stop(state: TeamState, said: Pending, command: Command) -> tuple[Event, ...]:
    detail = "It ends now, without another word." if state.stops else "Work ends; what is there is summed up."
    return (_applied(said, command, detail),)


def _guidance(state: TeamState, said: Pending, command: Command) -> tuple[Event, ...]:
    if not command.words:
        return _ignored(said, command, "no_words", "There are no words in it.")
    to = command.who[0] if command.who else None
    running = [part.phase for part in state.open_parts if part.work == "phase" and to in {None, part.expert}]
    where = f"running now: {', '.join(filter(None, running))}" if any(running) else "from the next prompt on"
    detail = f"For {to or 'everybody'}, {where}."
    return (_applied(said, command, detail, words=command.words, to=to, phase=running[0] if running else None),)


def _pause(state: TeamState, said: Pending, command: Command) -> tuple[Event, ...]:
    if state.paused:
        return _ignored(said, command, "paused_already", "The run is paused already.")
    return (_applied(said, command, "Nothing new begins; what runs goes on to its end."),)


def _resume(state: TeamState, said: Pending, command: Command) -> tuple[Event, ...]:
    if not state.paused:
        return _ignored(said, command, "not_paused", "The run is not paused.")
    return (_applied(said, command, "Work goes on."),)


def _approve(state: TeamState, said: Pending, command: Command) -> tuple[Event, ...]:
    if not state.version or state.approved:
        return _ignored(said, command, "nothing_to_approve", "No plan waits for approval.")
    return (_applied(said, command, f"Plan {state.version} is approved."), PlanApproved(state.version))


def _replan(state: TeamState, said: Pending, command: Command) -> tuple[Event, ...]:
    detail = "The lead makes a new plan of what has not begun." if state.version else "The plan is being made."
    return (_applied(said, command, detail, words=command.words),)


def _skip(state: TeamState, said: Pending, command: Command) -> tuple[Event, ...]:
    phase = _found(state, command.words, [p for p in state.phases if p.state == "running"] or list(ready(state.phases)))
    if phase is None:
        return _ignored(said, command, *_which(state, command.words))
    if phase.state not in {"pending", "running", "failed"}:
        return _ignored(said, command, "ended_already", f"Phase {phase.id} is {phase.state}.")
    skipped = PhaseChanged(phase.id, "skipped", phase.expert, phase.result, "skipped by a person")
    return (_applied(said, command, f"Phase {phase.id} is skipped.", phase=phase.id), skipped)


def _retry(state: TeamState, said: Pending, command: Command) -> tuple[Event, ...]:
    phase = _found(state, command.words, [p for p in state.phases if p.state == "failed"])
    if phase is None:
        return _ignored(said, command, *_which(state, command.words))
    if phase.state == "running":
        return _ignored(said, command, "running", f"Phase {phase.id} is running.")
    if phase.state == "pending":
        return _ignored(said, command, "not_begun", f"Phase {phase.id} has not begun yet.")
    again = PhaseChanged(phase.id, "pending", phase.expert, "", "to be done again")
    return (_applied(said, command, f"Phase {phase.id} is done again.", phase=phase.id), again)


def _debate(state: TeamState, said: Pending, command: Command, most: int) -> tuple[Event, ...]:
    topic = command.words[:LONGEST_TOPIC]
    if not topic:
        return _ignored(said, command, "no_topic", "Say what is to be debated: /debate <topic>.")
    if state.debates + len(state.wanted) >= most:
        return _ignored(said, command, "too_many_debates", f"There have been {most} debates; that is the most.")
    if not state.members:
        return _ignored(said, command, "no_members", "There is nobody in the team besides the lead.")
    if not state.version:
        later = "It opens when the plan is there."
        return (_applied(said, command, later, words=topic, to="\n".join(command.who) or None),)
    lead = state.lead.name
    opened = Planned(free_id(state.phases, "debate"), topic[:120], lead, topic, (), "debate", topic, command.who)
    planned = with_debate(state.phases, opened)
    changed = PlanChanged(state.version + 1, planned, "debate", f"a debate was asked for: {topic[:200]}")
    parked = [each.id for each in planned if opened.id in each.depends_on]
    waits = f"; {', '.join(parked)} wait for the verdict" if parked else ""
    detail = f"{', '.join(who_debates(state, Phase(opened)))} debate{waits}."
    return (_applied(said, command, detail, phase=opened.id), changed)


def _extend(state: TeamState, said: Pending, command: Command) -> tuple[Event, ...]:
    phase = _running_debate(state, command.words)
    if phase is None:
        return _ignored(said, command, "no_debate", "No debate is going on.")
    if rounds_of(state, phase) >= MAX_ROUNDS:
        return _ignored(said, command, "too_many_rounds", f"A debate has at most {MAX_ROUNDS} rounds.")
    return (_applied(said, command, f"{phase.id} has one more round.", phase=phase.id),)


def _close(state: TeamState, said: Pending, command: Command) -> tuple[Event, ...]:
    phase = _running_debate(state, command.words)
    if phase is None:
        return _ignored(said, command, "no_debate", "No debate is going on.")
    return (_applied(said, command, f"{phase.id} goes to its verdict after this turn.", phase=phase.id),)


def _running_debate(state: TeamState, words: str) -> Phase | None:
    running = [phase for phase in state.phases if phase.is_debate and phase.state == "running"]
    named = [phase for phase in running if words.casefold() in {phase.id.casefold(), ""}]
    return named[0] if named else None


def _found(state: TeamState, words: str, else_among: list[Phase]) -> Phase | None:
    """The phase that is meant: by its id, its name, or the only one it can be where none was named."""
    asked = " ".join(words.split()).casefold()
    if not asked:
        return else_among[0] if len(else_among) == 1 else None
    by_id = [phase for phase in state.phases if phase.id.casefold() == asked]
    by_name = [phase for phase in state.phases if " ".join(phase.planned.name.split()).casefold() == asked]
    found = by_id or by_name
    return found[0] if len(found) == 1 else None


def _which(state: TeamState, words: str) -> tuple[str, str]:
    listed = ", ".join(phase.id for phase in state.phases) or "none yet"
    if words:
        return "no_such_phase", f"There is no phase {words[:80]!r}; there are: {listed}."
    return "which_phase", f"Say which phase; there are: {listed}."


_RULES: Mapping[str, Callable[[TeamState, Pending, Command], tuple[Event, ...]]] = {
    "stop": _stop,
    "guidance": _guidance,
    "member": _guidance,
    "pause": _pause,
    "resume": _resume,
    "approve": _approve,
    "replan": _replan,
    "skip": _skip,
    "retry": _retry,
    "extend": _extend,
    "close": _close,
}


def with_wanted(state: TeamState, planned: tuple[Planned, ...]) -> tuple[Planned, ...]:
    """A first plan with the debates that were asked for before there was one."""
    for each in state.wanted:
        phases = tuple(map(Phase, planned))
        planned = with_debate(phases, replace(each, id=free_id(phases, "debate")))
    return planned
