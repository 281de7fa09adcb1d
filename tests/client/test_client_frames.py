"""The reader of server-sent events: the same frames, wherever the bytes were cut."""

from __future__ import annotations

from collections import deque

import pytest

from quarterdeck.client.frames import Frame, FrameReader
from quarterdeck.client.trouble import Refused

WIRE = (
    '\ufeffid: v1.00000000.1\nevent: content_delta\ndata: {"a": "猫"}\n\n'
    ": a comment\n\n"
    'event: hb\r\ndata: {"head": 1}\r\n\r\n'
    "id:2\rdata:one\rdata: two\rdata\r\r"
    "retry: 10\nevent: nothing to tell\n\n"
    "data: \u2028 is no end of a line\nunknown: field\n\n"
    "data: never ended"
).encode()
FRAMES = [
    Frame("content_delta", '{"a": "猫"}', "v1.00000000.1"),
    Frame("hb", '{"head": 1}'),
    Frame("message", "one\ntwo\n", "2"),
    Frame("message", "\u2028 is no end of a line"),
]


def read(*parts: bytes) -> list[Frame]:
    reader = FrameReader()
    return [frame for part in parts for frame in reader.feed(part)]


def test_frames_are_the_same_wherever_the_bytes_are_cut_in_two() -> None:
    assert read(WIRE) == FRAMES
    for cut in range(len(WIRE) + 1):
        assert read(WIRE[:cut], WIRE[cut:]) == FRAMES, cut


def test_frames_are_the_same_byte_by_byte_and_in_threes() -> None:
    for size in (1, 2, 3, 7):
        assert read(*(WIRE[at : at + size] for at in range(0, len(WIRE), size))) == FRAMES, size


def test_an_event_whose_blank_line_never_came_is_not_told() -> None:
    assert read(b"data: half\n") == []


def test_an_id_belongs_to_its_own_frame_alone() -> None:
    assert [frame.id for frame in read(b"id: 7\ndata: a\n\ndata: b\n\n")] == ["7", None]


@pytest.mark.parametrize("part", [b"x" * 100, b"data: y\n" * 20])
def test_an_endless_event_is_refused_before_it_fills_the_memory(part: bytes) -> None:
    reader = FrameReader(longest=1000)
    with pytest.raises(Refused) as refused:
        deque((reader.feed(part) for _ in range(100)), maxlen=0)
    assert refused.value.code == "frame_too_long"
