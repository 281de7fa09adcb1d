"""Teams of experts in a program of your own: they plan, work at the same time, argue when asked to, and answer once.

    team = ExpertTeam([Expert(ExpertConfig("lead", is_lead=True), gateway), Expert(ExpertConfig("ada"), gateway)])
    result = await TeamOrchestrator(team).execute("Compare three databases for a small shop.")

A gateway is anything with `async chat(messages, model=None, **options)` whose reply has `.content`. The rules are those
of `quarterdeck.engine.team`, which drive the teams of the server as well.
"""

from quarterdeck.teams.config import ExpertConfig
from quarterdeck.teams.expert import Expert
from quarterdeck.teams.gateway import Gateway, ModelGateway
from quarterdeck.teams.handoff import HandoffTransport, InProcessHandoffTransport
from quarterdeck.teams.orchestrator import TeamOrchestrator, TeamResult
from quarterdeck.teams.plan import PhaseStatus, PhaseType, PlanPhase, TeamPlan
from quarterdeck.teams.team import ExpertTeam

__all__ = [
    "Expert",
    "ExpertConfig",
    "ExpertTeam",
    "Gateway",
    "HandoffTransport",
    "InProcessHandoffTransport",
    "ModelGateway",
    "PhaseStatus",
    "PhaseType",
    "PlanPhase",
    "TeamOrchestrator",
    "TeamPlan",
    "TeamResult",
]
