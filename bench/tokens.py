"""Numbered tokens: how the mock model counts, and how an answer is verified against that count."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

WIDTH = 5  # four digits and a blank: where a token lies in the text follows from its index
LIMIT = 10 ** (WIDTH - 1)
NUMBER = re.compile(r"\d{4}")


def numbered(count: int) -> list[str]:
    """The tokens of one answer: `0000 `, `0001 `, …"""
    if not 0 < count <= LIMIT:
        raise ValueError(f"an answer has 1 to {LIMIT} tokens, not {count}")
    return [f"{index:04d} " for index in range(count)]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with the tokens of one answer; `garbled` is text that is no token at all."""

    missing: int = 0
    doubled: int = 0
    disordered: int = 0
    garbled: int = 0

    @property
    def faults(self) -> int:
        return self.missing + self.doubled + self.disordered + self.garbled


def verify(text: str, count: int, *, whole: bool) -> Verdict:
    """Compares a text with the first `count` tokens; of an answer that was cut short only what came is judged."""
    expected = "".join(numbered(count))
    if text == expected or (not whole and expected.startswith(text)):
        return Verdict()
    found = [int(number) for number in NUMBER.findall(text)]
    counts = Counter(found)
    reach = count if whole else max(found, default=-1) + 1
    missing = sum(index not in counts for index in range(reach))
    doubled = sum(times - 1 for times in counts.values())
    disordered = sum(after < before for before, after in pairwise(found))
    return Verdict(missing, doubled, disordered, garbled=int(not (missing or doubled or disordered)))
