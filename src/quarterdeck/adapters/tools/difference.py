"""The difference between two texts as a person reads it: whole, never cut, and found in bounded time."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

CONTEXT = 3
# Beyond so many lines that differ, finding the shortest difference takes long; all old and all new lines are true too.
MOST_COMPARED = 800
UNENDED = "\n\\ No newline at end of file\n"


def difference(name: str, before: str, after: str) -> str:
    """A unified diff; empty where there is no difference. Nothing that differs is left out."""
    old, new = _lines(before), _lines(after)
    start = _shared(old, new)
    end = _shared(old[start:][::-1], new[start:][::-1])
    first, last = max(0, start - CONTEXT), max(0, end - CONTEXT)
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    if old == new:
        return ""
    hunks = _whole(old, new, first) if max(len(old), len(new)) > MOST_COMPARED else _hunks(old, new, first)
    return "".join([f"--- {name}\n+++ {name}\n", *(_ended(line) for line in hunks)])


def _hunks(old: Sequence[str], new: Sequence[str], first: int) -> Iterator[str]:
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT):
        begin, end = group[0], group[-1]
        yield _header(first + begin[1], end[2] - begin[1], first + begin[3], end[4] - begin[3])
        for what, a, b, c, d in group:
            if what == "equal":
                yield from (" " + line for line in old[a:b])
            else:
                yield from ("-" + line for line in old[a:b])
                yield from ("+" + line for line in new[c:d])


def _whole(old: Sequence[str], new: Sequence[str], first: int) -> Iterator[str]:
    yield _header(first, len(old), first, len(new))
    yield from ("-" + line for line in old)
    yield from ("+" + line for line in new)


def _header(old: int, olds: int, new: int, news: int) -> str:
    """Lines count from 1, but a side without lines names the line before."""
    return f"@@ -{old + bool(olds)},{olds} +{new + bool(news)},{news} @@\n"


def _lines(text: str) -> list[str]:
    """Only a newline ends a line here, whatever else Unicode knows."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _ended(line: str) -> str:
    return line if line.endswith("\n") else line + UNENDED
