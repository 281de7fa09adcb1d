"""What models are told: what fits of the conversation, and what does not, in words."""

from __future__ import annotations

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from runs import claimed, given, requested

from quarterdeck.engine.run import CallModel, Context, decide
from quarterdeck.engine.run.digest import fitted
from quarterdeck.engine.run.directive import form
from quarterdeck.engine.run.stats import WINDOW_S, Sample, measured
from quarterdeck.engine.windows import SLIGHT
from quarterdeck.events.run import Stats
from quarterdeck.kernel.parts import Message, ToolSpec


def history(count: int, size: int = 10) -> tuple[Message, ...]:
    return tuple(Message("user" if n % 2 == 0 else "assistant", str(n).rjust(size)) for n in range(count))


def test_the_thinker_is_told_who_it_is_what_was_said_and_what_is_asked() -> None:
    told = history(4)
    intent = decide(given(requested("And now?"), claimed()), Context(history=told))
    assert isinstance(intent, CallModel)
    assert intent.messages[0].role == "system"
    assert intent.messages[1:] == (*told, Message("user", "And now?"))


def test_a_history_that_fits_is_told_whole() -> None:
    assert fitted(history(10), 100) == history(10)
    assert fitted((), 0) == ()


def test_what_does_not_fit_is_left_out_from_the_oldest_on_and_said() -> None:
    told = fitted(history(10), 35)
    assert told[0] == Message("system", "(7 earlier messages of this conversation do not fit here.)")
    assert told[1:] == history(10)[7:]


def test_a_slight_model_is_told_less() -> None:
    slight = Context(history=history(100, size=SLIGHT // 10), slight=True, window=SLIGHT)
    intent = decide(given(requested(), claimed()), slight)
    assert isinstance(intent, CallModel)
    assert len(intent.messages) == 1 + 1 + 10 + 1
    assert "90 earlier messages" in intent.messages[1].content


@for_all(st.lists(st.integers(0, 50), max_size=30), st.integers(0, 200))
def test_whatever_the_sizes_nothing_is_left_out_in_silence(sizes: list[int], window: int) -> None:
    told = tuple(Message("user", "x" * size) for size in sizes)
    fits = fitted(told, window)
    left_out = len(told) - len([message for message in fits if message.role != "system"])
    assert (left_out == 0) == (fits == told)
    if left_out:
        assert fits[0].content.startswith(f"({left_out} earlier messages of this conversation do not fit here.)")
        assert fits[1:] == told[left_out:]
        assert sum(len(message.content) for message in told[left_out - 1 :]) > window
    assert sum(len(message.content) for message in fits if message.role != "system") <= window


# Figures


def test_an_answer_without_text_has_no_speed() -> None:
    assert measured([]) == Stats()


def test_a_single_burst_counts_as_a_window() -> None:
    stats = measured([Sample(0.5, 10)])
    assert (stats.tokens, stats.first_token_ms, stats.duration_ms) == (10, 500.0, 500.0)
    assert stats.avg_tokens_per_second == stats.min_tokens_per_second == stats.max_tokens_per_second == 40.0


def test_the_slowest_and_the_fastest_window_are_told() -> None:
    slow = [Sample(n * 0.25, 1) for n in range(4)]
    fast = [Sample(1.0 + n * 0.025, 1) for n in range(11)]
    stats = measured([*slow, *fast])
    assert stats.min_tokens_per_second == 4.0
    assert stats.max_tokens_per_second == 40.0


@for_all(st.lists(st.tuples(st.floats(0, 5), st.integers(1, 50)), min_size=1, max_size=50))
def test_however_it_came_slowest_average_and_fastest_are_in_order(steps: list[tuple[float, int]]) -> None:
    at, samples = 0.0, []
    for wait, tokens in steps:
        at += wait
        samples.append(Sample(at, tokens))
    stats = measured(samples)
    assert stats.tokens == sum(tokens for _, tokens in steps)
    assert 0 <= stats.min_tokens_per_second <= stats.max_tokens_per_second
    if samples[-1].at - samples[0].at < WINDOW_S:
        assert stats.min_tokens_per_second == stats.avg_tokens_per_second == stats.max_tokens_per_second


@pytest.mark.parametrize("size", [1, 3, 10])
def test_a_burst_counts_each_of_its_deltas(size: int) -> None:
    assert measured([Sample(0.1, size), Sample(0.2, size)]).tokens == 2 * size


# What the role is told that says what to do, and what its reply is held to

TOOLS = (
    ToolSpec(
        "read_file",
        "Read a file.",
        {
            "properties": {
                "path": {"type": "string", "description": "the file"},
                "limit": {"type": "integer", "maximum": 9},
                "odd": {"type": ["string", "null"], "pattern": "(?<x>y)"},
            },
            "required": ["path", "nobody"],
        },
    ),
    ToolSpec("look", "Look around."),
)


def planning(*, slight: bool) -> CallModel:
    intent = decide(given(requested("read a.txt"), claimed()), Context(tools=TOOLS, slight=slight))
    assert isinstance(intent, CallModel)
    assert intent.role == "action"
    return intent


def test_who_plans_is_told_what_each_tool_takes() -> None:
    told = planning(slight=False).messages[0].content
    assert "- read_file(path, limit?, odd?): Read a file." in told
    assert 'path: {"type": "string", "description": "the file"}' in told
    assert "- look(): Look around." in told


def test_a_slight_model_is_told_no_more_than_the_names() -> None:
    told = planning(slight=True).messages[0].content
    assert "- read_file(path, limit?, odd?): Read a file." in told
    assert "the file" not in told


@pytest.mark.parametrize(("slight", "most", "names"), [(False, 8, {"path", "limit", "odd"}), (True, 1, {"path"})])
def test_a_plan_is_held_to_the_tools_that_there_are_and_to_what_they_take(
    slight: bool, most: int, names: set[str]
) -> None:
    held_to = planning(slight=slight).form
    assert held_to is not None
    actions = held_to["properties"]["actions"]
    assert actions["maxItems"] == most
    read, look = (each["properties"] for each in actions["items"]["anyOf"])
    assert (read["tool"], look["tool"]) == ({"const": "read_file"}, {"const": "look"})
    assert set(read["args"]["properties"]) == names
    assert read["args"]["properties"]["path"] == {"type": "string"}
    assert read["args"]["required"] == ["path"]
    assert not read["args"]["additionalProperties"]
    assert look["args"]["properties"] == {}
    assert "pattern" not in str(held_to)


def test_of_very_many_tools_only_the_names_are_held_to() -> None:
    many = tuple(ToolSpec(f"tool_{n}", "") for n in range(200))
    items = form(many)["properties"]["actions"]["items"]
    assert items["properties"]["tool"] == {"enum": [tool.name for tool in many]}
