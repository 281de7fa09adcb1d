"""What follows after a run, and what of the roles' replies can be used."""

from __future__ import annotations

import json
from functools import reduce

import pytest

from quarterdeck.engine.after import AfterState, AskRole, Close, Skip, Wait, decide, evolve
from quarterdeck.engine.after.prompts import LONGEST_QUOTE
from quarterdeck.engine.after.replies import LONGEST_LESSON, read_lesson, read_policy
from quarterdeck.events import after as ev
from quarterdeck.events.base import Erased, Event, Unknown

ASKED = ev.AfterRequested("r1", "c1", "remember this", "I will", "/w", memory=True, reflection=True)
STORED = ev.MemoryPolicyDecided(True, "note", "x")


def after(*events: Event) -> AfterState:
    return reduce(evolve, events, AfterState())


def test_each_role_is_asked_once_in_turn_and_then_it_is_over() -> None:
    first = decide(after(ASKED))
    assert isinstance(first, AskRole)
    assert first.role == "memory_policy"
    second = decide(after(ASKED, STORED, ev.MemoryKept("m")))
    assert isinstance(second, AskRole)
    assert second.role == "critic"
    assert decide(after(ASKED, STORED, ev.ReflectionCompleted("l", "x"))) == Close()
    assert decide(after(ASKED, STORED, ev.ReflectionCompleted("l", "x"), ev.AfterFinished())) == Wait()
    assert decide(AfterState()) == Wait()


def test_only_what_was_asked_for_is_done() -> None:
    assert decide(after(ev.AfterRequested("r", "c", "m", "a"))) == Close()
    intent = decide(after(ev.AfterRequested("r", "c", "m", "a", reflection=True)))
    assert isinstance(intent, AskRole)
    assert intent.role == "critic"


def test_a_role_that_failed_or_whose_words_were_erased_is_not_asked_again() -> None:
    assert decide(after(ASKED, ev.RoleFailed("memory_policy", "x", "y"), ev.RoleFailed("critic", "x", "y"))) == Close()
    erased = (Erased(ev.MemoryPolicyDecided.KIND), Erased(ev.ReflectionCompleted.KIND))
    assert decide(after(ASKED, *erased)) == Close()


def test_a_role_that_takes_the_server_down_three_times_is_left_out_and_the_other_is_still_asked() -> None:
    crashed = [ev.AfterClaimed(f"p{n}.w", n) for n in range(1, 5)]
    assert isinstance(decide(after(ASKED, *crashed[:3])), AskRole)
    intent = decide(after(ASKED, *crashed))
    assert isinstance(intent, Skip)
    assert intent.role == "memory_policy"
    assert isinstance(decide(after(ASKED, *crashed, ev.RoleFailed("memory_policy", "quarantined", "x"))), AskRole)


def test_a_release_and_another_loop_of_the_same_process_are_no_crash() -> None:
    course: list[Event] = []
    for number in range(1, 9):
        course += [ev.AfterClaimed(f"p{number}.w", number), ev.AfterReleased(f"p{number}.w", number)]
    assert after(ASKED, *course).crashes == 0
    assert after(ASKED, *(ev.AfterClaimed(f"p.w{n}", n) for n in range(9))).crashes == 0


def test_what_a_later_release_wrote_changes_nothing() -> None:
    assert after(ASKED, Unknown("after.dreamed", b"{}")) == after(ASKED)


def test_what_was_said_is_quoted_and_a_long_text_not_whole() -> None:
    asked = ev.AfterRequested("r", "c", "begin " + "x" * 50_000 + " end", 'say "stop"', memory=True)
    intent = decide(after(asked))
    assert isinstance(intent, AskRole)
    told = intent.messages[-1].content
    assert len(told) < LONGEST_QUOTE + 500
    assert "begin" in told
    assert " end" in told
    assert 'say \\"stop\\"' in told


def policy(**more: object) -> str:
    said = {"should_store": True, "memory_type": "fact", "summary": "Likes tea.", "importance": 0.8, "scope": "global"}
    return json.dumps({**said, "metadata": {}, **more})


def test_a_decision_is_read_also_amid_prose_and_in_a_fence() -> None:
    whole = ev.MemoryPolicyDecided(True, "fact", "Likes tea.", 0.8, "global")
    for text in (policy(), f"Sure!\n```json\n{policy()}\n```", f"<think>hm</think> {policy()} done"):
        assert read_policy(text) == whole


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        "{",
        "[]",
        "{}",
        "[" * 100_000,
        policy(should_store="yes"),
        policy(should_store=1),
        policy(summary=""),
        policy(summary="  "),
        policy(summary=None),
        policy(summary=["x"]),
        policy()[:-5],
    ],
)
def test_what_is_no_decision_is_none(text: str) -> None:
    assert read_policy(text) is None


@pytest.mark.parametrize(
    ("said", "importance"),
    [(2, 1.0), (-1, 0.0), ("high", 0.5), (None, 0.5), (True, 0.5), (1e999, 0.5), (1, 1.0)],
)
def test_values_that_make_no_sense_become_harmless_ones(said: object, importance: float) -> None:
    read = read_policy(policy(importance=said, memory_type="secret", scope="universe").replace("Infinity", "1e999"))
    assert read is not None
    assert (read.importance, read.memory_type, read.scope) == (importance, "note", "workspace")


def test_a_summary_that_is_not_to_be_stored_is_not_kept() -> None:
    read = read_policy(policy(should_store=False))
    assert read is not None
    assert (read.should_store, read.summary) == (False, "")


def test_half_characters_and_endless_summaries_are_cut() -> None:
    read = read_policy('{"should_store": true, "summary": "a\\ud800b\\u0000' + "x" * 9000 + '"}')
    assert read is not None
    assert read.summary.startswith("abx")
    assert len(read.summary) == 2000


@pytest.mark.parametrize(
    ("text", "lesson"),
    [
        ("Done. Reusable lesson: look first.", "look first."),
        ("Fine.\n\n**Reusable lesson:** look first.\n\nBye", "look first."),
        ("REUSABLE LESSON：先看再做", "先看再做"),
        ("It went well.", "It went well."),
        ("All good. Reusable lesson: none", None),
        ("Reusable lesson: None.", None),
        ("Урок: нет\nReusable lesson: нет", None),
    ],
)
def test_the_lesson_is_what_is_marked_or_all_of_it(text: str, lesson: str | None) -> None:
    assert read_lesson(text) == lesson


def test_a_lesson_has_a_bound() -> None:
    lesson = read_lesson("x" * 50_000)
    assert lesson is not None
    assert len(lesson) == LONGEST_LESSON
