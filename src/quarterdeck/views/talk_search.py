"""Conversations by words of their titles, the latest first, a bounded number of looks at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quarterdeck.engine.titles import answers, rarest
from quarterdeck.log.log import Log
from quarterdeck.ports import Query
from quarterdeck.views.talk import CONVERSATIONS, TITLE_TERMS

LOOKS = 2_000
PAGE = 200


async def found(
    log: Log, asked: str, where: Mapping[str, object], after: str | None, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """The lines, and where the next page begins. `where` may name a tenant, an employee, a user."""
    term = rarest(asked)
    if term is None:
        return [], None
    key = {"term": term, **{name: value for name, value in where.items() if name == "tenant"}}
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
