"""What an agent says piece by piece: numbered, its own, and ended once."""

from __future__ import annotations

from functools import reduce

import pytest

from quarterdeck.engine import agent_stream as rules
from quarterdeck.engine.agent_stream import AgentStream, ToolUse
from quarterdeck.events.agent_stream import (
    AgentStreamDelta,
    AgentStreamEnded,
    AgentStreamInterrupted,
    AgentStreamStarted,
    AgentStreamTool,
)
from quarterdeck.events.base import Event
from quarterdeck.kernel.errors import Closed, Conflict, LimitReached, NotFound

STARTED = AgentStreamStarted("s", "m", "ann", "c")


def folded(*events: Event) -> AgentStream:
    return reduce(rules.evolve, events, rules.of("s"))


def test_pieces_are_counted_through_deltas_and_tools() -> None:
    tool = AgentStreamTool("s", "m", "ann", 2, "look", "{}", '{"ok":true}')
    known = folded(STARTED, AgentStreamDelta("s", "m", "ann", 0, ("a", "b")), tool)
    assert (known.pieces, known.text, known.tools) == (3, "ab", (ToolUse("look", "{}", '{"ok":true}'),))


def test_what_is_of_another_stream_changes_nothing() -> None:
    known = folded(STARTED)
    assert (
        folded(STARTED, AgentStreamDelta("t", "m", "ann", 0, ("x",)), AgentStreamEnded("t", "m", "ann", "", ""))
        == known
    )


def test_a_long_stream_keeps_all_its_text() -> None:
    many = [AgentStreamDelta("s", "m", "ann", n, (f"{n} ",)) for n in range(500)]
    assert folded(STARTED, *many).text == "".join(f"{n} " for n in range(500))


def test_only_its_own_agent_speaks_in_a_stream() -> None:
    with pytest.raises(NotFound):
        rules.may_speak(folded(STARTED), "other")
    with pytest.raises(NotFound):
        rules.may_speak(folded(), "m")
    rules.may_speak(folded(STARTED), "m")


@pytest.mark.parametrize(
    "last", [AgentStreamEnded("s", "m", "ann", "", "[]"), AgentStreamInterrupted("s", "m", "ann", "gone")]
)
def test_nothing_is_said_behind_the_end(last: Event) -> None:
    with pytest.raises(Closed) as refused:
        rules.may_speak(folded(STARTED, last), "m")
    assert refused.value.code == f"stream_{last.KIND.partition('.')[2]}"


def test_a_stream_that_is_started_again_by_the_same_agent_is_the_same() -> None:
    wanted = AgentStream("s", "m", "ann", "c")
    assert rules.may_start(folded(), "m", wanted, 0, 4)
    assert not rules.may_start(folded(STARTED), "m", wanted, 1, 1)
    with pytest.raises(Conflict):
        rules.may_start(folded(STARTED), "other", wanted, 0, 4)
    with pytest.raises(LimitReached):
        rules.may_start(folded(), "m", wanted, 4, 4)


def test_a_piece_is_new_seen_or_missing() -> None:
    assert rules.is_new(3, None)
    assert rules.is_new(3, 3)
    assert not rules.is_new(3, 1)
    with pytest.raises(Conflict) as missing:
        rules.is_new(3, 5)
    assert missing.value.extra == {"next_index": 3}


def test_a_stream_has_a_bound() -> None:
    rules.check_room(rules.MOST_PIECES, rules.MOST_CHARACTERS)
    for pieces, characters in [(rules.MOST_PIECES + 1, 0), (0, rules.MOST_CHARACTERS + 1)]:
        with pytest.raises(LimitReached):
            rules.check_room(pieces, characters)
