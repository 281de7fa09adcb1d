"""Mentions: `@slug` in a text, but not in code, and not in the middle of a word or an address."""

from __future__ import annotations

import re

MOST = 50
# Fences first, so that a backtick within one opens nothing; an opened fence or tick that never closes is text.
_CODE = re.compile(r"```.*?```|``[^\n]*?``|`[^`\n]*`", re.DOTALL)
_MENTION = re.compile(r"(?<![\w@/.+-])@([A-Za-z0-9][A-Za-z0-9_-]{0,63})(?![\w@])")


def mentioned(text: str) -> tuple[str, ...]:
    """The slugs that a text names, each once, in order, and not more than a person would."""
    found = (match[1].rstrip("_-").lower() for match in _MENTION.finditer(_CODE.sub(" ", text)))
    return tuple(dict.fromkeys(slug for slug in found if slug))[:MOST]
