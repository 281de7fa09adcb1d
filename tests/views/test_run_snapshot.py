"""A run as it stands at a place."""

from __future__ import annotations

from functools import reduce

from quarterdeck.events import run as ev
from quarterdeck.events.base import Event, Unknown
from quarterdeck.views.run_snapshot import RunSnapshot, evolve, restored


def shot(*events: Event) -> RunSnapshot:
    return reduce(evolve, events, RunSnapshot())


ASKED = ev.RunRequested("c", "hello")
BEGUN = (ASKED, ev.RunClaimed("w", 1), ev.StageChanged("answering"), ev.AttemptStarted(1, "thinker", "m/1"))


def test_the_place_counts_every_delta_and_every_fact_also_unknown_ones() -> None:
    assert shot(*BEGUN).seq == 4
    assert shot(*BEGUN, ev.ContentStreamed(1, ("a", "b", "c"))).seq == 7
    assert shot(*BEGUN, Unknown("run.dreamed", b"{}", 5)).seq == 9


def test_text_gathers_by_its_kind() -> None:
    seen = shot(
        *BEGUN, ev.ReasoningStreamed(1, ("h", "m")), ev.ContentStreamed(1, ("a",)), ev.ContentStreamed(1, ("b",))
    )
    assert (seen.reasoning, seen.content, seen.attempt, seen.status) == ("hm", "ab", 1, "running")


def test_text_of_an_attempt_that_no_longer_counts_is_gone() -> None:
    text = ev.ContentStreamed(1, ("half",))
    assert shot(*BEGUN, text, ev.AttemptSuperseded(1, 4, "cut")).content == ""
    assert shot(*BEGUN, text, ev.AttemptStarted(2, "thinker", "m/1"), ev.ContentStreamed(2, ("new",))).content == "new"


def test_asking_another_role_keeps_the_answer_so_far() -> None:
    assert shot(*BEGUN, ev.ContentStreamed(1, ("a",)), ev.AttemptStarted(2, "critic", "m/1")).content == "a"


def test_a_run_that_ended_says_how_and_has_no_stage() -> None:
    seen = shot(*BEGUN, ev.RunFinished("failed", "", "model_failed", "it went away"))
    assert (seen.status, seen.stage, seen.code, seen.detail) == ("failed", None, "model_failed", "it went away")


def test_a_snapshot_comes_back_from_its_bytes() -> None:
    seen = shot(*BEGUN, ev.ContentStreamed(1, ("да ☂",)))
    assert restored(seen.stored()) == seen
