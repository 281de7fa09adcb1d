"""`memory_search`: what is remembered about something, within what this run may know."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.parts import ToolCall, ToolSpec
from quarterdeck.ports import Deed, Done, Site, Weighed
from quarterdeck.views.recall import Recall

MOST = 8
LONGEST_QUERY = 2000
QUERY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_QUERY,
            "description": "what to look for, in a few words",
        }
    },
    "required": ["query"],
    "additionalProperties": False,
}


class MemorySearch:
    """Pure, and of no risk: it tells what a run in this workspace and conversation may be told anyway."""

    spec = ToolSpec("memory_search", "Search what is remembered about the user and this workspace.", QUERY, "pure")

    def __init__(self, recall: Recall) -> None:
        self._recall = recall

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:  # noqa: ARG002 - the same at every site
        query = _query(call.arguments)
        arguments = json.dumps({"query": query}, ensure_ascii=False)
        return Weighed("low", "memory_search", "pure", arguments, f"memory_search {arguments}", "It only looks.")

    async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:  # noqa: ARG002 - it speaks once, at the end
        query, site = _query(deed.weighed.arguments), deed.site
        found = await self._recall.candidates(site.tenant, query, site.workspace, site.conversation, MOST)
        told = [{"id": each.id, "memory_type": each.memory_type, "text": each.text} for each in found]
        return Done(
            "\n".join(json.dumps(each, ensure_ascii=False) for each in told) or "Nothing is remembered of this."
        )

    async def probe(self, deed: Deed) -> Done | None:  # noqa: ARG002 - it is pure: it is simply done again
        return None


def _query(arguments: str) -> str:
    try:
        asked = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        raise ToolFailed("memory_search: the arguments are not JSON.") from None
    query = asked.get("query") if isinstance(asked, dict) else None
    if not isinstance(query, str) or not query.strip() or len(query) > LONGEST_QUERY or len(asked) > 1:
        raise ToolFailed(f'memory_search takes {{"query": "..."}}, 1 to {LONGEST_QUERY} characters, and nothing else.')
    return query.strip()
