"""The agent loop without the loop: given what happened, what next?"""

from __future__ import annotations

from quarterdeck.engine.run.context import Context
from quarterdeck.engine.run.intents import CallModel, Finish, Intent, Rest, Retry, RunTools
from quarterdeck.engine.run.limits import MAX_CRASHES, MAX_SIDE_TRIES, delay_after, worth_another
from quarterdeck.engine.run.prompt import action_messages, names_something, thinker_messages
from quarterdeck.engine.run.state import Broken, RunState


def decide(state: RunState, context: Context) -> Intent:
    if state.requested is None or state.outcome is not None:
        return Rest()
    if (end := _ended_from_outside(state)) is not None:
        return end
    if state.broken is not None and (then := _after_failure(state, state.broken)) is not None:
        return then
    if state.calls:
        return RunTools(state.calls)
    if state.answered:
        return Finish("completed", state.content)
    if state.steps >= state.requested.max_steps:
        return Finish("failed", state.content, "step_limit", f"No answer after {state.steps} steps.")
    return _next_call(state, context)


def suspect(state: RunState) -> bool:
    """Whether the next crash would be the run's last, so that it should be known to be its own."""
    return state.crashes == MAX_CRASHES - 1


def _ended_from_outside(state: RunState) -> Finish | None:
    if state.stopped:
        return Finish("stopped", state.content, "stopped", "The run was stopped; this is what there was.")
    if state.overdue:
        return Finish("failed", state.content, "deadline_passed", "The run's deadline passed before it was done.")
    if state.crashes >= MAX_CRASHES:
        detail = f"The server stopped {state.crashes} times in a row while working on this run, so it is left alone."
        return Finish("quarantined", state.content, "quarantined", detail)
    return None


def _after_failure(state: RunState, broken: Broken) -> Intent | None:
    """Try again, or end; None where the run can do without this role, or the text was taken back already."""
    if broken.superseded:
        return None
    tries = {} if broken.role == "thinker" else {"tries": MAX_SIDE_TRIES}
    again = worth_another(broken.code, state.failures, retryable=broken.retryable, asked=broken.retry_after, **tries)
    if again:
        delay = 0.0 if state.failures == 0 else delay_after(state.failures, broken.retry_after)
        return Retry(broken.attempt, broken.since, f"{broken.code}: {broken.detail}", delay)
    if broken.role == "thinker":
        return Finish("failed", state.content, broken.code, broken.detail)
    return None


def _next_call(state: RunState, context: Context) -> CallModel:
    assert state.requested is not None
    number = state.attempts + 1
    if _should_plan(state, context):
        return CallModel(number, "action", "planning", action_messages(state, context))
    tools = context.tools if state.requested.loop == "native" else ()
    messages = thinker_messages(state, context)
    return CallModel(number, "thinker", "answering", messages, tools, state.requested.reasoning)


def _should_plan(state: RunState, context: Context) -> bool:
    """Whether the action role is asked first: there are tools, and it has neither spoken nor failed for good."""
    assert state.requested is not None
    if state.requested.loop != "roles" or not context.tools or state.planned:
        return False
    if state.broken is not None and state.broken.role == "action" and not state.broken.superseded:
        return False
    return not context.slight or names_something(state.requested.message)
