"""What a run remembers: a fold of its events, nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from quarterdeck.engine.run.directive import Directive, read_directive
from quarterdeck.events import run as ev
from quarterdeck.events.base import Event
from quarterdeck.kernel.parts import Message, ToolCall, Usage


@dataclass(frozen=True, slots=True)
class Open:
    """An attempt that has begun and not ended; its text begins behind place `since`."""

    attempt: int
    role: ev.Role
    since: int


@dataclass(frozen=True, slots=True)
class Broken:
    """The latest attempt, which ended without a whole reply and has not been followed by another."""

    attempt: int
    role: ev.Role
    since: int
    code: str
    detail: str
    retryable: bool
    retry_after: float | None = None
    superseded: bool = False


@dataclass(frozen=True, slots=True)
class RunState:
    head: int = 0
    requested: ev.RunRequested | None = None
    epoch: int = 0
    holder: str | None = None
    crashes: int = 0
    stage: ev.Stage | None = None
    attempts: int = 0
    open: Open | None = None
    broken: Broken | None = None
    failures: int = 0
    content: str = ""
    reasoning: str = ""
    directive: Directive | None = None
    planned: bool = False
    calls: tuple[ToolCall, ...] = ()
    exchange: tuple[Message, ...] = ()
    steps: int = 0
    answered: bool = False
    stopped: bool = False
    overdue: bool = False
    outcome: ev.Outcome | None = None
    usage: Usage = field(default_factory=Usage)


def evolve(state: RunState, event: Event) -> RunState:
    """The state after one more event. Total: an unknown event moves the head and changes nothing else."""
    return _evolved(replace(state, head=state.head + event.span), event)


def _evolved(state: RunState, event: Event) -> RunState:  # noqa: C901, PLR0911, PLR0912 - a flat match over a closed set
    match event:
        case ev.RunRequested():
            return replace(state, requested=event)
        case ev.RunClaimed(worker, epoch):
            return replace(_taken_over(state, worker), epoch=epoch, holder=worker)
        case ev.RunReleased():
            return replace(_interrupted(state, "server_stopped", "the server was shut down"), holder=None)
        case ev.StageChanged(stage):
            return replace(state, stage=stage)
        case ev.AttemptStarted(attempt, role):
            return _begun(state, Open(attempt, role, state.head))
        case ev.ContentStreamed(_, texts):
            return replace(state, content=state.content + "".join(texts))
        case ev.ReasoningStreamed(_, texts):
            return replace(state, reasoning=state.reasoning + "".join(texts))
        case ev.AttemptFinished():
            return _replied(
                replace(state, open=None, failures=0, crashes=0, usage=_sum(state.usage, event.usage)), event
            )
        case ev.AttemptBroke():
            return _broke(state, event)
        case ev.AttemptSuperseded():
            broken = state.broken and replace(state.broken, superseded=True)
            return replace(state, broken=broken, content="", reasoning="")
        case ev.ToolFinished(call_id, name, ok, result):
            return _observed(state, call_id, name, result if ok else f"{name} failed: {result}")
        case ev.StopRequested():
            return replace(state, stopped=True)
        case ev.DeadlinePassed():
            return replace(state, overdue=True)
        case ev.RunFinished(outcome):
            return replace(state, outcome=outcome, open=None)
        case _:
            return state


def _begun(state: RunState, begun: Open) -> RunState:
    """Tries are counted role by role; and once the answer has begun, planning is over, well or not."""
    failures = state.failures if state.broken is not None and state.broken.role == begun.role else 0
    planned = state.planned or begun.role == "thinker"
    begins = replace(state, open=begun, broken=None, attempts=begun.attempt, content="", reasoning="")
    return replace(begins, failures=failures, planned=planned)


def _taken_over(state: RunState, worker: str) -> RunState:
    """Claimed from a worker that did not let go. Only where its whole process is gone does that count as a crash:
    a worker's name is that of its process, a dot, and its own."""
    if state.holder is None:
        return state
    if worker.partition(".")[0] == state.holder.partition(".")[0]:
        return _interrupted(state, "interrupted", "the run had to rest")
    return replace(_interrupted(state, "crashed", "the server stopped in the middle"), crashes=state.crashes + 1)


def _interrupted(state: RunState, code: str, detail: str) -> RunState:
    """An attempt whose worker is gone is broken through no fault of its own, and always worth another."""
    if state.open is None:
        return state
    o = state.open
    return replace(state, open=None, broken=Broken(o.attempt, o.role, o.since, code, detail, retryable=True))


def _broke(state: RunState, event: ev.AttemptBroke) -> RunState:
    since = state.open.since if state.open else state.head
    broken = Broken(event.attempt, event.role, since, event.code, event.detail, event.retryable, event.retry_after)
    return replace(state, open=None, broken=broken, failures=state.failures + 1)


def _replied(state: RunState, event: ev.AttemptFinished) -> RunState:
    if event.role == "action":
        directive = read_directive(event.text or "", event.attempt)
        calls = directive.calls if directive else ()
        return replace(state, directive=directive, planned=True, calls=calls, steps=state.steps + 1)
    said = state.content if event.text is None else event.text
    if event.calls:
        turn = Message("assistant", said, calls=event.calls)
        return replace(state, calls=event.calls, exchange=(*state.exchange, turn), steps=state.steps + 1)
    return replace(state, content=said, answered=True)


def _observed(state: RunState, call_id: str, name: str, result: str) -> RunState:
    calls = tuple(call for call in state.calls if call.id != call_id)
    if len(calls) == len(state.calls):
        return state
    seen = Message("tool", f"{name}: {result}" if state.directive else result, call_id=call_id)
    again = state.directive is not None and state.directive.then == "plan" and not calls
    return replace(state, calls=calls, exchange=(*state.exchange, seen), planned=state.planned and not again, crashes=0)


def _sum(one: Usage, other: Usage) -> Usage:
    def plus(a: int | None, b: int | None) -> int | None:
        return b if a is None else a if b is None else a + b

    return Usage(
        plus(one.input_tokens, other.input_tokens),
        plus(one.output_tokens, other.output_tokens),
        plus(one.reasoning_tokens, other.reasoning_tokens),
    )
