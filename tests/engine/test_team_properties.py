"""Whatever is planned, said and broken, a team's run ends, once, and loses nothing that was finished."""

from __future__ import annotations

import contextlib
import json
import string

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from teamplay import Game, asked, done, failed, plan_text, planned

from quarterdeck.engine.team import MAX_DEBATES
from quarterdeck.engine.team.plan import faults, in_circles
from quarterdeck.engine.team.reading import NoPlan, read_plan, read_verdict
from quarterdeck.events import team as ev

NAMES = ("lead", "ada", "bob", "cy")
IDS = ("p1", "p2", "p3", "p4", "p5", "p6")
WORDS = st.sampled_from(
    [
        "/stop",
        "停止",
        "/debate tabs or spaces",
        "/debate 前端框架选型 @ada",
        "/debate",
        "/skip",
        "/skip p1",
        "/skip debate1",
        "/retry p1",
        "/retry p2",
        "/retry debate1",
        "/pause",
        "/resume",
        "пауза",
        "@ada look closer",
        "@nobody hello",
        "please mind the costs",
        "/replan do less",
        "/extend",
        "/close",
        "/approve",
        "/unknown thing",
        "",
    ]
)
HOSTILE = [
    "/stop",
    "停止",
    "",
    "{",
    "[" * 500,
    '{"phases": []}',
    '{"phases": [{"id": "p1", "depends_on": ["p1"]}]}',
    "AGREE",
]


@st.composite
def plans(draw: st.DrawFn) -> str:
    """Anything from a good plan to one in circles, with strangers in it."""
    phases = []
    for name in draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=6)):
        after = draw(st.lists(st.sampled_from(IDS), max_size=3))
        kind = draw(st.sampled_from(["execution", "execution", "debate"]))
        expert = draw(st.sampled_from([*NAMES, "stranger"]))
        phases.append(planned(name, expert, after, kind=kind, topic="why" if kind == "debate" else ""))
    return plan_text(*phases)


@st.composite
def good_plans(draw: st.DrawFn) -> tuple[ev.Planned, ...]:
    count, phases = draw(st.integers(1, 6)), []
    for number in range(count):
        after = draw(st.lists(st.sampled_from(IDS[:number]), max_size=3, unique=True)) if number else []
        phases.append(planned(IDS[number], draw(st.sampled_from(NAMES)), after))
    return tuple(phases)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_every_run_ends_once_and_what_was_finished_is_in_its_answer(data: st.DataObject) -> None:
    given_plan = data.draw(st.one_of(st.just(()), good_plans()))
    game = Game(asked("task", *NAMES, plan=given_plan, ask_first=data.draw(st.booleans())))
    game.settle()
    words = data.draw(st.lists(WORDS, max_size=8))
    for _ in range(400):
        if game.state.outcome:
            break
        speaks = words and data.draw(st.booleans())
        if speaks or not game.under_way:
            game.say(words.pop() if words else {"approval": "/approve", "paused": "/resume"}[game.waits])
            game.settle()
            continue
        part = data.draw(st.sampled_from(game.under_way))
        fate = data.draw(st.sampled_from(["done", "done", "done", "failed", "hostile", "stopped"]))
        text = f"<{part.part}>"
        if part.work in {"plan", "revise"}:
            text = data.draw(plans())
        if fate == "hostile":
            text = data.draw(st.sampled_from(HOSTILE))
        ended = failed(part) if fate == "failed" else done(part, text)
        if fate == "stopped" or game.state.parts[part.part].cut:
            ended = ev.PartEnded(part.part, "stopped", text)
        game.end(part.part, ended)
        assert game.state.debates <= MAX_DEBATES
        assert sum(phase.is_debate for phase in game.state.phases) <= MAX_DEBATES
    heeded = [event.intervention for event in game.of(ev.TeamInterventionHeeded)]
    assert heeded == [f"i{number}" for number in range(1, game.said + 1)], "each word is heeded once and in order"
    assert game.finish.outcome == game.state.outcome
    versions = [event.version for event in game.of(ev.PlanChanged)]
    assert versions == list(range(1, len(versions) + 1))
    last = game.began("synthesis")[-1:]
    told = game.prompts[last[0].part] if last else game.finish.answer
    for phase in game.state.phases:
        if phase.state == "completed":
            assert phase.result.replace("</result", "< /result") in told


@settings(max_examples=100)
@given(good_plans())
def test_finished_phases_stay_finished_and_nothing_runs_twice(plan: tuple[ev.Planned, ...]) -> None:
    game = Game(asked("task", *NAMES, plan=plan))
    game.play()
    assert game.finish.outcome == "completed"
    assert sorted(part.phase or "" for part in game.began("phase")) == sorted(phase.id for phase in plan)
    begun = [event.part for event in game.of(ev.PartStarted)]
    assert len(begun) == len(set(begun))
    order = [event.phase for event in game.of(ev.PhaseChanged)]
    assert all(order.index(other) < order.index(phase.id) for phase in plan for other in phase.depends_on)


@given(st.text(max_size=400) | plans())
def test_whatever_a_model_writes_as_a_plan_is_a_plan_that_can_be_carried_out_or_none(text: str) -> None:
    try:
        read = read_plan(text, NAMES, "lead", debates=2)
    except NoPlan:
        return
    assert faults(read.phases, NAMES) == ()
    assert in_circles(read.phases) == ()
    assert sum(phase.kind == "debate" for phase in read.phases) <= 2


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(string.printable, max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["phases", "id", "expert", "depends_on", "verdict", "reasons", "confidence"]),
                inner,
                max_size=5,
            )
        ),
        max_leaves=25,
    )
)
def test_json_of_any_shape_is_contained(value: object) -> None:
    text = json.dumps(value)
    assert read_verdict(text).verdict is not None
    with contextlib.suppress(NoPlan):
        assert read_plan(text, NAMES, "lead").phases
