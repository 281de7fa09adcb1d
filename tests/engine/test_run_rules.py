"""What a run does next, rule by rule: given what happened, then this."""

from __future__ import annotations

import pytest
from runs import (
    NO_TOOLS,
    READ,
    TOOLS,
    broke,
    call,
    claimed,
    content,
    directive,
    finished,
    given,
    reasoning,
    requested,
    started,
    superseded,
    used,
    weighed,
)

from quarterdeck.engine.run import CallModel, Context, Finish, Rest, Retry, RunState, RunTools, Weigh, decide
from quarterdeck.engine.run.decide import suspect
from quarterdeck.engine.run.limits import MAX_TRIES
from quarterdeck.events import run as ev
from quarterdeck.events.base import Event
from quarterdeck.kernel.parts import Message, Usage

RUN = (requested(), claimed())
DONE = ev.RunFinished("completed", "It is blue.")


def next_call(*events: Event, context: Context = NO_TOOLS) -> CallModel:
    intent = decide(given(*events), context)
    assert isinstance(intent, CallModel)
    return intent


# Beginning and end


@pytest.mark.parametrize("state", [RunState(), given(*RUN, started(), finished(), DONE)])
def test_before_the_request_and_after_the_end_there_is_nothing_to_do(state: RunState) -> None:
    assert decide(state, TOOLS) == Rest()


def test_a_run_without_tools_asks_the_thinker_at_once() -> None:
    asked = next_call(*RUN)
    assert (asked.attempt, asked.role, asked.stage, asked.tools) == (1, "thinker", "answering", ())


def test_the_thinkers_whole_reply_is_the_answer() -> None:
    state = given(*RUN, started(), reasoning("Hm."), content("It is ", "blue."), finished())
    assert decide(state, NO_TOOLS) == Finish("completed", "It is blue.")


def test_a_reply_of_nothing_is_an_answer_of_nothing() -> None:
    assert decide(given(*RUN, started(), finished()), NO_TOOLS) == Finish("completed", "")


@pytest.mark.parametrize("asked", ["on", "off", "auto", None])
def test_reasoning_is_asked_for_as_the_user_did(asked: ev.Reasoning | None) -> None:
    assert next_call(requested(reasoning=asked), claimed()).reasoning == asked


def test_usage_of_all_attempts_is_added_up() -> None:
    one, other = Usage(10, 2, None), Usage(20, 3, 5)
    state = given(*RUN, started(1, "action"), finished(1, "action", usage=one), started(2), finished(2, usage=other))
    assert state.usage == Usage(30, 5, 5)


# Trying again


def test_a_first_failure_is_tried_again_after_half_a_second() -> None:
    state = given(*RUN, started(), content("Half "), broke())
    assert decide(state, NO_TOOLS) == Retry(1, 3, "provider_cut: It broke.", 0.5)


def test_the_wait_doubles_with_each_failure_in_a_row() -> None:
    story: list[Event] = [*RUN]
    waits = []
    for attempt in range(1, MAX_TRIES):
        story += [started(attempt), broke(attempt)]
        intent = decide(given(*story), NO_TOOLS)
        assert isinstance(intent, Retry)
        waits.append(intent.delay_s)
        story.append(superseded(attempt))
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0]
    story += [started(MAX_TRIES), content("Half", attempt=MAX_TRIES), broke(MAX_TRIES)]
    assert decide(given(*story), NO_TOOLS) == Finish("failed", "Half", "provider_cut", "It broke.")


@pytest.mark.parametrize(("asked", "waits"), [(7.5, 7.5), (0.0, 0.0), (300.0, 300.0)])
def test_a_provider_that_names_a_time_is_given_it(asked: float, waits: float) -> None:
    intent = decide(given(*RUN, started(), broke(retry_after=asked)), NO_TOOLS)
    assert isinstance(intent, Retry)
    assert intent.delay_s == waits


def test_a_provider_that_asks_for_too_much_time_ends_the_run() -> None:
    intent = decide(given(*RUN, started(), broke(retry_after=301.0)), NO_TOOLS)
    assert intent == Finish("failed", "", "provider_cut", "It broke.")


def test_what_cannot_be_mended_by_waiting_is_not_tried_again() -> None:
    state = given(*RUN, started(), content("Half"), broke(code="provider_auth", retryable=False))
    assert decide(state, NO_TOOLS) == Finish("failed", "Half", "provider_auth", "It broke.")


