"""What holds for every story a run can have, also for those that make no sense."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from hypothesis import given as for_all
from hypothesis import strategies as st
from runs import directive

from quarterdeck.engine.run import (
    Ask,
    AskPassword,
    CallModel,
    Context,
    Finish,
    Record,
    Rest,
    Retry,
    RunState,
    RunTools,
    Wait,
    Weigh,
    decide,
    evolve,
)
from quarterdeck.engine.run.open_call import OpenCall
from quarterdeck.events import run as ev
from quarterdeck.events import steering, tool
from quarterdeck.events.base import Event, Unknown
from quarterdeck.events.codec import VOCABULARY, decode, encode
from quarterdeck.kernel.parts import Remembered, ToolCall, ToolSpec, Usage

small = st.integers(0, 4)
words = st.text(max_size=6)
texts = st.lists(words, min_size=1, max_size=4).map(tuple)
roles = st.sampled_from(["summary", "recall", "action", "thinker", "memory_policy", "critic"])
idents = st.sampled_from(["1.0", "c1", "c2"])
approvals = st.sampled_from(["a1", "a2"])
wishes = st.sampled_from(["i1", "i2"])
risks = st.sampled_from(["none", "low", "medium", "high", "forbidden"])
effects = st.sampled_from(["pure", "keyed", "probeable", "irreversible"])
decisions = st.sampled_from(["approved", "denied", "expired", "cancelled", "voided", "happened", "again"])
calls = st.lists(st.builds(ToolCall, idents, words, words, risk=risks), max_size=3, unique_by=lambda call: call.id).map(
    tuple
)
memories = st.lists(st.builds(Remembered, words, words), max_size=2).map(tuple)
replies = st.none() | words | st.sampled_from([directive(), directive("a", "b"), directive("a", then="plan")])
counts = st.none() | small
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(ev.RunRequested, words, words, st.sampled_from(["roles", "native"]), max_steps=small),
    st.builds(ev.RunClaimed, st.sampled_from(["p.1", "p.2", "q.1", "r"]), small),
    st.builds(ev.RunReleased, words, small),
    st.builds(ev.StageChanged, st.sampled_from(["planning", "answering"])),
    st.builds(ev.AttemptStarted, small, roles, words),
    st.builds(ev.ReasoningStreamed, small, texts),
    st.builds(ev.ContentStreamed, small, texts),
    st.builds(
        ev.AttemptFinished, small, roles, words, replies, calls=calls, usage=st.builds(Usage, counts, counts, counts)
    ),
    st.builds(ev.AttemptBroke, small, roles, words, words, st.booleans(), st.none() | st.floats(0, 400)),
    st.builds(ev.AttemptSuperseded, small, small, words),
    st.builds(tool.ToolWeighed, idents, risks, words, effects, words, words, words, password=st.booleans()),
    st.builds(tool.ToolStarted, st.builds(ToolCall, idents, words, words), st.none() | approvals),
    st.builds(tool.ToolFinished, idents, words, st.booleans(), words, st.booleans()),
    st.builds(
        tool.ApprovalRequested,
        approvals,
        words,
        idents,
        st.sampled_from(["tool", "answer", "outcome"]),
        words,
        words,
        words,
        words,
        risks,
        words,
        words,
        words,
        expires_at=st.none() | st.floats(0, 9),
    ),
    st.builds(
        tool.ApprovalDecided,
        approvals,
        idents,
        decisions,
        words,
        st.sampled_from(["once", "run", "always"]),
        words,
        st.none() | words,
    ),
    st.builds(tool.PasswordRequested, approvals, idents, words),
    st.builds(tool.PasswordGiven, approvals, idents, words),
    st.builds(steering.InterventionAccepted, wishes, words, st.sampled_from(["steer", "queue", "interrupt"]), words),
    st.builds(steering.InterventionEdited, wishes, words),
    st.builds(steering.InterventionRetracted, wishes),
    st.builds(steering.InterventionApplied, wishes, small),
    st.builds(steering.InterventionExpired, wishes, words),
    st.builds(ev.CondensingBegun, small),
    st.builds(ev.MemoryRecalled, memories),
    st.builds(ev.MemoryUsed, memories),
    st.builds(ev.ActionLoopSkipped, words),
    st.builds(ev.RunWaiting, st.just("waiting_for_approval"), st.none() | st.floats(0, 9)),
    st.builds(ev.StopRequested),
    st.builds(ev.DeadlinePassed),
    st.builds(ev.RunFinished, st.sampled_from(["completed", "stopped", "failed", "quarantined"])),
    st.builds(Unknown, words, st.binary(max_size=4), st.integers(1, 3)),
)
stories = st.lists(events, max_size=25)
contexts = st.builds(
    Context, tools=st.sampled_from([(), (ToolSpec("a", "does a"),)]), slight=st.booleans(), memories=memories
)


def told(story: list[Event], begin: RunState | None = None) -> RunState:
    return reduce(evolve, story, begin or RunState())


@for_all(stories, contexts)
def test_whatever_happened_there_is_one_next_step(story: list[Event], context: Context) -> None:
    intent = decide(told(story), context)
    assert isinstance(intent, CallModel | Weigh | Ask | AskPassword | RunTools | Record | Wait | Retry | Finish | Rest)
    assert decide(told(story), context) == intent
    if isinstance(intent, Retry):
        assert 0 <= intent.delay_s <= 300
        assert 0 <= intent.since <= told(story).head


@for_all(stories, contexts)
def test_after_the_last_event_nothing_follows(story: list[Event], context: Context) -> None:
    state = told([*story, ev.RunFinished("completed")])
    assert decide(state, context) == Rest()


@for_all(stories, contexts)
def test_a_stop_is_always_obeyed_at_once(story: list[Event], context: Context) -> None:
    story = [ev.RunRequested("t", "m"), *(event for event in story if not event.TERMINAL), ev.StopRequested()]
    intent = decide(told(story), context)
    assert isinstance(intent, Finish)
    assert intent.outcome == "stopped"


@for_all(stories)
def test_the_head_counts_every_place(story: list[Event]) -> None:
    assert told(story).head == sum(event.span for event in story)


@for_all(stories)
def test_a_story_read_in_two_parts_or_out_of_the_log_is_the_same_story(story: list[Event]) -> None:
    whole = told(story)
    for cut in range(len(story)):
        assert told(story[cut:], told(story[:cut])) == whole
    replayed = [
        event if isinstance(event, Unknown) else decode(event.KIND, event.VERSION, encode(event)) for event in story
    ]
    assert told(replayed) == whole


@for_all(stories, st.data())
def test_deltas_that_came_singly_or_merged_are_the_same_text(story: list[Event], data: st.DataObject) -> None:
    """A commit takes in what has gathered: how many deltas shared one must not matter to anybody."""
    single: list[Event] = []
    for event in story:
        if isinstance(event, ev.ContentStreamed | ev.ReasoningStreamed):
            single += [type(event)(event.attempt, (text,)) for text in event.texts]
        else:
            single.append(event)
    merged: list[Event] = []
    for event in single:
        last = merged[-1] if merged else None
        mergeable = isinstance(event, ev.ContentStreamed | ev.ReasoningStreamed) and type(last) is type(event)
        if mergeable and last.attempt == event.attempt and data.draw(st.booleans()):  # type: ignore[union-attr]
            merged[-1] = type(event)(event.attempt, (*last.texts, *event.texts))  # type: ignore[union-attr,call-arg]
        else:
            merged.append(event)
    assert told(merged) == told(single) == told(story)


def test_every_kind_of_event_of_a_run_takes_part_here() -> None:
    """A new event must be added above, or say here why not."""
    here = {tool.ToolSaid, ev.SkillActivated}  # say nothing that changes what follows
    drawn = {
        ev.RunRequested, ev.RunClaimed, ev.RunReleased, ev.StageChanged, ev.AttemptStarted, ev.ReasoningStreamed,
        ev.ContentStreamed, ev.AttemptFinished, ev.AttemptBroke, ev.AttemptSuperseded, tool.ToolWeighed,
        tool.ToolStarted, tool.ToolFinished, ev.StopRequested, ev.DeadlinePassed, ev.RunFinished, ev.MemoryRecalled,
        ev.MemoryUsed, ev.ActionLoopSkipped, ev.RunWaiting, ev.CondensingBegun,
    }  # fmt: skip
    assert {kind for kind in VOCABULARY if kind.KIND.startswith("run.")} == drawn | here


def asked_about(c: OpenCall) -> tool.ApprovalRequested:
    kind: tool.AskedFor = "outcome" if c.again else "tool"
    return tool.ApprovalRequested(f"a-{c.call.id}", "r", c.call.id, kind, "", "", "", "", "medium", "", "", "")


def answered(state: RunState, data: st.DataObject) -> list[Event]:
    """What people may do about all that is waited for."""
    said: list[Event] = []
    for c in state.calls:
        if c.lock == "asked":
            said.append(tool.PasswordGiven(c.approval or "", c.call.id, "p"))
        elif c.approval is not None and c.decision is None:
            choices = ["happened", "again", "denied"] if c.asked == "outcome" else ["approved", "denied", "expired"]
            decision = data.draw(st.sampled_from(choices))
            said.append(tool.ApprovalDecided(c.approval, c.call.id, decision, "p"))
    return said


def outcome_of(intent: object, state: RunState, data: st.DataObject) -> list[Event]:
    """What the world may make of an intent; a worker may die or let go at any moment."""
    fates: list[list[Event]] = [[ev.RunReleased("p.1", 1), ev.RunClaimed("p.2", 2)]]
    if isinstance(intent, CallModel):
        begun: list[Event] = [ev.AttemptStarted(intent.attempt, intent.role, "m")]
        fates = [[*begun, *fates[0]]]
        fates += [[*begun, ev.ContentStreamed(intent.attempt, ("half ",)), ev.RunClaimed("q.1", 2)]]
        broken = st.builds(ev.AttemptBroke, st.just(intent.attempt), st.just(intent.role), words, words, st.booleans())
        fates += [[*begun, data.draw(broken)]]
        said = ev.AttemptFinished(intent.attempt, intent.role, "stop", data.draw(replies), calls=data.draw(calls))
        fates += [[*begun, ev.ContentStreamed(intent.attempt, ("all",)), said]]
    elif isinstance(intent, RunTools):
        begun = [tool.ToolStarted(c.call, c.approval) for c in intent.calls]
        fates += [[*begun, *(tool.ToolFinished(c.call.id, c.call.name, ok=True, result="seen") for c in intent.calls)]]
        fates += [[*begun, ev.RunClaimed("q.1", 2)]]
    elif isinstance(intent, Weigh):
        weighed = st.builds(tool.ToolWeighed, words, risks, words, effects, words, words, words, password=st.booleans())
        fates += [[replace(data.draw(weighed), call_id=call.id) for call in intent.calls]]
    elif isinstance(intent, Ask):
        fates += [[asked_about(c) for c in intent.calls]]
    elif isinstance(intent, AskPassword):
        fates += [[tool.PasswordRequested(c.approval or "", c.call.id, "") for c in intent.calls]]
    elif isinstance(intent, Record):
        fates = [list(intent.events)]
    elif isinstance(intent, Wait):
        fates = [[ev.RunWaiting(intent.status), *answered(state, data)]]
    elif isinstance(intent, Retry):
        fates += [[ev.AttemptSuperseded(intent.attempt, intent.since, intent.reason)]]
    return data.draw(st.sampled_from(fates))


@for_all(contexts, st.sampled_from(["roles", "native"]), st.data())
def test_whatever_the_world_does_a_run_moves_and_ends_once(
    context: Context, loop: ev.Loop, data: st.DataObject
) -> None:
    state = told([ev.RunRequested("t", "read a.txt", loop, max_steps=4), ev.RunClaimed("p.1", 1)])
    for _ in range(60):
        intent = decide(state, context)
        assert not isinstance(intent, Rest), "a run that has not ended always has something to do"
        if isinstance(intent, Finish):
            break
        state = told(outcome_of(intent, state, data), state)
    else:
        intent = decide(told([ev.StopRequested()], state), context)  # an unlucky world; a person may always end it
    assert isinstance(intent, Finish)
    assert decide(told([ev.RunFinished(intent.outcome, intent.answer)], state), context) == Rest()
