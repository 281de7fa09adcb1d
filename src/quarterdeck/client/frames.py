"""Server-sent events, read incrementally: bytes as they were cut on the way go in, whole frames come out."""

from __future__ import annotations

from dataclasses import dataclass

from quarterdeck.client.trouble import Refused

LONGEST_FRAME = 64 * 1024 * 1024
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it stood on the wire. `id` is this frame's own; None where it has none."""

    event: str
    data: str
    id: str | None = None


class FrameReader:
    """Follows the standard's rules for lines, fields and blanks, but does not carry an id over to later frames."""

    def __init__(self, longest: int = LONGEST_FRAME) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []  # of a line whose end has not come, unjoined
        self._held = 0
        self._after_cr = False
        self._first_line = True
        self._data: list[bytes] = []
        self._event = b""
        self._id: bytes | None = None

    def feed(self, data: bytes) -> list[Frame]:
        if not data:
            return []
        ends_in_cr = data.endswith(b"\r")
        if self._after_cr:
            data = data.removeprefix(b"\n")
        self._after_cr = ends_in_cr
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._held += len(data)
        if self._held > self._longest:
            raise Refused(f"The server sent an event of more than {self._longest:,} bytes.", code="frame_too_long")
        if b"\n" not in data:
            self._pieces.append(data)
            return []
        *lines, rest = b"".join((*self._pieces, data)).split(b"\n")
        self._pieces = [rest] if rest else []
        frames: list[Frame] = []
        for line in lines:
            self._take(line, frames)
        self._held = len(rest) + sum(map(len, self._data))
        return frames

    def _take(self, line: bytes, frames: list[Frame]) -> None:
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(BOM)
        if not line:
            self._dispatch(frames)
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value
        elif name == b"id" and b"\0" not in value:
            self._id = value

    def _dispatch(self, frames: list[Frame]) -> None:
        if self._data:
            data = b"\n".join(self._data).decode("utf-8", "replace")
            ident = None if self._id is None else self._id.decode("utf-8", "replace")
            frames.append(Frame(self._event.decode("utf-8", "replace") or "message", data, ident))
        self._clear()

    def _clear(self) -> None:
        self._data, self._event, self._id = [], b"", None
