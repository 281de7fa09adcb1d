"""The decoder of server-sent events."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.adapters.models.sse import SseDecoder
from quarterdeck.kernel.errors import ModelFailed

STREAM = (
    '\ufeffdata: {"a":1}\n\n'
    "data: plain\n\ndata: again\n\n"
    ": a comment\n\n"
    "event: named\nid: 7\nretry: 10\ndata:no blank\n\n"
    "data: two\ndata: lines\n\n"
    "data\n\n"
    "data: crlf\r\n\r\n"
    "data: cr\r\r"
    "data: mixed\r\n\n"
    "\n\n\n"
    "unknown: field\ndata: 中文 ☂\n\n"
    "data: unfinished"
).encode()
EXPECTED = [
    '{"a":1}', "plain", "again", "no blank", "two\nlines", "", "crlf", "cr", "mixed", "中文 ☂",
]  # fmt: skip


def decoded(packets: list[bytes]) -> list[str]:
    decoder = SseDecoder()
    return [payload.decode() for packet in packets for payload in decoder.feed(packet)]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def test_every_form_an_event_may_have_is_understood() -> None:
    assert decoded([STREAM]) == EXPECTED


def test_byte_by_byte_gives_the_same() -> None:
    assert decoded([STREAM[i : i + 1] for i in range(len(STREAM))]) == EXPECTED


@given(st.lists(st.integers(0, 10**6), max_size=12))
def test_wherever_it_is_cut_it_gives_the_same(places: list[int]) -> None:
    assert decoded(cut(STREAM, places)) == EXPECTED


PIECES = ["data: ", "data:", "data", "x", "\n", "\n\n", "\r", "\r\n", ":", ": c", "event: e", "\n\ndata: "]


@given(st.lists(st.sampled_from(PIECES), max_size=30), st.lists(st.integers(0, 10**6), max_size=8))
def test_the_short_way_and_the_long_way_agree(pieces: list[str], places: list[int]) -> None:
    data = "".join(pieces).encode()
    slow = SseDecoder()
    one_by_one = [payload.decode() for i in range(len(data)) for payload in slow.feed(data[i : i + 1])]
    assert decoded([data]) == one_by_one
    assert decoded(cut(data, places)) == one_by_one
    assert decoded([b"data: first\n\n", *cut(data, places)])[:1] == ["first"]


@pytest.mark.parametrize(
    "packets",
    [
        [b"data: " + b"x" * 200],
        [b"data: " + b"x" * 200 + b"\n\n"],
        [b"x"] * 200,
        [b"data: a\n\n", b"data: " + b"x" * 95 + b"\n"],
        [b"data: " + b"x" * 40 + b"\n"] * 3,
    ],
)
def test_what_is_too_long_is_refused_before_it_fills_the_memory(packets: list[bytes]) -> None:
    decoder = SseDecoder(longest=100)
    with pytest.raises(ModelFailed) as caught:
        list(map(decoder.feed, packets))
    assert caught.value.code == "provider_malformed"


def test_many_short_events_in_one_long_read_are_fine() -> None:
    assert len(SseDecoder(longest=100).feed(b"data: short\n\n" * 100)) == 100
