"""What a command says: decoded, without secrets, its beginning and its end kept, a digest of the whole."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Callable
from typing import Protocol, TypeAlias

HEAD = 40 << 10
TAIL = 20 << 10


class Redactor(Protocol):
    """Takes secrets out of a text that comes in pieces; it holds back what may be the beginning of one."""

    def feed(self, text: str) -> str: ...

    def end(self) -> str: ...


Redacting: TypeAlias = Callable[[tuple[str, ...]], Redactor]


class Output:
    """Takes bytes as they come. `say` hears the beginning at once, and the end at the end."""

    def __init__(self, redactor: Redactor, say: Callable[[str], None]) -> None:
        self._redactor, self._say = redactor, say
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._digest = hashlib.sha256()
        self._head, self._tail = "", ""
        self._between = 0
        self.size = 0

    def take(self, data: bytes) -> None:
        self.size += len(data)
        self._digest.update(data)
        self._keep(self._redactor.feed(self._decode(data)))

    def close(self) -> None:
        self._keep(self._redactor.feed(self._decode(b"", final=True)))
        self._keep(self._redactor.end())
        if self._tail:
            self._say(self._rest)

    @property
    def text(self) -> str:
        return self._head + self._rest

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    @property
    def _rest(self) -> str:
        return f"\n… {self._between:,} more characters …\n{self._tail}" if self._between else self._tail

    def _keep(self, text: str) -> None:
        room = HEAD - len(self._head)
        head, rest = (text[:room], text[room:]) if room > 0 else ("", text)
        if head:
            self._head += head
            self._say(head)
        if rest:
            joined = self._tail + rest
            self._tail = joined[-TAIL:]
            self._between += len(joined) - len(self._tail)
