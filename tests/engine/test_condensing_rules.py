"""Histories that do not fit: when they are summarised, how far, what is told instead, and what a failure costs."""

from __future__ import annotations

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from runs import broke, claimed, finished, given, requested, started

from quarterdeck.engine.run import CallModel, Context, Retry, decide
from quarterdeck.engine.run.digest import MOST_PIECES, weight
from quarterdeck.engine.windows import KNOWN, SLIGHT, read_windows, room
from quarterdeck.events.base import Event
from quarterdeck.events.run import CondensingBegun
from quarterdeck.kernel.errors import Invalid
from quarterdeck.kernel.parts import Message


def past(count: int, size: int = 10, window: int = 100, **more: object) -> Context:
    history = tuple(Message("user" if n % 2 == 0 else "assistant", str(n).rjust(size, ".")) for n in range(count))
    places = tuple(range(2, count + 2))
    return Context(history=history, places=places, window=window, **more)  # type: ignore[arg-type]


def asked(context: Context, *events: Event) -> CallModel:
    intent = decide(given(requested("And now?"), claimed(), *events), context)
    assert isinstance(intent, CallModel)
    return intent


def summary(through: int, text: str, attempt: int = 1) -> tuple[Event, ...]:
    return CondensingBegun(through), started(attempt, "summary"), finished(attempt, "summary", text=text)


def test_what_fits_is_told_whole_and_nothing_is_summarised() -> None:
    call = asked(past(10))
    assert call.role == "thinker"
    assert call.messages[1:-1] == past(10).history


def test_what_does_not_fit_is_summarised_first_and_leaves_room_for_as_much_again() -> None:
    call = asked(past(11))
    assert (call.role, call.stage) == ("summary", "summarising")
    assert call.before == (CondensingBegun(7),)  # the six oldest; five are half a window
    assert all(said.content in call.messages[1].content for said in past(11).history[:6])
    assert past(11).history[6].content not in call.messages[1].content


def test_the_answer_is_asked_for_with_the_summary_in_the_place_of_what_it_tells() -> None:
    call = asked(past(11), *summary(7, "They spoke of tea."))
    assert call.role == "thinker"
    assert "They spoke of tea." in call.messages[1].content
    assert call.messages[2:-1] == past(11).history[6:]


def test_a_kept_summary_is_told_and_summarised_in_turn() -> None:
    kept = past(4, summary="They spoke of tea.")
    assert "They spoke of tea." in asked(kept).messages[1].content
    again = asked(past(11, summary="They spoke of tea."))
    assert again.role == "summary"
    assert "They spoke of tea." in again.messages[1].content


def test_a_long_past_is_summarised_piece_by_piece_and_not_for_ever() -> None:
    context, events = past(400), tuple[Event, ...]()
    for attempt in range(1, MOST_PIECES + 1):
        call = asked(context, *events)
        assert call.role == "summary"
        assert sum(said.content in call.messages[1].content for said in context.history) == 10
        (begun,) = call.before
        assert isinstance(begun, CondensingBegun)
        events += summary(begun.through, f"Summary {attempt}.", attempt)
    call = asked(context, *events)
    assert call.role == "thinker"
    assert f"Summary {MOST_PIECES}." in call.messages[1].content
    assert "earlier messages of this conversation do not fit here" in call.messages[2].content


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_summary_costs_nobody_the_answer(text: str) -> None:
    call = asked(past(11), *summary(7, text))
    assert call.role == "thinker"
    assert "(1 earlier messages" in call.messages[1].content


def test_a_model_that_fails_at_it_is_asked_once_more_and_then_done_without() -> None:
    begun = (CondensingBegun(7), started(1, "summary"))
    assert isinstance(decide(given(requested(), claimed(), *begun, broke(1, "summary")), past(11)), Retry)
    refused = broke(1, "summary", code="provider_rejected", retryable=False)
    call = asked(past(11), *begun, refused)
    assert call.role == "thinker"
    assert "(1 earlier messages" in call.messages[1].content
    later = asked(past(11), *begun, refused, started(2), broke(2), started(3))
    assert later.role == "thinker"


def test_a_slight_model_is_not_asked_to_summarise_and_is_told_how_the_rest_begins() -> None:
    call = asked(past(100, size=SLIGHT // 10, window=SLIGHT, slight=True))
    assert call.role == "thinker"
    assert call.messages[1].content.startswith("(90 earlier messages")
    assert "The latest of them begin:" in call.messages[1].content


def test_what_was_not_even_read_is_counted() -> None:
    call = asked(past(3, left_out=40))
    assert "about 40 earlier messages" in call.messages[1].content


@for_all(st.lists(st.integers(1, 80), max_size=40), st.integers(20, 200))
def test_whatever_the_sizes_every_message_is_told_summarised_or_said_to_be_missing(
    sizes: list[int], window: int
) -> None:
    history = tuple(Message("user", f"{n}:".ljust(size, "x")) for n, size in enumerate(sizes))
    context = Context(history=history, places=tuple(range(2, len(sizes) + 2)), window=window)
    events: tuple[Event, ...] = ()
    covered, attempt = 0, 0
    while (call := asked(context, *events)).role == "summary":
        (begun,) = call.before
        assert isinstance(begun, CondensingBegun)
        assert begun.through - 1 > covered
        covered, attempt = begun.through - 1, attempt + 1
        events += summary(begun.through, "S", attempt)
    assert attempt <= MOST_PIECES
    told = [said for said in call.messages[1:-1] if said.role == "user"]
    assert history[len(history) - len(told) :] == tuple(told)
    assert sum(weight(said.content) for said in told) <= window
    missing = len(history) - len(told) - covered
    notes = [
        said.content for said in call.messages[1:-1] if said.role == "system" and "earlier messages" in said.content
    ]
    assert (missing <= 0 and not notes) or notes[0].startswith(f"({missing} earlier messages")


def test_windows_go_by_the_longest_name_that_fits() -> None:
    windows = read_windows({"ollama/*": 1000, "ollama/qwen*": 2000})
    assert room(windows, "ollama/llama", slight=False) == 1500
    assert room(windows, "ollama/qwen3", slight=False) == 3000
    assert room(windows, "ollama/qwen3", slight=True) == SLIGHT
    assert room(KNOWN, "nobody/knows", slight=False) == 192_000


@pytest.mark.parametrize("table", [[], {"a/*": 1}, {"a/*": "much"}, {"a/*": True}, {"a/*": 10**12}])
def test_windows_that_make_no_sense_are_refused(table: object) -> None:
    with pytest.raises(Invalid):
        read_windows(table)
