"""The terminal: what is plain, what is dimmed, and that nothing a model wrote can command it."""

from __future__ import annotations

import sys
import unicodedata
from typing import TextIO

from quarterdeck.settings import Settings

DIM, UNDIM = "\x1b[2m", "\x1b[22m"

# Control characters are shown as their pictures, so that no text moves the cursor or sets a title; those that turn the
# direction of writing around are left out.
_INERT: dict[int, int | str | None] = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
_INERT |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), "\ufffd")
_INERT |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F])


def inert(text: str) -> str:
    return text.translate(_INERT)


class Screen:
    """`live` is a terminal: everything appears as it comes. Elsewhere stdout gets the answer alone, notes go beside."""

    def __init__(self, settings: Settings) -> None:
        self.live = sys.stdout.isatty()
        self._notes: TextIO = sys.stdout if self.live else sys.stderr
        self._colour = not settings.no_color and self._notes.isatty()
        for stream in (sys.stdout, sys.stderr):
            getattr(stream, "reconfigure", lambda **_: None)(errors="replace")

    def plain(self, text: str) -> None:
        sys.stdout.write(inert(text))
        sys.stdout.flush()

    def dim(self, text: str) -> None:
        """Among what is said live."""
        sys.stdout.write(f"{DIM}{inert(text)}{UNDIM}" if self._colour else inert(text))
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """A line of our own beside the answer."""
        self._notes.write(f"{DIM}{inert(text)}{UNDIM}\n" if self._colour else f"{inert(text)}\n")
        self._notes.flush()

    def complain(self, sentence: str) -> None:
        sys.stderr.write(f"quarterdeck: {inert(sentence)}\n")
        sys.stderr.flush()


def fitted(text: str, width: int) -> str:
    """One line of at most `width` columns; Chinese characters take two."""
    line = " ".join(inert(text).split())
    if columns(line) <= width:
        return line
    while columns(line) > width - 1:
        line = line[: max(1, len(line) - (columns(line) - width + 2) // 2)] if len(line) > 1 else ""
    return line.rstrip() + "…"


def padded(text: str, width: int) -> str:
    shown = fitted(text, width)
    return shown + " " * max(0, width - columns(shown))


def columns(text: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1 for char in text
    )
