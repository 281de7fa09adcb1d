"""Which texts are about what was asked: words of English and Russian by their stems, Chinese and Japanese by pairs of
characters, ranked by BM25. Pure, and as good as its words: what is meant but not said is for an embedding model."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from quarterdeck.engine.stopwords import CHINESE, ENGLISH, RUSSIAN

K1, B = 1.2, 0.4
LONGEST_QUERY = 2000  # characters of a question that are looked at: of a long one its beginning and its end
MOST_TERMS = 64
LEAST_STEM = 3

_HAN = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003134f"
_PIECE = re.compile(rf"(?P<han>[{_HAN}]+)|(?P<word>(?:(?![{_HAN}])\w)+)(?:['’](?:s|re|ve|ll|d|m|t)\b)?")
_CYRILLIC = re.compile("[а-я]")
_RUSSIAN_ENDINGS = """
иями ями ами ыми ими ого его ому ему ешь ишь ете ите ают яют уют ает яет ует ить ать ять еть ться тся лся лась лись ала
яла ила ела али яли или ели ал ял ил ел ут ют ат ят ет ит ем им ом ах ях ов ев ей ой ый ий ая яя ое ее ые ие ую юю ам ям
ью ия ии ию а я о е и ы у ю ь й
"""
_ENDINGS = tuple(sorted(_RUSSIAN_ENDINGS.split(), key=len, reverse=True))  # the whole ending goes, not a part of it


def terms(text: str) -> Iterator[str]:
    """What a text is found by, stop words left out."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("ё", "е")
    for piece in _PIECE.finditer(plain):
        han = piece["han"]
        if han is not None:
            yield from _pairs(han)
        elif (word := piece["word"].strip("_")) and word not in ENGLISH and word not in RUSSIAN:
            yield _stem(word)


def _pairs(run: str) -> Iterator[str]:
    """Neighbouring characters, and a lone one by itself."""
    if len(run) == 1:
        if run not in CHINESE:
            yield run
        return
    for one, other in pairwise(run):
        if one not in CHINESE or other not in CHINESE:
            yield one + other


def _singles(text: str) -> Iterator[str]:
    """The characters of a text that say something by themselves."""
    for piece in _PIECE.finditer(unicodedata.normalize("NFKC", text).casefold()):
        yield from (char for char in piece["han"] or "" if char not in CHINESE)


def _alone(query: str) -> Iterator[str]:
    """Those of a question that stand between characters which say nothing, as 喝 and 茶 in 喝什么茶: no pair of theirs
    would be found in 喝乌龙茶."""
    for piece in _PIECE.finditer(unicodedata.normalize("NFKC", query).casefold()):
        runs = "".join(" " if char in CHINESE else char for char in piece["han"] or "").split()
        yield from (run for run in runs if len(run) == 1)


def _stem(word: str) -> str:
    return _russian_stem(word) if _CYRILLIC.search(word) else _english_stem(word)


def _russian_stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= LEAST_STEM:
            return word[: -len(ending)]
    return word


def _english_stem(word: str) -> str:
    if not word.isascii() or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s"):
        kept = word[: -len(ending)]
        if word.endswith(ending) and len(kept) >= LEAST_STEM and not word.endswith("ss"):
            word = kept[:-1] if len(kept) > 3 and kept[-1] == kept[-2] and ending in {"ing", "ed"} else kept
            break
    return word[:-1] if word.endswith("e") and len(word) > LEAST_STEM else word


@dataclass(frozen=True, slots=True)
class Hit:
    """`matched` is how many different terms of the question it has, `rare` whether one of them is seldom."""

    id: str
    score: float
    matched: int
    rare: bool = False


@dataclass(frozen=True, slots=True)
class _Kept:
    counts: Counter[str]
    length: int
    importance: float


class Index:
    """Texts by their terms. Whatever is taken out is gone from all of it at once."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._with: dict[str, set[str]] = {}
        self._length = 0

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, ident: str, text: str, importance: float = 0.5) -> None:
        self.drop(ident)
        counts = Counter(terms(text))
        length = counts.total()
        counts |= Counter(_singles(text))
        kept = self._kept[ident] = _Kept(counts, length, importance)
        self._length += kept.length
        for term in counts:
            self._with.setdefault(term, set()).add(ident)

    def drop(self, ident: str) -> None:
        kept = self._kept.pop(ident, None)
        if kept is None:
            return
        self._length -= kept.length
        for term in kept.counts:
            among = self._with[term]
            among.discard(ident)
            if not among:
                del self._with[term]

    def least(self) -> str:
        """The one that would be missed least: the least important, and of those the oldest."""
        return min(self._kept, key=lambda ident: (self._kept[ident].importance, ident))

    def search(self, query: str, limit: int, fits: Callable[[str], bool]) -> list[Hit]:
        """The best first; nothing that shares no term with the question."""
        text = _bounded(query)
        asked = list(dict.fromkeys((*terms(text), *_alone(text))))[:MOST_TERMS]
        scores: dict[str, float] = {}
        matched: Counter[str] = Counter()
        rare: set[str] = set()
        for term in asked:
            among = self._with.get(term, ())
            weight = self._weight(len(among))
            for ident in among:
                scores[ident] = scores.get(ident, 0.0) + weight * self._frequency(self._kept[ident], term)
                matched[ident] += 1
            if 0 < len(among) <= max(1, len(self._kept) // 20):
                rare.update(among)
        hits = [
            Hit(ident, score * (0.8 + 0.4 * self._kept[ident].importance), matched[ident], ident in rare)
            for ident, score in scores.items()
            if fits(ident)
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.id))
        return hits[:limit]

    def _weight(self, among: int) -> float:
        return math.log(1 + (len(self._kept) - among + 0.5) / (among + 0.5))

    def _frequency(self, kept: _Kept, term: str) -> float:
        average = self._length / max(1, len(self._kept)) or 1.0
        count = kept.counts[term]
        return count * (K1 + 1) / (count + K1 * (1 - B + B * kept.length / average))


NEAR = 0.3  # from which on a text is taken to mean what was asked
_SAID, _MEANT, _RANK = 0.3, 0.7, 60.0


def mostly_english(query: str) -> bool:
    """Whether a model of meanings that knows English alone has anything to say."""
    letters = [char for char in query if char.isalpha()]
    return bool(letters) and sum(char.isascii() for char in letters) >= 0.8 * len(letters)


def fused(hits: Sequence[Hit], near: Mapping[str, float], limit: int) -> list[Hit]:
    """What was said and what was meant as one order, by ranks. A single common word in common counts for nothing
    here: it would only push aside what is near."""
    scores: dict[str, float] = {}
    said = [hit.id for hit in hits if hit.matched > 1 or hit.rare]
    meant = sorted((ident for ident, share in near.items() if share >= NEAR), key=lambda ident: -near[ident])
    for weight, order in ((_SAID, said), (_MEANT, meant)):
        for rank, ident in enumerate(order):
            scores[ident] = scores.get(ident, 0.0) + weight / (_RANK + rank)
    known = {hit.id: hit for hit in hits}
    found = [replace(known.get(ident, Hit(ident, 0.0, 0)), score=score) for ident, score in scores.items()]
    return sorted(found, key=lambda hit: (-hit.score, hit.id))[:limit]


def _bounded(query: str) -> str:
    half = LONGEST_QUERY // 2
    return query if len(query) <= LONGEST_QUERY else f"{query[:half]} {query[-half:]}"
