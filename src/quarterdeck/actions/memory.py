"""Remember, correct, vouch for, forget."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from quarterdeck.actions.desk import Desk
from quarterdeck.engine.memory import LONGEST_TEXT
from quarterdeck.events.after import MemoryPolicyDecided, ReflectionCompleted
from quarterdeck.events.base import Event
from quarterdeck.events.memory import (
    LessonProposed,
    MemoryAccepted,
    MemoryEdited,
    MemoryForgotten,
    MemoryScope,
    MemoryStored,
    MemoryType,
)
from quarterdeck.events.run import MemoryRecalled, MemoryUsed
from quarterdeck.kernel.errors import Conflict, Invalid, Moved, NotFound
from quarterdeck.kernel.ids import RunId, StreamName, after_stream, checked_name, memory_stream, run_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.erasing import Erasure
from quarterdeck.log.log import Log
from quarterdeck.ports import Once, Row

TRIES = 200
FORGOTTEN = "forgotten"
_TOLD = frozenset({MemoryRecalled.KIND, MemoryUsed.KIND})
_TEXTS = frozenset({MemoryStored.KIND, MemoryEdited.KIND, LessonProposed.KIND})
# What holds a copy of the text in the look back at a run that it came out of.
_COPIES = {"memory": MemoryPolicyDecided.KIND, "experience": ReflectionCompleted.KIND}

Line: TypeAlias = Mapping[str, Any]
# How a thing stands, by its id, within the tenant that asks; None where there is none.
Find: TypeAlias = Callable[[str], Awaitable[Line | None]]
# The runs that were told a memory.
Told: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Note:
    """Something to remember. Without a scope it is as narrow as what is named: a workspace, else a conversation."""

    text: str
    memory_type: MemoryType = "note"
    scope: MemoryScope | None = None
    workspace: str | None = None
    conversation: str | None = None
    importance: float = 0.5


@dataclass(frozen=True, slots=True)
class Edit:
    """What is None stays as it is."""

    text: str | None = None
    memory_type: MemoryType | None = None
    importance: float | None = None


async def store_memory(desk: Desk, scope: Scope, note: Note, *, key: str | None = None, body: bytes = b"") -> str:
    """Answers with its id once it is durable. The same `key` with the same `body` stores it once."""
    ident = desk.ids.mint()
    stored = _stored(ident, note)
    once = once_only(scope, "store_memory", key, body, {"id": ident})
    appended = await desk.log.append(Entry(memory_stream(scope.tenant), (stored,), actor=scope.actor), once=once)
    return ident if appended.answer is None else str(orjson.loads(appended.answer)["id"])


def _stored(ident: str, note: Note) -> MemoryStored:
    scope = note.scope or ("workspace" if note.workspace else "conversation" if note.conversation else "global")
    missing = {"workspace": not note.workspace, "conversation": not note.conversation}.get(scope, False)
    if missing:
        field = "workspace" if scope == "workspace" else "conversation_id"
        raise Invalid(f"A memory of the scope `{scope}` needs a `{field}`; or make it `global`.", code="scope_unclear")
    place = os.path.realpath(note.workspace) if note.workspace else None
    conversation = checked_name(note.conversation, "conversation_id") if note.conversation else None
    text = checked_text(note.text)
    return MemoryStored(ident, text, note.memory_type, scope, place, conversation, note.importance)


async def edit_memory(desk: Desk, scope: Scope, ident: str, edit: Edit, find: Find) -> None:
    """Of two edits at once both are kept in the log, and the later one stands."""
    text = None if edit.text is None else checked_text(edit.text)
    event = MemoryEdited(ident, text, edit.memory_type, edit.importance)
    if edit == Edit():
        raise Invalid(
            "There is nothing to change; name `text`, `memory_type` or `importance`.", code="nothing_to_change"
        )
    await while_there(desk, scope, memory_stream(scope.tenant), ident, find, lambda _: event)


async def accept_memory(desk: Desk, scope: Scope, ident: str, find: Find) -> None:
    """Let a memory be recalled that came out of a run which had read what anybody may have written."""

    def accepted(line: Line) -> Event | None:
        return MemoryAccepted(ident) if line["state"] == "proposed" else None

    await while_there(desk, scope, memory_stream(scope.tenant), ident, find, accepted)


async def forget_memory(desk: Desk, scope: Scope, ident: str, find: Find, told: Told) -> None:
    """Its text goes from the log, the tables and the index; that there was something is all that stays."""
    stream = memory_stream(scope.tenant)

    async def holders() -> list[Erasure]:
        runs = [run_stream(scope.tenant, RunId(run)) for run in await told(ident)]
        found = [await _in_run(desk.log, run, ident) for run in runs]
        return [*await origins(desk.log, stream, ident), *filter(None, found)]

    await while_there(desk, scope, stream, ident, find, lambda _: MemoryForgotten(ident), holders)


async def while_there(
    desk: Desk,
    scope: Scope,
    stream: StreamName,
    ident: str,
    find: Find,
    change: Callable[[Line], Event | None],
    holders: Callable[[], Awaitable[list[Erasure]]] | None = None,
) -> None:
    """Append what follows from how a thing stands, unless it stood otherwise in the meantime: then look again."""
    for _ in range(TRIES):
        state = await desk.log.look(stream)
        line = await find(ident)
        if state is None or line is None:
            raise NotFound(f"There is no such {_what(stream)}.", code=f"{_what(stream)}_not_found")
        event = change(line)
        if event is None:
            return
        erasing = [] if holders is None else await holders()
        try:
            await desk.log.append(Entry(stream, (event,), actor=scope.actor, head=state.head), erasing=erasing)
        except Moved:
            continue
        return
    raise Conflict(f"{stream} changes too quickly; try again.", code="busy")


async def origins(log: Log, stream: StreamName, ident: str) -> list[Erasure]:
    """Every row that holds the text of this thing in its own stream, and where it came from."""
    name = ident.encode()
    rows = [row async for row in rows_of(log, stream) if row.kind in _TEXTS and name in row.data]
    found = [Erasure(stream, tuple(row.first for row in rows), FORGOTTEN)]
    for key in {row.cause for row in rows if row.cause is not None}:
        source = after_stream(stream.tenant, key)
        places = tuple([row.first async for row in rows_of(log, source) if row.kind == _COPIES[stream.kind]])
        found += [Erasure(source, places, FORGOTTEN)] if places else []
    return found


async def _in_run(log: Log, run: StreamName, ident: str) -> Erasure | None:
    """What a run was told of it. The other memories that were told with it are erased there as well."""
    name = ident.encode()
    places = tuple([row.first async for row in rows_of(log, run) if row.kind in _TOLD and name in row.data])
    return Erasure(run, places, FORGOTTEN) if places else None


async def rows_of(log: Log, stream: StreamName) -> AsyncIterator[Row]:
    state = await log.look(stream)
    after = 0 if state is None else state.floor
    while rows := await log.read(stream, after):
        for row in rows:
            yield row
        after = rows[-1].last


def _what(stream: StreamName) -> str:
    return "lesson" if stream.kind == "experience" else "memory"


def checked_text(text: str) -> str:
    plain = text.strip()
    if not plain:
        raise Invalid("The text is empty; say in `text` what to remember.", code="text_empty")
    if len(plain) > LONGEST_TEXT:
        raise Invalid(f"The text is longer than {LONGEST_TEXT:,} characters; keep what matters.", code="text_too_long")
    return plain


def once_only(scope: Scope, route: str, key: str | None, body: bytes, answer: Mapping[str, str]) -> Once | None:
    """The answer under the request's key, so that the same request made twice is carried out once."""
    if key is None:
        return None
    checked_name(key, "Idempotency-Key")
    name = f"{scope.tenant}\n{scope.actor}\n{route}\n{key}"
    return Once(name, hashlib.sha256(body).digest(), orjson.dumps(dict(answer)))
