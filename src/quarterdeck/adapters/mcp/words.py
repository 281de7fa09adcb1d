"""Text that strangers wrote, made fit to be shown: cleaned, cut visibly, or with the unprintable made visible."""

from __future__ import annotations

import re

# Controls (of terminals too), marks that reorder text, and the invisible twins of ASCII; line ends and tabs stay.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)


def plain(text: str) -> str:
    return HIDDEN.sub("", text.replace("\r\n", "\n"))


def line(text: str, most: int) -> str:
    """On one line, for a sentence of ours."""
    return cut(" ".join(plain(text).split()), most)


def cut(text: str, most: int) -> str:
    """The beginning and the end, and how much is missing between them."""
    if len(text) <= most:
        return text
    tail = most // 4
    return f"{text[: most - tail]} [… {len(text) - most} characters cut …] {text[len(text) - tail :]}"


def visible(json_text: str) -> str:
    """JSON as a person may read it, with escapes for whatever could deceive the eye; still the same JSON."""
    return "".join(char if char == "\n" or char.isprintable() else _escape(char) for char in json_text)


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
