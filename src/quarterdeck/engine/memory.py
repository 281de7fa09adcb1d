"""What may be remembered: how long, how many, and when two texts say the same."""

from __future__ import annotations

import hashlib
import unicodedata

LONGEST_TEXT = 4000
MOST = 10_000  # memories of a tenant that are searched; the least important are passed over first


def sameness(text: str) -> str:
    """Equal for texts that differ in case, blanks and punctuation at the end alone."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".!。！ ")
    return hashlib.sha256(plain.encode()).hexdigest()