def test_text_that_was_taken_back_does_not_count() -> None:
    state = given(*RUN, started(), reasoning("Hm"), content("Half "), broke(), superseded())
    assert (state.content, state.reasoning) == ("", "")
    asked = next_call(*RUN, started(), content("Half "), broke(), superseded())
    assert (asked.attempt, asked.role) == (2, "thinker")
    whole = given(
        *RUN, started(), content("Half "), broke(), superseded(), started(2), content("All", attempt=2), finished(2)
    )
    assert decide(whole, NO_TOOLS) == Finish("completed", "All")


def test_a_success_forgets_the_failures_before_it() -> None:
    story = [*RUN, started(1, "action"), broke(1, "action"), superseded(1), started(2, "action")]
    assert given(*story).failures == 1
    assert given(*story, finished(2, "action", text="{}")).failures == 0


def test_failures_of_another_role_are_not_held_against_the_thinker() -> None:
    story = [*RUN, started(1, "action"), broke(1, "action"), superseded(1), started(2, "action"), broke(2, "action")]
    state = given(*story, started(3), broke(3))
    assert state.failures == 1
    intent = decide(state, TOOLS)
    assert isinstance(intent, Retry)
    assert intent.delay_s == 0.5


# Roles beside the thinker


def test_where_there_are_tools_the_action_role_is_asked_first() -> None:
    asked = next_call(*RUN, context=TOOLS)
    assert (asked.role, asked.stage, asked.tools) == ("action", "planning", ())
    assert "- read_file(): reads a file" in asked.messages[0].content


def test_a_role_that_fails_for_good_does_not_cost_the_answer() -> None:
    asked = next_call(*RUN, started(1, "action"), broke(1, "action", retryable=False), context=TOOLS)
    assert (asked.attempt, asked.role) == (2, "thinker")


def test_a_role_beside_the_thinker_is_tried_twice_and_then_done_without() -> None:
    story = [*RUN, started(1, "action"), broke(1, "action")]
    assert isinstance(decide(given(*story), TOOLS), Retry)
    story += [superseded(1)]
    assert next_call(*story, context=TOOLS).role == "action"
    story += [started(2, "action"), broke(2, "action")]
    assert next_call(*story, context=TOOLS).role == "thinker"


def test_a_role_that_was_done_without_is_not_asked_again_when_the_thinker_stumbles() -> None:
    story = [*RUN, started(1, "action"), broke(1, "action", retryable=False), started(2), broke(2), superseded(2)]
    assert next_call(*story, context=TOOLS).role == "thinker"


@pytest.mark.parametrize(
    "nonsense",
    [
        "",
        "Sure!",
        "{",
        "[]",
        "null",
        '"x"',
        '{"actions": 7}',
        '{"actions": [1, {"tool": 3}, {"tool": "t", "args": []}]}',
        "{" * 9999,
    ],
)
def test_a_role_that_talks_nonsense_does_not_cost_the_answer(nonsense: str) -> None:
    asked = next_call(*RUN, started(1, "action"), finished(1, "action", text=nonsense), context=TOOLS)
    assert (asked.role, asked.attempt) == ("thinker", 2)


@pytest.mark.parametrize("frame", ["%s", "```json\n%s\n```", "Here it is:\n%s\nGood luck!", "  %s  "])
def test_a_directive_is_found_in_whatever_it_is_wrapped(frame: str) -> None:
    said = frame % directive("read_file", "list_dir")
    intent = decide(given(*RUN, started(1, "action"), finished(1, "action", text=said)), TOOLS)
    assert isinstance(intent, Weigh)
    assert [(c.id, c.name, c.arguments, c.reason, c.risk) for c in intent.calls] == [
        ("1.0", "read_file", '{"path": "a"}', "r", "low"),
        ("1.1", "list_dir", '{"path": "a"}', "r", "low"),
    ]


def test_a_directive_without_actions_goes_straight_to_the_answer() -> None:
    state = given(*RUN, started(1, "action"), finished(1, "action", text=directive()))
    assert isinstance(decide(state, TOOLS), CallModel)
    assert (
        next_call(*RUN, started(1, "action"), finished(1, "action", text=directive()), context=TOOLS).role == "thinker"
    )


