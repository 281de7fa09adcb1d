"""The read models of what is remembered: memories, lessons, and what is still to be done after runs."""

from __future__ import annotations

from collections.abc import Sequence

from quarterdeck.engine.memory import sameness
from quarterdeck.events import after, run
from quarterdeck.events import memory as ev
from quarterdeck.events.base import Recorded
from quarterdeck.events.talk import ConversationDeleted
from quarterdeck.ports import Add, Change, Drop, Patch, Put, Table

MEMORIES = Table(
    "memory",
    {
        "tenant": "text",
        "id": "text",
        "text": "text",
        "memory_type": "text",
        "scope": "text",
        "workspace": "text",
        "conversation": "text",
        "importance": "real",
        "source_run": "text",
        "state": "text",  # active, or proposed where a person must accept it first
        "use_count": "integer",
        "used_at": "real",
        "created_at": "real",
        "edited_at": "real",
        "digest": "text",
    },
    key=("tenant", "id"),
    lookups=(("tenant", "digest"),),
)
LESSONS = Table(
    "lesson",
    {
        "tenant": "text",
        "id": "text",
        "text": "text",
        "state": "text",  # proposed, accepted, rejected
        "source_run": "text",
        "created_at": "real",
        "decided_at": "real",
    },
    key=("tenant", "id"),
)
AFTERS = Table(
    "after",
    {
        "tenant": "text",
        "id": "text",
        "run": "text",
        "reflection": "integer",
        "open": "integer",
        "requested_at": "real",
        "finished_at": "real",
    },
    key=("tenant", "id"),
    lookups=(("open", "id"), ("tenant", "run", "id")),
)
# Which runs were told a memory, and so hold its text: what is forgotten is forgotten there too.
TOLD = Table("memory_told", {"tenant": "text", "memory": "text", "run": "text"}, key=("tenant", "memory", "run"))
TABLES = (MEMORIES, LESSONS, AFTERS, TOLD)


class MemoryView:
    """One line for each memory that is not forgotten."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        match fact.event:
            case ev.MemoryStored() as stored:
                return [Put(MEMORIES, _line(fact, stored))]
            case ev.MemoryEdited(ident, text, memory_type, importance):
                said = {"text": text, "memory_type": memory_type, "importance": importance}
                changed: dict[str, object] = {name: value for name, value in said.items() if value is not None}
                changed |= {} if text is None else {"digest": sameness(text)}
                return [Patch(MEMORIES, _key(fact, ident), {**changed, "edited_at": fact.at})]
            case ev.MemoryAccepted(ident):
                return [Patch(MEMORIES, _key(fact, ident), {"state": "active"})]
            case run.MemoryRecalled(memories):
                return [_told(fact, each.id) for each in memories]
            case run.MemoryUsed(memories):
                used = [change for each in memories for change in _used(fact, each.id)]
                return [*used, *(_told(fact, each.id) for each in memories)]
            case ev.MemoryForgotten(ident):
                return [
                    Drop(MEMORIES, _key(fact, ident)),
                    Drop(TOLD, {"tenant": fact.tenant, "memory": ident}),
                ]
            case _:
                return []


def _line(fact: Recorded, stored: ev.MemoryStored) -> dict[str, object]:
    return {
        **_key(fact, stored.id),
        "text": stored.text,
        "memory_type": stored.memory_type,
        "scope": stored.scope,
        "workspace": stored.workspace,
        "conversation": stored.conversation,
        "importance": stored.importance,
        "source_run": stored.source_run,
        "state": "proposed" if stored.tainted else "active",
        "use_count": 0,
        "created_at": fact.at,
        "digest": sameness(stored.text),
    }


def _used(fact: Recorded, ident: str) -> tuple[Change, Change]:
    key = _key(fact, ident)
    return Add(MEMORIES, key, {"use_count": 1}), Patch(MEMORIES, key, {"used_at": fact.at})


def _told(fact: Recorded, ident: str) -> Change:
    return Put(TOLD, {"tenant": fact.tenant, "memory": ident, "run": fact.stream.partition("/")[2]})


class LessonView:
    """One line for each lesson that is not forgotten."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        match fact.event:
            case ev.LessonProposed(ident, text, source_run):
                proposed = {"text": text, "state": "proposed", "source_run": source_run, "created_at": fact.at}
                return [Put(LESSONS, {**_key(fact, ident), **proposed})]
            case ev.LessonAccepted(ident):
                return [Patch(LESSONS, _key(fact, ident), {"state": "accepted", "decided_at": fact.at})]
            case ev.LessonRejected(ident):
                return [Patch(LESSONS, _key(fact, ident), {"state": "rejected", "decided_at": fact.at})]
            case ev.LessonForgotten(ident):
                return [Drop(LESSONS, _key(fact, ident))]
            case _:
                return []


class AfterView:
    """One line for each look back at a run, and whether it is still open."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        key = _key(fact, fact.stream.partition("/")[2])
        match fact.event:
            case after.AfterRequested() as asked:
                line = {"run": asked.run, "reflection": int(asked.reflection), "open": 1, "requested_at": fact.at}
                return [Put(AFTERS, {**key, **line})]
            case after.AfterFinished():
                return [Patch(AFTERS, key, {"open": 0, "finished_at": fact.at})]
            case ConversationDeleted(runs):
                return [Drop(AFTERS, {"tenant": fact.tenant, "run": run}) for run in runs]
            case _:
                return []


def _key(fact: Recorded, ident: str) -> dict[str, object]:
    return {"tenant": fact.tenant, "id": ident}


VIEWS = (MemoryView(), LessonView(), AfterView())
