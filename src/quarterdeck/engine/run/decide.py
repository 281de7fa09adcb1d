"""The agent loop without the loop: given what happened, what next?"""

from __future__ import annotations

from quarterdeck.engine.run.calls import next_for
from quarterdeck.engine.run.context import Context
from quarterdeck.engine.run.digest import condense_messages, piece
from quarterdeck.engine.run.directive import form
from quarterdeck.engine.run.intents import CallModel, Finish, Intent, Record, Rest, Retry
from quarterdeck.engine.run.limits import MAX_CRASHES, MAX_SIDE_TRIES, delay_after, worth_another
from quarterdeck.engine.run.prompt import action_messages, names_something, recall_messages, thinker_messages
from quarterdeck.engine.run.state import Broken, RunState
from quarterdeck.engine.run.wishes import Wish, first
from quarterdeck.events.base import Event
from quarterdeck.events.run import ActionLoopSkipped, CondensingBegun, MemoryRecalled, MemoryUsed
from quarterdeck.events.steering import InterventionApplied, InterventionExpired
from quarterdeck.events.tool import ApprovalDecided, ToolFinished
from quarterdeck.kernel.parts import Remembered

SUFFICIENT = "What is remembered is enough to answer."
UNNAMED = "Something is remembered, and nothing is named that would have to be looked up or done."
SYSTEM = "system"


def decide(state: RunState, context: Context) -> Intent:  # noqa: PLR0911 - the order of these lines is the whole rule
    if state.requested is None or state.outcome is not None:
        return Rest()
    if (end := _ended_from_outside(state)) is not None:
        return end
    if (cut := first(state.wishes, "interrupt")) is not None:
        return _cut_in(state, cut)
    if state.broken is not None and (then := _after_failure(state, state.broken)) is not None:
        return then
    if state.calls:
        return next_for(state.calls, state.grants)
    if (wish := first(state.wishes, "steer")) is not None:
        return Record((_applied(state, wish),))
    if state.answered:
        return Finish("completed", state.answer)
    if state.steps >= state.requested.max_steps:
        return Finish("failed", state.answer, "step_limit", f"No answer after {state.steps} steps.")
    return _next_call(state, context)


def suspect(state: RunState) -> bool:
    """Whether the next crash would be the run's last, so that it should be known to be its own."""
    return state.crashes == MAX_CRASHES - 1


def loose_ends(state: RunState, why: str) -> tuple[Event, ...]:
    """What a run that ends must not leave open: people are not asked any more, and what they said is answered."""
    asked = (c for c in state.calls if c.approval is not None and c.decision is None)
    cancelled = (ApprovalDecided(c.approval or "", c.call.id, "cancelled", SYSTEM, words=why) for c in asked)
    expired = (InterventionExpired(wish.id, why) for wish in state.wishes)
    return (*cancelled, *expired)


def _ended_from_outside(state: RunState) -> Finish | None:
    if state.stopped:
        return Finish("stopped", state.answer, "stopped", "The run was stopped; this is what there was.")
    if state.overdue:
        return Finish("failed", state.answer, "deadline_passed", "The run's deadline passed before it was done.")
    if state.crashes >= MAX_CRASHES:
        detail = f"The server stopped {state.crashes} times in a row while working on this run, so it is left alone."
        return Finish("quarantined", state.answer, "quarantined", detail)
    return None


def _cut_in(state: RunState, wish: Wish) -> Record:
    """Whatever was going on is over: the model hears of each call that it will not be done, and then of the wish."""
    why = "a person stepped in"
    asked = (c for c in state.calls if c.approval is not None and c.decision is None)
    cancelled = (ApprovalDecided(c.approval or "", c.call.id, "cancelled", SYSTEM, words=why) for c in asked)
    ended = (ToolFinished(c.call.id, c.call.name, ok=False, result=f"broken off: {why}.") for c in state.calls)
    return Record((*cancelled, *ended, _applied(state, wish)))


def _applied(state: RunState, wish: Wish) -> InterventionApplied:
    return InterventionApplied(wish.id, state.attempts + 1)


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
        return Finish("failed", state.answer, broken.code, broken.detail)
    return None


def _next_call(state: RunState, context: Context) -> CallModel:
    assert state.requested is not None
    number = state.attempts + 1
    if (older := piece(state, context)) is not None:
        begun = (CondensingBegun(older.through),)
        return CallModel(number, "summary", "summarising", condense_messages(state, context, older), before=begun)
    if _should_recall(state, context):
        offered = context.memories if state.recalled is None else state.recalled
        recalled = (MemoryRecalled(offered),) if state.recalled is None else ()
        return CallModel(number, "recall", "recalling", recall_messages(state, offered), before=recalled)
    memories = _memories(state, context)
    before = _notes(state, context, memories)
    if _should_plan(state, context):
        skill = () if context.skill is None or context.skill.KIND in state.noted else (context.skill,)
        messages = action_messages(state, context, memories)
        held_to = form(context.tools, slight=context.slight)
        return CallModel(number, "action", "planning", messages, before=(*before, *skill), form=held_to)
    tools = context.tools if state.requested.loop == "native" and not state.stuck else ()
    messages = thinker_messages(state, context, memories)
    persona, reasoning = state.requested.persona, state.requested.reasoning
    temperature = None if persona is None else persona.temperature
    return CallModel(number, "thinker", "answering", messages, tools, reasoning, temperature, before)


def _should_recall(state: RunState, context: Context) -> bool:
    """The role is asked only when memory offers something, once, and only where a model can weigh it."""
    assert state.requested is not None
    if state.requested.loop != "roles" or context.slight or state.planned:
        return False
    if state.recalled is None:
        return bool(context.memories)
    return state.recollection is None and _taken_back(state, "recall")


def _taken_back(state: RunState, role: str) -> bool:
    return state.broken is not None and state.broken.role == role and state.broken.superseded


def _memories(state: RunState, context: Context) -> tuple[Remembered, ...]:
    if state.recollection is not None:
        return state.recollection.memories
    return context.memories if state.recalled is None else state.recalled


def _notes(state: RunState, context: Context, memories: tuple[Remembered, ...]) -> tuple[Event, ...]:
    """What is to be told of memory, once."""
    if not memories:
        return ()
    notes: list[Event] = [] if MemoryUsed.KIND in state.noted else [MemoryUsed(memories)]
    if ActionLoopSkipped.KIND not in state.noted and (why := _why_not_act(state, context)) is not None:
        notes.append(ActionLoopSkipped(why))
    return tuple(notes)


def _why_not_act(state: RunState, context: Context) -> str | None:
    """Why what is remembered is answered from at once, where it is."""
    assert state.requested is not None
    if state.recollection is not None and state.recollection.sufficient:
        return SUFFICIENT
    if state.requested.loop == "roles" and context.slight and not names_something(state.requested.message):
        return UNNAMED
    return None


def _should_plan(state: RunState, context: Context) -> bool:
    """Whether the action role is asked first: there are tools, and it has neither spoken nor failed for good."""
    assert state.requested is not None
    if state.requested.loop != "roles" or not context.tools or state.planned or state.stuck:
        return False
    if state.recollection is not None and state.recollection.sufficient and not state.exchange:
        return False
    if state.broken is not None and state.broken.role == "action" and not state.broken.superseded:
        return False
    return not context.slight or names_something(state.requested.message)
