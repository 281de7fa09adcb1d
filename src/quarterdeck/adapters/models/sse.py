"""A decoder of server-sent events: bytes in, as they were cut on the way, payloads of complete events out.

It does no I/O and knows nothing of what the payloads mean. Event names, ids and comments are dropped: the providers
we speak to repeat all that matters inside the payload.
"""

from __future__ import annotations

from quarterdeck.kernel.errors import ModelFailed

LONGEST_EVENT = 1 << 20
BOM = b"\xef\xbb\xbf"


class SseDecoder:
    """Feed it what the socket gave; it answers with the `data` of every event that is now complete."""

    __slots__ = ("_after_cr", "_at_start", "_fields", "_held", "_longest", "_pieces")

    def __init__(self, longest: int = LONGEST_EVENT) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []  # of a line whose end has not come, unjoined: a long one may come byte by byte
        self._fields: list[bytes] = []  # data lines of an event whose end has not come
        self._held = 0  # bytes in both
        self._after_cr = False
        self._at_start = True

    def feed(self, data: bytes) -> list[bytes]:
        if self._at_start and not self._held and data[:1] not in BOM:  # no mark stands there, and so none is looked for
            self._at_start = False
        if b"\n" in data and b"\r" not in data and not (self._after_cr or self._fields or self._at_start):
            whole = self._feed_plain(data)
            if whole is not None:
                return whole
        return self._feed_lines(data)

    def _feed_plain(self, data: bytes) -> list[bytes] | None:
        """The usual case, `data: {…}` and a blank line, again and again, done without a loop of our own."""
        if self._pieces:
            data = b"".join((*self._pieces, data))
        end = data.rfind(b"\n\n") + 2
        if end < 2 or not data.startswith(b"data: ") or len(data) > self._longest:
            return None
        payloads = data[6 : end - 2].split(b"\n\ndata: ")
        if data.count(b"\n") != 2 * len(payloads):
            return None  # an event of several lines, a comment, a name, or a line that has begun
        rest = data[end:]
        self._pieces, self._held = ([rest], len(rest)) if rest else ([], 0)
        return payloads

    def _feed_lines(self, data: bytes) -> list[bytes]:
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._held += len(data)
        if b"\n" not in data:
            self._pieces.append(data)
            self._check()
            return []
        lines = b"".join((*self._pieces, data)).split(b"\n")
        rest = lines.pop()
        self._pieces = [rest] if rest else []
        payloads: list[bytes] = []
        for line in lines:
            self._take(line, payloads)
        self._held = len(rest) + sum(map(len, self._fields))
        self._check()
        return payloads

    def _take(self, line: bytes, payloads: list[bytes]) -> None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(BOM)
        if not line:
            if self._fields:
                payloads.append(b"\n".join(self._fields))
                self._fields = []
        elif line.startswith(b"data:"):
            if len(line) > self._longest:
                raise _too_long(self._longest)
            self._fields.append(line[6:] if line[5:6] == b" " else line[5:])
        elif line == b"data":
            self._fields.append(b"")

    def _check(self) -> None:
        if self._held > self._longest:
            raise _too_long(self._longest)


def _too_long(longest: int) -> ModelFailed:
    detail = f"The provider sent an event of more than {longest} bytes."
    return ModelFailed("provider_malformed", detail, retryable=True)
