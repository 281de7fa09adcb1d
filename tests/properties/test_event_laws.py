"""Laws of events: they come back from their bytes, and a snapshot with the rest is the whole."""

from __future__ import annotations

import itertools
from functools import reduce

from event_strategies import events, events_of_runs
from hypothesis import given, settings
from hypothesis import strategies as st

from logroom import RUN
from quarterdeck.events.base import Event, Unknown
from quarterdeck.events.codec import decode, encode
from quarterdeck.log.entries import Entry
from quarterdeck.log.rows import broken_link, cut, event_of, placed
from quarterdeck.ports import Row, StreamState
from quarterdeck.views.run_snapshot import RunSnapshot, evolve, restored

SALTS = itertools.repeat(b"\0" * 16)
HISTORIES = st.lists(events_of_runs(), min_size=1, max_size=12)


def rows_of(history: list[Event]) -> tuple[StreamState, list[Row]]:
    return placed(StreamState(1, RUN), Entry(RUN, tuple(history)), 1.5, SALTS)


@given(events())
def test_every_event_comes_back_from_its_bytes(event: Event) -> None:
    back = decode(event.KIND, event.VERSION, encode(event))
    assert back == event
    assert hash(back) == hash(event)
    assert encode(back) == encode(event)


@given(events(), st.integers(1, 9))
def test_an_event_of_a_later_version_passes_through_untouched(event: Event, later: int) -> None:
    data = encode(event)
    back = decode(event.KIND, event.VERSION + later, data, event.span)
    assert back == Unknown(event.KIND, data, event.span)
    assert (encode(back), back.span) == (data, event.span)


@given(HISTORIES)
def test_rows_hold_the_events_and_their_chain_is_whole(history: list[Event]) -> None:
    state, rows = rows_of(history)
    assert [event_of(row) for row in rows] == history
    assert state.head == sum(event.span for event in history)
    assert broken_link(StreamState(1, RUN), rows) is None
    if len(rows) > 1:
        assert broken_link(StreamState(1, RUN), rows[1:]) is not None


@given(HISTORIES, st.data())
def test_a_row_cut_at_any_place_holds_exactly_the_rest(history: list[Event], data: st.DataObject) -> None:
    _, rows = rows_of(history)
    row = data.draw(st.sampled_from(rows))
    after = data.draw(st.integers(row.first - 1, row.last - 1))
    rest = cut(row, after)
    if row.first == row.last or after == row.first - 1:
        assert rest == row
    else:
        assert (rest.first, rest.last) == (after + 1, row.last)
        assert event_of(rest).texts == event_of(row).texts[after - row.first + 1 :]  # type: ignore[attr-defined]


@settings(max_examples=60)
@given(HISTORIES)
def test_a_snapshot_at_any_place_and_the_rest_are_the_whole(history: list[Event]) -> None:
    state, rows = rows_of(history)
    whole = reduce(evolve, history, RunSnapshot())
    assert whole.seq == state.head
    for place in range(state.head + 1):
        assert reduce(evolve, _behind(rows, place), restored(_at(rows, place).stored())) == whole


def _at(rows: list[Row], place: int) -> RunSnapshot:
    """The snapshot of whoever had read up to this place, one place at a time."""
    shot, seen = RunSnapshot(), 0
    while seen < place:
        row = next(row for row in rows if row.last > seen)
        rest = event_of(cut(row, seen))
        one = rest if row.first == row.last else type(rest)(rest.attempt, rest.texts[:1])  # type: ignore[attr-defined,call-arg]
        shot, seen = evolve(shot, one), seen + 1
    return shot


def _behind(rows: list[Row], place: int) -> list[Event]:
    return [event_of(cut(row, place)) for row in rows if row.last > place]
