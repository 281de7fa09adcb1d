"""Reading what the roles after a run replied: something that can be used, or nothing."""

from __future__ import annotations

import json
import math
import re
from typing import cast, get_args

from quarterdeck.events.after import MemoryPolicyDecided
from quarterdeck.events.memory import MemoryScope, MemoryType

LONGEST_SUMMARY = 2000
LONGEST_LESSON = 1000
LONGEST_REFLECTION = 4000

_LESSON = re.compile(r"reusable lesson\**\s*[:：]\s*\**\s*(.+)", re.IGNORECASE | re.DOTALL)
_NOTHING = frozenset({"", "none", "n/a", "no", "нет", "無", "无", "没有", "-"})


def read_policy(text: str) -> MemoryPolicyDecided | None:
    """The decision in a reply, fenced or amid prose; None where there is none. The summary is only kept if it is to be
    stored."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        said = json.loads(text[begin : end + 1])
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("should_store"), bool):
        return None
    summary = _clean(said.get("summary"), LONGEST_SUMMARY)
    if said["should_store"] and not summary:
        return None
    return MemoryPolicyDecided(
        said["should_store"],
        cast(MemoryType, _one_of(said.get("memory_type"), get_args(MemoryType), "note")),
        summary if said["should_store"] else "",
        _share(said.get("importance")),
        cast(MemoryScope, _one_of(said.get("scope"), get_args(MemoryScope), "workspace")),
    )


def read_lesson(text: str) -> str | None:
    """The lesson in a reflection; all of it where none is marked; None where it says that there is none."""
    found = _LESSON.search(text)
    lesson = _clean((found[1] if found else text).split("\n\n")[0] if found else text, LONGEST_LESSON)
    return None if lesson.casefold().rstrip(".!。") in _NOTHING else lesson


def read_reflection(text: str) -> str:
    return _clean(text, LONGEST_REFLECTION)


def _one_of(said: object, known: tuple[str, ...], otherwise: str) -> str:
    return said if isinstance(said, str) and said in known else otherwise


def _share(said: object) -> float:
    if isinstance(said, bool) or not isinstance(said, int | float) or not math.isfinite(said):
        return 0.5
    return min(1.0, max(0.0, float(said)))


def _clean(said: object, longest: int) -> str:
    """Without half characters, which no store takes, and not too long."""
    if not isinstance(said, str):
        return ""
    text = said.encode("utf-8", "ignore").decode().replace("\x00", "").strip()
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"
