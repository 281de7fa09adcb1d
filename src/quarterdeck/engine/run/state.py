"""What a run remembers: a fold of its events, nothing else."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

from quarterdeck.engine.run.directive import Directive, read_directive
from quarterdeck.engine.run.limits import MOST_MALFORMED, MOST_REPEATS
from quarterdeck.engine.run.open_call import (
    NONE_GRANTED,
    Calls,
    Grant,
    Grants,
    evolve_calls,
    grant_of,
    left_behind,
    opened,
)
from quarterdeck.engine.run.recall import Recollection, read_recollection
from quarterdeck.engine.run.wishes import Wishes, evolve_wishes
from quarterdeck.events import run as ev
from quarterdeck.events import steering, tool
from quarterdeck.events.base import Event
from quarterdeck.kernel.parts import Message, Remembered, Usage

# What these tools tell comes from the system, from us, or from the person who asks; nobody else had a hand in it.
OUR_OWN = frozenset({"question", "memory_search", "skill_read", "system_info", "package_check"})
LONGEST_TOLD = 500
LONGEST_SUMMARY = 8_000


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


class RunState(NamedTuple):
    """A tuple, because a fold is little else than copies with another field, and tuples copy in C."""

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
    again: bool = False  # a call of this plan made no sense, so that another plan is owed
    calls: Calls = ()
    grants: Grants = NONE_GRANTED  # what people allowed for the rest of this run
    exchange: tuple[Message, ...] = ()
    seen: tuple[str, ...] = ()
    malformed: int = 0
    stuck: bool = False  # the tools lead nowhere: what is left is to answer
    steps: int = 0
    answered: bool = False
    kept: str = ""  # answers before a person stepped in
    wishes: Wishes = ()
    recalled: tuple[Remembered, ...] | None = None
    recollection: Recollection | None = None
    noted: frozenset[str] = frozenset()
    condensing: int = 0  # the place up to which a summary is being made
    digest: tuple[int, str] | None = None  # the latest summary that this run made, and up to which place
    digests: int = 0
    settled: bool = False  # the history is as it will be told
    left_s: float | None = None
    tainted: bool = False  # it has read what anybody may have written
    stopped: bool = False
    overdue: bool = False
    outcome: ev.Outcome | None = None
    usage: Usage = Usage()

    @property
    def answer(self) -> str:
        """All that stands of what was said."""
        return "\n\n".join(text for text in (self.kept, self.content) if text)


def replace(state: RunState, **changes: Any) -> RunState:
    return state._replace(**changes)


def evolve(state: RunState, event: Event) -> RunState:
    """The state after one more event. Total: an unknown event moves the head and changes nothing else."""
    return _evolved(replace(state, head=state.head + event.span), event)


def _evolved(state: RunState, event: Event) -> RunState:  # noqa: C901, PLR0911, PLR0912 - a flat match over a closed set
    match event:
        case ev.RunRequested():
            return replace(state, requested=event)
        case ev.RunClaimed(worker, epoch):
            return replace(_taken_over(state, worker), epoch=epoch, holder=worker, calls=left_behind(state.calls))
        case ev.RunReleased():
            released = _interrupted(state, "server_stopped", "the server was shut down")
            return replace(released, holder=None, calls=left_behind(state.calls))
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
            broken = state.broken and dataclasses.replace(state.broken, superseded=True)
            return replace(state, broken=broken, content="", reasoning="")
        case tool.ToolFinished():
            return _observed(state, event)
        case tool.ApprovalDecided():
            return _decided(state, event)
        case ev.CondensingBegun(through):
            return replace(state, condensing=through)
        case ev.MemoryRecalled(memories):
            return replace(state, recalled=memories)
        case ev.MemoryUsed() | ev.SkillActivated():
            return replace(state, noted=state.noted | {event.KIND})
        case ev.ActionLoopSkipped():
            return replace(state, noted=state.noted | {event.KIND}, planned=True)
        case ev.RunWaiting(_, left_s):
            return replace(state, holder=None, stage=None, left_s=left_s)
        case steering.InterventionApplied():
            return _heeded(state, event)
        case ev.StopRequested():
            return replace(state, stopped=True)
        case ev.DeadlinePassed():
            return replace(state, overdue=True)
        case ev.RunFinished(outcome):
            return replace(state, outcome=outcome, open=None)
        case _:
            return replace(state, calls=evolve_calls(state.calls, event), wishes=evolve_wishes(state.wishes, event))


def _begun(state: RunState, begun: Open) -> RunState:
    """Tries are counted role by role; and once the answer has begun, planning is over, well or not."""
    failures = state.failures if state.broken is not None and state.broken.role == begun.role else 0
    planned = state.planned or begun.role == "thinker"
    state = replace(state, settled=state.settled or begun.role != "summary")
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
    if event.role == "summary":
        text = (event.text or "").strip()[:LONGEST_SUMMARY]
        made = {"digest": (state.condensing, text), "digests": state.digests + 1} if text else {"settled": True}
        return replace(state, **made)
    if event.role == "recall":
        return replace(state, recollection=read_recollection(event.text or "", state.recalled or ()))
    if event.role == "action":
        directive = read_directive(event.text or "", event.attempt)
        calls = opened(directive.calls) if directive else ()
        return replace(state, directive=directive, planned=True, again=False, calls=calls, steps=state.steps + 1)
    said = state.content if event.text is None else event.text
    if event.calls:
        turn = Message("assistant", said, calls=event.calls)
        exchange = (*state.exchange, turn)
        return replace(state, calls=opened(event.calls), exchange=exchange, steps=state.steps + 1)
    return replace(state, content=said, answered=True)


def _observed(state: RunState, event: tool.ToolFinished) -> RunState:
    c = next((c for c in state.calls if c.call.id == event.call_id), None)
    if c is None:
        return state
    text = event.result if event.ok else f"failed: {event.result}"
    this = digest_of(event.name, c.call.arguments, text)
    times = state.seen.count(this) + 1
    if times > 1:
        text += "\n(This very call came to the same before. Do something else, or answer.)"
    if state.directive is not None:  # the model does not see its calls beside their results, as it does in its own form
        text = f"{event.name} {_brief(c.call.arguments)}: {text}"
    malformed = state.malformed + 1 if event.malformed else 0
    stuck = state.stuck or times >= MOST_REPEATS or malformed >= MOST_MALFORMED
    observed = replace(
        state,
        calls=tuple(c for c in state.calls if c.call.id != event.call_id),
        exchange=(*state.exchange, Message("tool", text, call_id=event.call_id)),
        seen=(*state.seen, this),
        malformed=malformed,
        stuck=stuck,
        again=state.again or event.malformed,
        tainted=state.tainted or (c.weighed is not None and c.weighed.action not in OUR_OWN),
        crashes=0,
    )
    return observed if observed.calls else _planned_out(observed)


def _planned_out(state: RunState) -> RunState:
    """All calls of a plan have come to something; whether another plan follows."""
    if state.directive is None:
        return state
    more = state.directive.then == "plan" or state.again
    return replace(state, planned=state.planned and not (more and not state.stuck))


def _brief(arguments: str) -> str:
    return arguments if len(arguments) <= LONGEST_TOLD else arguments[:LONGEST_TOLD] + "…"


def digest_of(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _decided(state: RunState, event: tool.ApprovalDecided) -> RunState:
    calls = evolve_calls(state.calls, event)
    if event.decision != "approved" or event.reach == "once":
        return replace(state, calls=calls)
    given = Grant(event.approval, event.by)
    granted = {grant_of(c): given for c in state.calls if c.approval == event.approval and c.weighed is not None}
    return replace(state, calls=calls, grants={**state.grants, **granted})


def _heeded(state: RunState, event: steering.InterventionApplied) -> RunState:
    """A person's word becomes a turn of its own; what was said before stays as it is."""
    wish = next((wish for wish in state.wishes if wish.id == event.intervention), None)
    left = replace(state, wishes=evolve_wishes(state.wishes, event))
    if wish is None or wish.mode == "queue":
        return left
    cut = state.content if state.open is not None or state.answered else ""
    said = (Message("assistant", cut),) if cut else ()
    kept = state.answer if cut else state.kept
    exchange = (*state.exchange, *said, Message("user", wish.text))
    fresh = replace(left, exchange=exchange, kept=kept, content="", reasoning="", open=None, broken=None)
    return replace(fresh, answered=False, planned=False, stuck=False, malformed=0, seen=())


def _sum(one: Usage, other: Usage) -> Usage:
    def plus(a: int | None, b: int | None) -> int | None:
        return b if a is None else a if b is None else a + b

    return Usage(
        plus(one.input_tokens, other.input_tokens),
        plus(one.output_tokens, other.output_tokens),
        plus(one.reasoning_tokens, other.reasoning_tokens),
    )
