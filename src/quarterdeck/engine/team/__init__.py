"""A team's work, as rules: pure functions from what happened to what comes next."""

from quarterdeck.engine.team.commands import Command, parse
from quarterdeck.engine.team.decide import decide
from quarterdeck.engine.team.heed import heed
from quarterdeck.engine.team.intents import Begin, Cut, Finish, Intent, Record, Rest, Wait
from quarterdeck.engine.team.language import language_of
from quarterdeck.engine.team.plan import Phase, faults
from quarterdeck.engine.team.prompts import prompt, report
from quarterdeck.engine.team.state import Part, Pending, TeamState, evolve
from quarterdeck.engine.team.styles import MAX_DEBATES, STYLES

__all__ = [
    "MAX_DEBATES",
    "STYLES",
    "Begin",
    "Command",
    "Cut",
    "Finish",
    "Intent",
    "Part",
    "Pending",
    "Phase",
    "Record",
    "Rest",
    "TeamState",
    "Wait",
    "decide",
    "evolve",
    "faults",
    "heed",
    "language_of",
    "parse",
    "prompt",
    "report",
]
