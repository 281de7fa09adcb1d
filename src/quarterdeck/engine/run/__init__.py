"""One run: evolve(state, event) -> state, decide(state, context) -> intent."""

from quarterdeck.engine.run.context import Context
from quarterdeck.engine.run.decide import decide
from quarterdeck.engine.run.intents import (
    Ask,
    AskPassword,
    CallModel,
    Finish,
    Intent,
    Record,
    Rest,
    Retry,
    RunTools,
    Wait,
    Weigh,
)
from quarterdeck.engine.run.state import RunState, evolve

__all__ = [
    "Ask",
    "AskPassword",
    "CallModel",
    "Context",
    "Finish",
    "Intent",
    "Record",
    "Rest",
    "Retry",
    "RunState",
    "RunTools",
    "Wait",
    "Weigh",
    "decide",
    "evolve",
]
