"""Which of our languages a text is written in."""

from __future__ import annotations

from quarterdeck.events.team import Language

_LOOKED_AT = 4000
_SHARE = 0.2  # of the letters; code and names in Latin letters stand in texts of every language


def language_of(text: str) -> Language:
    letters = [char for char in text[:_LOOKED_AT] if char.isalpha()]
    han = sum("\u4e00" <= char <= "\u9fff" or "\u3400" <= char <= "\u4dbf" for char in letters)
    cyrillic = sum("\u0400" <= char <= "\u04ff" for char in letters)
    # A Chinese character says as much as several letters.
    if han and han * 3 >= _SHARE * len(letters) and han * 3 >= cyrillic:
        return "zh"
    if cyrillic and cyrillic >= _SHARE * len(letters):
        return "ru"
    return "en"
