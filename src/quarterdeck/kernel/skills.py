"""What a skill is: a short guide to one kind of work, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Origin = Literal["built_in", "user", "workspace"]


@dataclass(frozen=True, slots=True)
class Skill:
    """`keywords` are words that call for it beside those of its description, in any language.

    One of a workspace came with somebody's files: it is advice like any other text, and allows nothing.
    """

    name: str
    description: str
    origin: Origin
    body: str
    keywords: tuple[str, ...] = ()
