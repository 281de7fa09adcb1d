"""Which skill fits a message: words by their stems, Chinese by pairs of characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from quarterdeck.kernel.skills import Skill

HEARD = 2000  # characters of a message that are looked at
BREADTH = 10  # words beyond which a message is no longer held against a skill
STRONG, WEAK = 2, 1  # what a word of the name or the keywords counts, and one of the description
LEAST_SCORE, LEAST_HITS, LEAST_SHARE = 4, 2, 0.25
LEAST_STEM = 3
SHORTEST_NAME = 4  # letters from which on a name of one word may speak for itself

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_PIECES = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+")
_IS_HAN = re.compile(rf"[{_HAN}]")
_LATIN = "ations ation ings ing ers er ies ied ed es is s"
_CYRILLIC = """ировать ировал иями ями ами ого его ому ему ыми ими ите йте ьте ешь ать ять ить еть ий ый ой ая яя ое ее
ые ие ую юю ов ев ей ам ям ах ях ом ем ть й а я о е ы и у ю ь"""
_SMALL_TALK = """
a about all am an and any are as at be but by can could did do does for from get give had has have he hello help her hey
hi him his how i if in into is it its just let like make may me more my no not now of on one or our please she should so
some tell thank thanks that the their them then there these they this to us use used using was we were what when where
which who why will with would yes you your
а бы в во вот вы где да для до его ее если есть еще же за здравствуй здравствуйте и из или им их к как какой какая какие
когда кто ли мне мой моя мы на над не нет но ну о об он она они от по под пожалуйста после при привет про с со спасибо
так там то тоже ты у уже хорошо что чтобы эта эти это этот я
一下 一个 什么 你好 可以 如何 帮我 怎么 我们 这个 那个 谢谢 请帮"""
_ENDINGS_LATIN = sorted(_LATIN.split(), key=len, reverse=True)
_ENDINGS_CYRILLIC = sorted(_CYRILLIC.split(), key=len, reverse=True)
_STOP = frozenset(_SMALL_TALK.split())


def matching(skills: Sequence[Skill], message: str, limit: int = 1) -> tuple[Skill, ...]:
    """The skills that plainly fit, the best first; small talk fits none. A workspace's comes behind its equals."""
    said = _terms(message[:HEARD])
    if not said:
        return ()
    scored = [(score, skill) for skill in skills if (score := _score(_known(skill), said))]
    scored.sort(key=lambda each: (-each[0], each[1].origin == "workspace", each[1].name))
    return tuple(skill for _, skill in scored[:limit])


def summary(name: str, description: str, origin: str) -> str:
    """The line that is put before the model. It says so where the words are a stranger's."""
    line = f"Active skill: {name} — {description}"
    return f"{line} (from the workspace's own files)" if origin == "workspace" else line


@dataclass(frozen=True, slots=True)
class _Known:
    name: frozenset[str]
    strong: frozenset[str]
    weak: frozenset[str]


@lru_cache(maxsize=1024)
def _known(skill: Skill) -> _Known:
    name = _terms(skill.name)
    strong = name.union(*(_terms(word) for word in skill.keywords))
    return _Known(name, strong, _terms(skill.description) - strong)


def _score(known: _Known, said: frozenset[str]) -> float:
    """Nothing, or how well they fit."""
    strong, weak = len(said & known.strong), len(said & known.weak)
    score = STRONG * strong + WEAK * weak
    named = bool(known.name) and known.name <= said and len("".join(known.name)) >= SHORTEST_NAME
    share = (strong + weak) / min(len(said), BREADTH)
    enough = score >= LEAST_SCORE and strong + weak >= LEAST_HITS
    if share < LEAST_SHARE or not (named or enough):
        return 0.0
    return score + share + (LEAST_SCORE if named else 0)


def _terms(text: str) -> frozenset[str]:
    plain = unicodedata.normalize("NFKC", text).casefold().replace("ё", "е")
    found: set[str] = set()
    for piece in _PIECES.findall(plain):
        if _IS_HAN.match(piece):
            pairs = {piece[at : at + 2] for at in range(len(piece) - 1)}
            found |= pairs - _STOP
        elif piece not in _STOP and len(piece) > 1 and not piece.isdigit():
            found.add(stem(piece))
    return frozenset(found)


def stem(word: str) -> str:
    """A word without its endings: rough, but alike for most of its forms."""
    if "\u0400" <= word[0] <= "\u04ff":
        return _without(word, _ENDINGS_CYRILLIC)
    bare = word if word.endswith("ss") else _without(word, _ENDINGS_LATIN)
    return _without(bare, ("e", "y")).replace("yz", "ys")


def _without(word: str, endings: Sequence[str]) -> str:
    """Less the first of these that fits and leaves something."""
    return next((word[: -len(e)] for e in endings if word.endswith(e) and len(word) - len(e) >= LEAST_STEM), word)
