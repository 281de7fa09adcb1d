"""RFC 6455 as bytes: what is whole comes out, what breaks a rule has its code, in whatever pieces it arrives."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.websocket import frames as ws
from quarterdeck.server.websocket.frames import Broken, FrameParser, Incoming

LIMIT = 1000


def masked(
    opcode: int, payload: bytes = b"", *, fin: bool = True, rsv: int = 0, mask: bytes = b"\x17\x2a\xc0\x01"
) -> bytes:
    first = (0x80 if fin else 0) | rsv | opcode
    size = len(payload)
    if size < 126:
        head = bytes((first, 0x80 | size))
    elif size < 1 << 16:
        head = struct.pack("!BBH", first, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, size)
    return head + mask + ws.unmasked(mask, payload)


def parsed(data: bytes, step: int | None = None) -> list[Incoming]:
    parser = FrameParser(LIMIT)
    return [
        each
        for at in range(0, len(data), step or len(data))
        for each in parser.feed(data[at : at + (step or len(data))])
    ]


@given(st.lists(st.binary(max_size=300), max_size=5), st.integers(1, 40))
def test_messages_come_out_whole_in_whatever_pieces_they_arrive(messages: list[bytes], step: int) -> None:
    data = b"".join(masked(ws.TEXT, each) for each in messages)
    assert [each.data for each in parsed(data, step)] == messages if data else True


def test_a_message_may_come_in_fragments_with_control_frames_between() -> None:
    data = masked(ws.TEXT, b"a", fin=False) + masked(ws.PING, b"!") + masked(ws.CONTINUATION, b"b")
    assert parsed(data, 1) == [Incoming("ping", b"!"), Incoming("text", b"ab")]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (masked(ws.TEXT, b"x" * (LIMIT + 1)), 1009),
        (struct.pack("!BBQ", 0x81, 0xFF, 1 << 62), 1009),
        (masked(ws.TEXT, b"x" * 600, fin=False) + masked(ws.CONTINUATION, b"x" * 600), 1009),
        (masked(ws.TEXT, b"", fin=False) + masked(ws.CONTINUATION, b"", fin=False) * 1000, 1008),
        (b"\x81\x01x", 1002),
        (masked(ws.TEXT, b"", rsv=0x40), 1002),
        (masked(ws.TEXT, b"", rsv=0x10), 1002),
        (masked(0x3), 1002),
        (masked(0xB), 1002),
        (masked(ws.CONTINUATION, b"x"), 1002),
        (masked(ws.TEXT, b"x", fin=False) + masked(ws.TEXT, b"y"), 1002),
        (masked(ws.PING, b"x", fin=False), 1002),
        (masked(ws.PING, b"x" * 126), 1002),
        (masked(ws.CLOSE, b"x"), 1002),
        (masked(ws.CLOSE, (1005).to_bytes(2, "big")), 1002),
        (masked(ws.CLOSE, (1000).to_bytes(2, "big") + b"\xff"), 1007),
        (masked(ws.BINARY, b"x"), 1003),
    ],
)
def test_what_breaks_a_rule_is_refused_with_its_code(data: bytes, code: int) -> None:
    for step in (None, 1):
        with pytest.raises(Broken) as broken:
            parsed(data, step)
        assert broken.value.code == code


@given(st.binary(max_size=200))
def test_noise_is_waited_for_or_refused_and_nothing_else(noise: bytes) -> None:
    code = None
    try:
        parsed(noise or b"\x00", 7)
    except Broken as broken:
        code = broken.code
    assert code in {None, 1002, 1003, 1007, 1008, 1009}


@given(
    st.lists(st.sampled_from([0, 1, 125, 126, 127, 65_535, 65_536, 70_000]).map(lambda size: b"x" * size), max_size=6)
)
def test_frames_that_were_put_together_can_be_taken_apart(payloads: list[bytes]) -> None:
    assert list(ws.payloads(ws.texts(payloads))) == payloads


def test_a_close_has_its_code_or_none() -> None:
    assert parsed(masked(ws.CLOSE)) == [Incoming("close", b"", 1005)]
    assert parsed(masked(ws.CLOSE, (4401).to_bytes(2, "big") + "è".encode())) == [Incoming("close", "è".encode(), 4401)]
