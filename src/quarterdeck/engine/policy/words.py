"""Commands that are nothing but plain words, and how much of a command is read at all."""

from __future__ import annotations

import re

LONGEST = 8 * 1024

# Nothing in these means anything to a shell, and none of them looks like another.
_PLAIN = re.compile(r"[A-Za-z0-9_./:,@%+=-]{1,1024}")


def plain_words(command: str) -> tuple[str, ...] | None:
    """The words of a command that a shell would not change: plain ASCII with one blank in between. None for others."""
    words = tuple(command.split(" "))
    return words if all(map(_PLAIN.fullmatch, words)) else None


def beyond_limits(command: str) -> str | None:
    """Why this text is not looked at any further; None where it is."""
    if not command.strip():
        return "There is no command."
    if "\0" in command:
        return "The command holds a NUL character, behind which nothing would be seen; take it out."
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        return "The command holds half of a character (a lone surrogate); take it out."
    if size > LONGEST:
        return f"The command is {size} bytes long, and {LONGEST} are read; write it to a file and run that."
    return None
