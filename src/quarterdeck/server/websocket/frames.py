"""RFC 6455 without a socket: bytes become messages, messages become bytes. Strict, and bounded at every step."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

MOST_FRAGMENTS = 64
MOST_CONTROL = 125

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_CONTROL = {CLOSE, PING, PONG}
_KNOWN = {CONTINUATION, TEXT, BINARY, *_CONTROL}
_FIN, _RESERVED, _MASKED = 0x80, 0x70, 0x80
# Codes that may stand in a close frame of the other side.
_MAY_CLOSE = (range(1000, 1004), range(1007, 1015), range(3000, 5000))


class Broken(Exception):
    """The other side does not keep the protocol. `code` is what the connection is closed with."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why


@dataclass(frozen=True, slots=True)
class Incoming:
    """A whole message, or a control frame. A close has its code, 1005 where none was sent."""

    kind: Literal["text", "ping", "pong", "close"]
    data: bytes = b""
    code: int = 1000


class FrameParser:
    """Takes bytes in any pieces and yields what is whole; a message may have at most `limit` bytes."""

    __slots__ = ("_buffer", "_fragments", "_parts", "_size", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._buffer = bytearray()
        self._parts: list[bytes] = []
        self._fragments = self._size = 0

    def feed(self, data: bytes) -> Iterator[Incoming]:
        self._buffer += data
        while (frame := self._frame()) is not None:
            opcode, fin, payload = frame
            if opcode in _CONTROL:
                yield _control(opcode, payload)
            elif (message := self._gathered(opcode, payload, fin=fin)) is not None:
                yield Incoming("text", message)

    def _frame(self) -> tuple[int, bool, bytes] | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        first, second = buffer[0], buffer[1]
        opcode, size, at = first & 0x0F, second & 0x7F, 2
        _check(first, second)
        if size >= 126:
            at = 4 if size == 126 else 10
            if len(buffer) < at:
                return None
            size = struct.unpack_from("!H" if at == 4 else "!Q", buffer, 2)[0]
        if size + self._size > self.limit:
            raise Broken(1009, f"A message has at most {self.limit:,} bytes.")
        if len(buffer) < at + 4 + size:
            return None
        payload = unmasked(bytes(buffer[at : at + 4]), bytes(buffer[at + 4 : at + 4 + size]))
        del buffer[: at + 4 + size]
        return opcode, bool(first & _FIN), payload

    def _gathered(self, opcode: int, payload: bytes, *, fin: bool) -> bytes | None:
        if (opcode == CONTINUATION) != (self._fragments > 0):
            raise Broken(1002, "A message begins with its first frame and goes on with continuations.")
        if opcode == BINARY:
            raise Broken(1003, "Send text; there are no binary messages here.")
        if fin and not self._fragments:
            return payload
        self._parts.append(payload)
        self._fragments += 1
        self._size += len(payload)
        if self._fragments > MOST_FRAGMENTS:
            raise Broken(1008, f"A message comes in at most {MOST_FRAGMENTS} frames.")
        if not fin:
            return None
        message, self._parts = b"".join(self._parts), []
        self._fragments = self._size = 0
        return message


def _check(first: int, second: int) -> None:
    opcode = first & 0x0F
    if first & _RESERVED or opcode not in _KNOWN:
        raise Broken(1002, "No extension was agreed on, so reserved bits and opcodes are 0.")
    if not second & _MASKED:
        raise Broken(1002, "A client masks its frames.")
    if opcode in _CONTROL and (not first & _FIN or second & 0x7F > MOST_CONTROL):
        raise Broken(1002, "A control frame is whole and short.")


def _control(opcode: int, payload: bytes) -> Incoming:
    if opcode == PING:
        return Incoming("ping", payload)
    if opcode == PONG:
        return Incoming("pong", payload)
    if not payload:
        return Incoming("close", b"", 1005)
    code = int.from_bytes(payload[:2], "big")
    if len(payload) < 2 or not any(code in those for those in _MAY_CLOSE):
        raise Broken(1002, "A close frame has a code, or nothing.")
    try:
        payload[2:].decode()
    except UnicodeDecodeError:
        raise Broken(1007, "The reason of a close frame is UTF-8.") from None
    return Incoming("close", payload[2:], code)


def unmasked(mask: bytes, data: bytes) -> bytes:
    """All bytes at once, as one large number each."""
    size = len(data)
    over = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "little") ^ int.from_bytes(over, "little")).to_bytes(size, "little")


def framed(opcode: int, payload: bytes) -> bytes:
    """One whole frame, as a server sends it."""
    size = len(payload)
    if size < 126:
        return bytes((_FIN | opcode, size)) + payload
    if size < 1 << 16:
        return struct.pack("!BBH", _FIN | opcode, 126, size) + payload
    return struct.pack("!BBQ", _FIN | opcode, 127, size) + payload


def text(payload: bytes) -> bytes:
    return framed(TEXT, payload)


def texts(payloads: Iterable[bytes]) -> bytes:
    return b"".join(map(text, payloads))


def closing(code: int, reason: bytes = b"") -> bytes:
    return framed(CLOSE, code.to_bytes(2, "big") + reason[: MOST_CONTROL - 2])


def payloads(frames: bytes) -> Iterator[bytes]:
    """What `texts` was made of, for whoever has no socket of its own to write to."""
    at = 0
    while at < len(frames):
        size, at = frames[at + 1], at + 2
        if size >= 126:
            wide = 2 if size == 126 else 8
            size, at = int.from_bytes(frames[at : at + wide], "big"), at + wide
        yield frames[at : at + size]
        at += size
