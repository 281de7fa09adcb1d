"""What the server says on stderr: each record begins with its time, and nothing in a record can look like another."""

from __future__ import annotations

import logging
import unicodedata

FORM = "%(asctime)s %(levelname)s %(name)s %(message)s"
# Control characters, those that turn or hide writing, and all that ends a line.
_HOSTILE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


class Logbook(logging.Formatter):
    """A record is one line; what led to a failure stands below it, indented."""

    def __init__(self) -> None:
        super().__init__(FORM)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's word
        return escaped(super().formatMessage(record))

    def formatException(self, ei: object) -> str:  # noqa: N802 - logging's word
        return "\n".join("  " + escaped(line) for line in super().formatException(ei).split("\n"))  # type: ignore[arg-type]


def keep(level: str) -> None:
    """From now on, what is at least of this level is said."""
    handler = logging.StreamHandler()
    handler.setFormatter(Logbook())
    logging.basicConfig(level=level.upper(), handlers=[handler])


def escaped(text: str) -> str:
    return "".join(char if unicodedata.category(char) not in _HOSTILE else _written(char) for char in text)


def _written(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
