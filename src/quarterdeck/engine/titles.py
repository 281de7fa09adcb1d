"""Finding a conversation by words of its title: what is kept to look it up by, and whether a title answers."""

from __future__ import annotations

import re
import unicodedata

LONGEST_TERM = 12
MOST_WORDS = 32
_WORDS = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def words(text: str) -> list[str]:
    """Case and width aside. A script that puts no space between its words gives each pair of signs."""
    found: list[str] = []
    for word in _WORDS.findall(unicodedata.normalize("NFKC", text).casefold()):
        found += _pairs(word) if _UNSPACED.search(word) else [word]
    return list(dict.fromkeys(found))[:MOST_WORDS]


def terms(title: str) -> list[str]:
    """Each beginning of each word."""
    begun = (word[:size] for word in words(title) for size in range(1, min(len(word), LONGEST_TERM) + 1))
    return list(dict.fromkeys(begun))


def answers(title: str, query: str) -> bool:
    """Whether every word that was asked for begins a word of the title."""
    known = words(title)
    return all(any(word.startswith(asked) for word in known) for asked in words(query))


def _pairs(word: str) -> list[str]:
    return [word[at : at + 2] for at in range(len(word))] if len(word) > 1 else [word]
