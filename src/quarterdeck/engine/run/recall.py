"""The recall role: which of what memory offers matters, and whether it is all that the answer needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quarterdeck.kernel.parts import Remembered

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "relevant_ids": {"type": "array", "maxItems": 8, "items": {"type": "string"}},
        "sufficient_to_answer": {"type": "boolean"},
        "reasoning": {"type": "string"},
    },
    "required": ["relevant_ids", "sufficient_to_answer", "reasoning"],
}


@dataclass(frozen=True, slots=True)
class Recollection:
    memories: tuple[Remembered, ...]
    sufficient: bool = False


def read_recollection(text: str, offered: Sequence[Remembered]) -> Recollection:
    """What the role chose, by number or by id. Where that makes no sense: all that was offered, and nothing skipped."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        said = json.loads(text[begin : end + 1])
        wanted = {str(each) for each in said["relevant_ids"]}
    except (ValueError, RecursionError, KeyError, TypeError):
        return Recollection(tuple(offered))
    chosen = tuple(memory for n, memory in enumerate(offered) if str(n) in wanted or memory.id in wanted)
    return Recollection(chosen, bool(chosen) and said.get("sufficient_to_answer") is True)
