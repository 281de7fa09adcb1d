"""Conversations by words of their titles, the latest first, a bounded number of looks at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quarterdeck.engine.titles import LONGEST_TERM, answers, words
from quarterdeck.log.log import Log
from quarterdeck.ports import Query
from quarterdeck.views.talk import CONVERSATIONS, TITLE_TERMS

LOOKS = 2_000
PAGE = 200
MOST_WORDS = 8  # of which the rarest is looked for


async def found(
    log: Log, asked: str, where: Mapping[str, object], after: str | None, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """The lines, and where the next page begins. `where` may name a tenant, an employee, a user."""
    key = {name: value for name, value in where.items() if name == "tenant"}
    if (term := await _rarest(log, asked, key)) is None:
        return [], None
    key["term"] = term
    lines: list[dict[str, Any]] = []
    for _ in range(LOOKS // PAGE):
        query = Query(TITLE_TERMS, key, "conversation", descending=True, after=after, limit=PAGE)
        terms = await log.find(query)
        for each in terms:
            after = each["conversation"]
            line = await log.get(CONVERSATIONS, tenant=each["tenant"], id=after)
            if line is None or not where.items() <= line.items() or not answers(line["title"], asked):
                continue
            lines.append(line)
            if len(lines) == limit:
                return lines, after
        if len(terms) < PAGE:
            return lines, None
    return lines, after


async def _rarest(log: Log, asked: str, key: Mapping[str, object]) -> str | None:
    """The term that is on the fewest titles, as far as a page tells; None where nothing is asked for."""
    found: list[tuple[int, str]] = []
    for word in words(asked)[:MOST_WORDS]:
        term = word[:LONGEST_TERM]
        query = Query(TITLE_TERMS, {**key, "term": term}, "conversation", descending=True, limit=PAGE)
        found.append((len(await log.find(query)), term))
    return min(found)[1] if found else None
