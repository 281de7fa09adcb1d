"""Texts as a BERT without case knows them: the longest pieces of its vocabulary, word by word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

LONGEST_WORD = 100
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_WORDS = re.compile(rf"[{_HAN}]|(?:(?![{_HAN}_])\w)+|[^\w\s]|_")


class WordPiece:
    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {piece: number for number, piece in enumerate(vocabulary)}
        self._unknown, self._begin, self._end = (self._ids[name] for name in ("[UNK]", "[CLS]", "[SEP]"))

    def numbers(self, text: str, most: int) -> list[int]:
        """With the marks of beginning and end, `most` of them at most."""
        found = [number for word in _words(text) for number in self._pieces(word)]
        return [self._begin, *found[: most - 2], self._end]

    def _pieces(self, word: str) -> list[int]:
        found: list[int] = []
        begin = 0
        while begin < len(word):
            number, end = self._longest(word, begin)
            if number is None:
                return [self._unknown]
            found.append(number)
            begin = end
        return found

    def _longest(self, word: str, begin: int) -> tuple[int | None, int]:
        mark = "##" if begin else ""
        for end in range(len(word), begin, -1):
            number = self._ids.get(mark + word[begin:end])
            if number is not None:
                return number, end
        return None, begin


def _words(text: str) -> Iterator[str]:
    plain = unicodedata.normalize("NFD", text.lower())
    bare = "".join(char for char in plain if unicodedata.category(char) != "Mn")
    return (word[:LONGEST_WORD] for word in _WORDS.findall(bare))
