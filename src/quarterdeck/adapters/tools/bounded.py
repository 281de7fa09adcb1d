"""Text for a model: never more than it can take, and cut so that the cut is seen."""

from __future__ import annotations

MOST_TEXT = 64 << 10


def cut(text: str, most: int = MOST_TEXT) -> str:
    """The beginning of a text, and how much more there would be."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return text
    kept = data[:most].decode("utf-8", "ignore")
    return f"{kept}\n{more(len(data) - len(kept.encode()))}"


def more(count: int, what: str = "bytes") -> str:
    return f"… {count:,} more {what}"


def decoded(data: bytes) -> str | None:
    """UTF-8 text, which may begin or end in the middle of a character; None for what is no text."""
    if b"\0" in data:
        return None
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    try:
        return data[start : len(data) - unfinished(data)].decode("utf-8")
    except UnicodeDecodeError:
        return None


def unfinished(data: bytes) -> int:
    """How many bytes at the end belong to a character that goes on behind it."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needs = 1 if byte < 0x80 else 2 if byte >> 5 == 0b110 else 3 if byte >> 4 == 0b1110 else 4
        return back if needs > back else 0
    return 0
