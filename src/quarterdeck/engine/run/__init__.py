"""One run: evolve(state, event) -> state, decide(state, context) -> intent."""

from quarterdeck.engine.run.context import Context
from quarterdeck.engine.run.decide import decide
from quarterdeck.engine.run.intents import CallModel, Finish, Intent, Rest, Retry, RunTools
from quarterdeck.engine.run.state import RunState, evolve

__all__ = ["CallModel", "Context", "Finish", "Intent", "Rest", "Retry", "RunState", "RunTools", "decide", "evolve"]
