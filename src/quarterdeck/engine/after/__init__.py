"""What happens after a run: evolve(state, event) -> state, decide(state) -> intent."""

from quarterdeck.engine.after.decide import AskRole, Close, Intent, Skip, Wait, decide
from quarterdeck.engine.after.state import AfterState, evolve

__all__ = ["AfterState", "AskRole", "Close", "Intent", "Skip", "Wait", "decide", "evolve"]