def test_what_the_tools_returned_reaches_the_thinker_as_data() -> None:
    story = [*RUN, started(1, "action"), finished(1, "action", text=directive("read_file", "read_file"))]
    asked = next_call(*story, used("1.0", "blue"), used("1.1", "no such file", ok=False), context=TOOLS)
    assert asked.role == "thinker"
    assert asked.messages[-1].role == "user"
    assert asked.messages[-1].content.startswith("tool_observations")
    assert 'read_file {"path": "a"}: blue\nread_file {"path": "a"}: failed: no such file' in asked.messages[-1].content


def test_tools_that_have_not_answered_are_still_to_be_used() -> None:
    story = [*RUN, started(1, "action"), finished(1, "action", text=directive("read_file", "read_file"))]
    intent = decide(given(*story, used("1.0"), weighed("1.1")), TOOLS)
    assert isinstance(intent, RunTools)
    assert [c.call.id for c in intent.calls] == ["1.1"]


def test_a_directive_that_says_plan_is_asked_again_with_what_was_seen() -> None:
    story = [*RUN, started(1, "action"), finished(1, "action", text=directive("read_file", then="plan")), used("1.0")]
    asked = next_call(*story, context=TOOLS)
    assert (asked.role, asked.attempt) == ("action", 2)
    assert "tool_observations" in asked.messages[-1].content
    answer = next_call(*story, started(2, "action"), finished(2, "action", text=directive()), context=TOOLS)
    assert answer.role == "thinker"


def test_plans_without_end_come_to_an_end() -> None:
    story: list[Event] = [requested(max_steps=3), claimed()]
    for attempt in (1, 2, 3):
        story += [started(attempt, "action"), finished(attempt, "action", text=directive("read_file", then="plan"))]
        story += [used(f"{attempt}.0")]
    assert decide(given(*story), TOOLS) == Finish("failed", "", "step_limit", "No answer after 3 steps.")


@pytest.mark.parametrize(
    ("message", "asked_first"),
    [
        ("Hello! Who are you?", "thinker"),
        ("What is love?", "thinker"),
        ("What is in notes.txt?", "action"),
        ("Look into /etc/hosts", "action"),
        ("Run `ls`", "action"),
        ("Is there a file about cats?", "action"),
        ("Which FOLDER is it in?", "action"),
        ("run uname", "action"),
        ("Please check updates", "action"),
        ("Проверь обновления", "action"),
        ("运行 uname", "action"),
        ("Show me what love is", "thinker"),
        ("Покажи мне, что такое любовь", "thinker"),
        ("I run every morning", "thinker"),
    ],
)
def test_a_slight_model_plans_only_where_something_is_named(message: str, asked_first: str) -> None:
    slight = Context(tools=(READ,), slight=True)
    assert next_call(requested(message), claimed(), context=slight).role == asked_first


# Models that call tools themselves


def test_the_native_loop_hands_the_tools_to_the_model_itself() -> None:
    asked = next_call(requested(loop="native"), claimed(), context=TOOLS)
    assert (asked.role, asked.tools) == ("thinker", (READ,))


def test_a_native_call_is_used_and_answered_in_the_models_own_form() -> None:
    story = [requested(loop="native"), claimed(), started(), content("Let me see."), finished(calls=(call(),))]
    assert decide(given(*story), TOOLS) == Weigh((call(),))
    assert isinstance(decide(given(*story, weighed()), TOOLS), RunTools)
    asked = next_call(*story, used("c1", "blue"), context=TOOLS)
    assert asked.messages[-2:] == (
        Message("assistant", "Let me see.", calls=(call(),)),
        Message("tool", "blue", call_id="c1"),
    )
    assert asked.tools == (READ,)


def test_native_steps_are_limited_too() -> None:
    story = [requested(loop="native", max_steps=1), claimed(), started(), finished(calls=(call(),)), used()]
    intent = decide(given(*story), TOOLS)
    assert isinstance(intent, Finish)
    assert (intent.outcome, intent.code) == ("failed", "step_limit")


# Ended from outside


