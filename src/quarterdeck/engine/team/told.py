"""What happened to a team as watchers are told it: a name and what goes with it. Every change of the plan's picture is
a `plan_update`; `change` says which."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, TypeAlias

from quarterdeck.events import team as ev
from quarterdeck.events.base import Event

Payload: TypeAlias = dict[str, Any]
BEGINS_PHASE = frozenset({"phase", "frame"})


def told(event: Event) -> tuple[str, Payload]:
    match event:
        case ev.PlanChanged() | ev.PlanApproved() | ev.PhaseChanged():
            return "plan_update", _plan(event)
        case ev.PartStarted():
            begun: Payload = {"part": event.part, "work": event.work, "expert": event.expert, "phase": event.phase}
            begun |= {"round": event.round, "run": event.run}
            return (
                ("plan_update", {"change": "started", **begun})
                if event.work in BEGINS_PHASE
                else ("part_started", begun)
            )
        case ev.TeamInterventionHeeded():
            return _receipt(event)
        case ev.TeamRunRequested():
            who = [{"name": expert.name, "about": expert.about, "lead": expert.lead} for expert in event.experts]
            asked = {"team": event.team, "task": event.task, "language": event.language, "experts": who}
            return "team_status", {"stage": "queued", **asked}
        case ev.TeamRunClaimed(_, epoch):
            return "team_status", {"stage": "working", "epoch": epoch}
        case ev.TeamRunFinished(outcome, answer, code, detail):
            return "done", {"status": outcome, "answer": answer, "code": code, "detail": detail}
        case _:
            return event.KIND.removeprefix("team."), asdict(event)


def _plan(event: Event) -> Payload:
    match event:
        case ev.PlanChanged(version, phases, by, why, notes):
            whole = {"change": "plan", "version": version, "by": by, "why": why, "notes": list(notes)}
            inserted = {"debate_inserted": phases[-1].id} if by == "debate" else {}
            return {**whole, "phases": [asdict(phase) for phase in phases], **inserted}
        case ev.PlanApproved(version):
            return {"change": "approved", "version": version}
        case ev.PhaseChanged():
            stands = {"phase": event.phase, "status": event.state, "expert": event.expert}
            return {"change": "phase", **stands, "detail": event.detail}
        case _:
            return {}


def _receipt(event: ev.TeamInterventionHeeded) -> tuple[str, Payload]:
    receipt = asdict(event)
    if event.command == "stop" and event.outcome == "applied":
        return "plan_update", {"change": "stopping", "stopped_by_user": True, **receipt}
    return "intervention_heeded", receipt
