"""Known secrets taken out of text that comes in pieces, in every form in which they could come through."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator

from quarterdeck.engine.policy.keys import REDACTED

# A form of fewer characters than this would be found in text that has nothing to do with it.
_SHORTEST_FORM = 4
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")
_MARKUP = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}


class Redactor:
    """Fed text in any pieces, it gives the same text without the secrets, as early as that can be told.

    It keeps back one character less than the longest form has, so that none is given away in halves.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        found = {form for secret in secrets if secret for form in forms(secret)}
        self._forms = sorted(found, key=len, reverse=True)
        self._back = len(self._forms[0]) - 1 if self._forms else 0
        self._held = ""
        self._covered = 0  # how much of what is held belongs to a secret that was already announced

    def feed(self, chunk: str) -> str:
        self._held += chunk
        return self._given(max(0, len(self._held) - self._back))

    def end(self) -> str:
        """The rest. From here on it may be fed something new."""
        return self._given(len(self._held))

    def _given(self, safe: int) -> str:
        """The text before `safe`: no form that is still to come can begin there."""
        pieces, at, covered = [], 0, 0
        for begin, end in self._found():
            if begin >= safe and begin > 0:
                break
            pieces.append(self._held[at:begin])
            if begin or not self._covered:
                pieces.append(REDACTED)
            at = covered = end
        pieces.append(self._held[at:safe])
        self._held = self._held[safe:]
        self._covered = max(0, covered - safe)
        return "".join(pieces)

    def _found(self) -> list[tuple[int, int]]:
        """Where secrets stand, those that overlap taken together."""
        spans = [(0, self._covered)] if self._covered else []
        spans += [(begin, begin + len(form)) for form in self._forms for begin in _places(form, self._held)]
        joined: list[tuple[int, int]] = []
        for begin, end in sorted(spans):
            if joined and begin < joined[-1][1]:
                joined[-1] = joined[-1][0], max(joined[-1][1], end)
            else:
                joined.append((begin, end))
        return joined


def _places(form: str, text: str) -> Iterator[int]:
    at = text.find(form)
    while at >= 0:
        yield at
        at = text.find(form, at + 1)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """A whole text without these."""
    redactor = Redactor(secrets)
    return redactor.feed(text) + redactor.end()


def forms(secret: str) -> frozenset[str]:
    """How a secret may look: as it is, and written as JSON, in an address, in markup, for a shell, base64 and hex."""
    raw = secret.encode("utf-8", "surrogatepass")
    written = {*_written(secret), *_percent(raw), *_base64(raw), raw.hex(), raw.hex().upper()}
    return frozenset({secret, *(form for form in written if len(form) >= _SHORTEST_FORM)})


def _written(secret: str) -> Iterator[str]:
    for escaped in (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        yield escaped
        yield escaped.replace("/", "\\/")
        yield json.dumps(escaped)[1:-1]
    yield repr(secret)[1:-1]
    yield secret.replace("'", "'\\''")
    yield secret.replace("'", "'\"'\"'")
    yield "".join(_MARKUP.get(character, character) for character in secret)
    yield "".join(character if character.isalnum() else "\\" + character for character in secret)


def _percent(raw: bytes) -> Iterator[str]:
    for kept in (_UNRESERVED, _UNRESERVED | frozenset(b"/"), _UNRESERVED | frozenset(b"!'()*"), frozenset(b"")):
        for blank in ("%20", "+"):
            parts = [chr(byte) if byte in kept else blank if byte == 0x20 and kept else f"%{byte:02X}" for byte in raw]
            yield "".join(parts)
            yield "".join(part.lower() if part.startswith("%") else part for part in parts)


def _base64(raw: bytes) -> Iterator[str]:
    """Alone, and amid other bytes: there the characters that its neighbours have a share in are left out."""
    whole = base64.b64encode(raw).decode()
    amid = [base64.b64encode(bytes(before) + raw).decode().rstrip("=") for before in range(3)]
    cut = [text[(before * 8 + 5) // 6 : (before + len(raw)) * 8 // 6] for before, text in enumerate(amid)]
    for text in (whole, whole.rstrip("="), *cut):
        yield text
        yield text.replace("+", "-").replace("/", "_")
