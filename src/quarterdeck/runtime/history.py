"""What was said in a conversation before a run: from its summary on, the latest first, and no more than can be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quarterdeck.engine.run.digest import weight
from quarterdeck.kernel.ids import StreamName
from quarterdeck.kernel.parts import Message
from quarterdeck.log.log import Log
from quarterdeck.ports import Query
from quarterdeck.views.talk import CONVERSATIONS, MESSAGES

PAGE = 100
LOOK = 3  # windows that are read at most: what is told whole, and what is summarised


@dataclass(frozen=True, slots=True)
class History:
    """`left_out` is about how many messages stand between the summary and these."""

    messages: tuple[Message, ...] = ()
    places: tuple[int, ...] = ()
    summary: str = ""
    left_out: int = 0


async def history(log: Log, conversation: StreamName, before_run: str, window: int) -> History:
    """The messages before the one that started the run. An answer that came to nothing, or counts no longer, is left
    out."""
    key = {"tenant": conversation.tenant, "conversation": conversation.key}
    line = await log.get(CONVERSATIONS, tenant=conversation.tenant, id=conversation.key)
    summary, through = ("", 0) if line is None else (line["summary"] or "", line["summarised"] or 0)
    own = await log.find(Query(MESSAGES, {**key, "run": before_run, "role": "user"}, "place", limit=1))
    after = own[0]["place"] if own else None
    if after is not None and after <= through:  # asked again of what was said long ago: told without the summary
        summary, through = "", 0
    found: list[dict[str, Any]] = []
    left = LOOK * window
    while lines := await log.find(Query(MESSAGES, key, "place", descending=True, after=after, limit=PAGE)):
        for said in lines:
            if said["place"] <= through or left <= 0:
                return _history(found, summary, 0 if said["place"] <= through else said["place"] - through)
            if said["content"] and said["status"] != "superseded":
                found.append(said)
                left -= weight(said["content"])
        after = lines[-1]["place"]
    return _history(found, summary, 0)


def _history(found: list[dict[str, Any]], summary: str, left_out: int) -> History:
    found.reverse()
    messages = tuple(Message(said["role"], said["content"]) for said in found)
    return History(messages, tuple(said["place"] for said in found), summary, left_out)