@pytest.mark.parametrize(
    "story",
    [
        (),
        (started(),),
        (started(), content("Half ")),
        (started(), content("Half "), broke()),
        (started(), broke(), superseded()),
        (started(), finished(calls=(call(),))),
    ],
)
def test_a_stop_ends_the_run_wherever_it_stands_and_keeps_what_there_is(story: tuple[Event, ...]) -> None:
    state = given(*RUN, *story, ev.StopRequested("enough"))
    intent = decide(state, TOOLS)
    assert isinstance(intent, Finish)
    assert (intent.outcome, intent.code, intent.answer) == ("stopped", "stopped", state.content)


def test_a_deadline_ends_the_run_and_keeps_what_there_is() -> None:
    intent = decide(given(*RUN, started(), content("Half "), ev.DeadlinePassed()), TOOLS)
    assert isinstance(intent, Finish)
    assert (intent.outcome, intent.code, intent.answer) == ("failed", "deadline_passed", "Half ")


def test_a_stop_goes_before_a_deadline_and_both_before_a_quarantine() -> None:
    crashed = [requested(), *(claimed(epoch) for epoch in range(1, 5))]
    outcomes = [
        decide(given(*crashed, *ends), NO_TOOLS)
        for ends in ([], [ev.DeadlinePassed()], [ev.DeadlinePassed(), ev.StopRequested()])
    ]
    assert [end.code for end in outcomes if isinstance(end, Finish)] == ["quarantined", "deadline_passed", "stopped"]


# Crashes


def test_an_attempt_that_a_crash_took_along_is_taken_back_and_tried_again_at_once() -> None:
    story = [*RUN, started(), content("Half "), claimed(2)]
    assert decide(given(*story), NO_TOOLS) == Retry(1, 3, "crashed: the server stopped in the middle", 0.0)
    asked = next_call(*story, superseded(1, 3))
    assert (asked.attempt, asked.role) == (2, "thinker")


def test_a_crash_between_two_steps_costs_nothing() -> None:
    assert decide(given(*RUN, started(), content("All"), finished(), claimed(2)), NO_TOOLS) == Finish(
        "completed", "All"
    )


def test_a_crash_while_waiting_to_try_again_ends_the_wait() -> None:
    assert next_call(*RUN, started(), broke(), superseded(), claimed(2)).attempt == 2


def test_the_third_crash_in_a_row_is_the_last_and_the_second_makes_it_suspect() -> None:
    story: list[Event] = [*RUN]
    for crash in (1, 2, 3):
        story += [started(crash), claimed(crash + 1)]
        assert given(*story).crashes == crash
        assert suspect(given(*story)) == (crash == 2)
        end = decide(given(*story), NO_TOOLS)
        assert isinstance(end, Finish) == (crash == 3)
        story += [superseded(crash)]
    assert isinstance(end, Finish)
    assert (end.outcome, end.code) == ("quarantined", "quarantined")


@pytest.mark.parametrize("progress", [[started(2), finished(2, calls=(call(),))], [used("c1")]])
def test_progress_forgets_crashes(progress: list[Event]) -> None:
    story = [requested(loop="native"), claimed(), started(), finished(calls=(call(),)), claimed(2), claimed(3)]
    assert given(*story).crashes == 2
    assert given(*story, *progress).crashes == 0


def test_letting_go_in_good_order_is_no_crash() -> None:
    story = [*RUN, started(), content("Half "), ev.RunReleased("process1.loop", 1)]
    assert decide(given(*story), NO_TOOLS) == Retry(1, 3, "server_stopped: the server was shut down", 0.0)
    assert given(*story, claimed(2)).crashes == 0


def test_another_loop_or_another_try_of_the_same_process_is_no_crash() -> None:
    story = [requested(), claimed(1, "p.one"), started(), content("Half "), claimed(2, "p.two")]
    assert given(*story).crashes == 0
    assert decide(given(*story), NO_TOOLS) == Retry(1, 3, "interrupted: the run had to rest", 0.0)
    assert given(*story, claimed(3, "q.one")).crashes == 1


def test_crashes_are_always_worth_another_try_however_many_failures_there_were() -> None:
    story: list[Event] = [*RUN]
    for attempt in range(1, MAX_TRIES):
        story += [started(attempt), broke(attempt), superseded(attempt)]
    intent = decide(given(*story, started(MAX_TRIES), claimed(2)), NO_TOOLS)
    assert isinstance(intent, Retry)
