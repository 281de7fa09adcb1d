"""What a person is shown before saying yes: all of it, with everything visible that could hide or lie."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

LONG = 4 * 1024

_MANY = 4
_PIECE = re.compile(r"\\|([^\\])\1*", re.DOTALL)
_LETTERS = frozenset({"Lu", "Ll", "Lt", "Lo"})
_BLANK_LETTERS = re.compile("[\u115f\u1160\u3164\uffa0\U00013441-\U00013446]")
_JOINING_LETTERS = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BLANKS = re.compile("[\u034f\u17b4\u17b5\u180b-\u180f\u2800\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_HIDDEN = frozenset({"Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_SPACES = re.compile(r" {16,}")
_WORDS = re.compile(r"\w+")
_ALIKE_SCRIPTS = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
# Letters of other scripts that are drawn like a Latin one.
_TWINS = frozenset("аеорсухіјѕһԁԛԝӏАВЕЅІЈКМНОРСТУХҮԌԚԜονιυρΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսոհ")


def visible(text: str) -> str:
    r"""The text on one line, nothing left out. What is not a printable ASCII character or a plain letter is `\u{…}`.

    Spaces at an end and long runs of anything that needs it are written with their number, `\u{20*37}`. No two
    texts look the same: `\u{` itself is written as `\u{5c}u{`.
    """
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    for found in _PIECE.finditer(text):
        run = found.group()
        if run == "\\":
            yield _written(run, 1) if text.startswith("u{", found.end()) else run
        elif run[0] == " ":
            at_an_end = found.start() == 0 or found.end() == len(text) or text[found.end()] == "\n"
            yield _written(" ", len(run)) if len(run) >= _MANY or at_an_end else run
        elif _plain(run[0]):
            yield run
        else:
            yield _written(run[0], len(run))


def _written(character: str, times: int) -> str:
    one = f"\\u{{{ord(character):x}}}"
    return one * times if times < _MANY else f"\\u{{{ord(character):x}*{times}}}"


def _plain(character: str) -> bool:
    if character.isascii():
        return character.isprintable()
    return (
        unicodedata.category(character) in _LETTERS
        and not (_BLANK_LETTERS.match(character) or _JOINING_LETTERS.match(character))
        and unicodedata.normalize("NFKC", character) == character
    )


def suspicious(text: str) -> tuple[str, ...]:
    """Why a person should look twice before saying yes, as ends of the sentence "This …"."""
    size = len(text.encode("utf-8", "surrogatepass"))
    reasons = [
        f"is longer than 4 KiB ({size} bytes)" if size > LONG else "",
        _counted(text, _CONTROL, "control characters, which a terminal would obey"),
        _counted(text, _BIDI, "characters that turn the direction of what is read"),
        _invisible(text),
        "contains long runs of spaces, which push what follows out of sight" if _SPACES.search(text) else "",
        _mixed(text),
    ]
    return tuple(filter(None, reasons))


def _counted(text: str, what: re.Pattern[str], words: str) -> str:
    count = len(what.findall(text))
    return f"contains {words} ({count})" if count else ""


def _invisible(text: str) -> str:
    count = sum(_hidden(character) for character in text)
    return f"contains invisible characters ({count})" if count else ""


def _hidden(character: str) -> bool:
    if character.isascii() or _BIDI.match(character):
        return False
    blank = _BLANKS.match(character) or _BLANK_LETTERS.match(character)
    return blank is not None or unicodedata.category(character) in _HIDDEN


def _mixed(text: str) -> str:
    foreign = [word for word in _WORDS.findall(text) if not word.isascii()]
    mixed = [word for word in foreign if len(_scripts(word)) > 1]
    if not mixed and all(_is_twin(word) for word in foreign):
        mixed = foreign
    if not mixed:
        return ""
    return "contains letters of several scripts that look alike: " + ", ".join(dict.fromkeys(mixed[:5]))


def _scripts(word: str) -> set[str]:
    names = {unicodedata.name(character, "").partition(" ")[0] for character in word if character.isalpha()}
    return names & _ALIKE_SCRIPTS


def _is_twin(word: str) -> bool:
    """Whether a word without a Latin letter could be read as one that is all Latin."""
    return all(character in _TWINS for character in word if not character.isascii())
