"""All that a tenant takes along when it leaves: a zip that is made as it is sent, without a secret in it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import orjson

from quarterdeck.events.access import TokenIssued
from quarterdeck.events.talk import ConversationOpened, MessageAdded
from quarterdeck.kernel.ids import TenantId, tenant_stream
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of, is_erased
from quarterdeck.ports import Query, Row, StreamState
from quarterdeck.views.memory import MEMORIES
from quarterdeck.views.tenants import tenant_line

PAGE = 500
PIECE = 1 << 18
READ_ME = """What there is of this tenant in Quarterdeck.

tenant.json           its name and slug
conversations.ndjson  one conversation a line, with all that was said in it
memories.ndjson       what is remembered, one a line
events.ndjson         everything that happened, one event a line, stream by stream
files/                the files of its workspace

Keys of model providers and access tokens are not among it.
"""


class _Sink:
    """What a zip is written into, until it is sent."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is kept back."""

    def taken(self) -> bytes:
        taken, self._parts = b"".join(self._parts), []
        return taken


async def luggage(log: Log, tenant: TenantId, folder: Path) -> AsyncIterator[bytes]:
    sink = _Sink()
    with ZipFile(sink, "w", ZIP_DEFLATED, compresslevel=1) as packed:  # type: ignore[call-overload]
        packed.writestr("README.txt", READ_ME)
        packed.writestr("tenant.json", orjson.dumps(await tenant_line(log, tenant), option=orjson.OPT_INDENT_2))
        members = (
            ("conversations.ndjson", _conversations(log, tenant)),
            ("memories.ndjson", _memories(log, tenant)),
            ("events.ndjson", _events(log, tenant)),
        )
        for name, pieces in members:
            async for sent in _member(packed, sink, name, pieces):
                yield sent
        for path in await asyncio.to_thread(lambda: list(_files(folder))):
            with contextlib.suppress(FileNotFoundError):  # it was there a moment ago
                async for sent in _member(packed, sink, f"files/{path.relative_to(folder)}", _content(path)):
                    yield sent
    yield sink.taken()


async def _member(packed: ZipFile, sink: _Sink, name: str, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pressing takes its time, which the event loop does not have."""
    info = ZipInfo(name)
    info.compress_type = ZIP_DEFLATED
    with packed.open(info, "w", force_zip64=True) as member:
        async for piece in pieces:
            await asyncio.to_thread(member.write, piece)
            if sent := sink.taken():
                yield sent


async def _streams(log: Log, tenant: TenantId) -> AsyncIterator[StreamState]:
    about = await log.look(tenant_stream(tenant))
    if about is not None:
        yield about
    after = 0
    while page := await log.streams(tenant, after, PAGE):
        for state in page:
            yield state
        after = page[-1].id


async def _rows(log: Log, state: StreamState) -> AsyncIterator[list[Row]]:
    after = state.floor
    while rows := await log.read(state.name, after, PAGE):
        yield rows
        after = rows[-1].last


async def _events(log: Log, tenant: TenantId) -> AsyncIterator[bytes]:
    async for state in _streams(log, tenant):
        if state.floor:
            stands = await log.snapshot(state.name)
            yield _line({"stream": str(state.name), "last": state.floor, "snapshot": _plain(stands)})
        async for rows in _rows(log, state):
            yield b"".join(_event(state, row) for row in rows)


def _event(state: StreamState, row: Row) -> bytes:
    data = orjson.loads(row.data)
    if row.kind == TokenIssued.KIND and not is_erased(row):
        data.pop("digest", None)
    told = {"stream": str(state.name), "first": row.first, "last": row.last, "at": row.at, "kind": row.kind}
    return _line({**told, "version": row.version, "actor": row.actor, "cause": row.cause, "data": data})


async def _conversations(log: Log, tenant: TenantId) -> AsyncIterator[bytes]:
    async for state in _streams(log, tenant):
        if state.name.kind != "conversation":
            continue
        told: dict[str, Any] = {"id": state.name.key, "title": None}
        said: list[dict[str, Any]] = []
        async for rows in _rows(log, state):
            for row in rows:
                match event_of(row):
                    case ConversationOpened(title=title):
                        told["title"] = title
                    case MessageAdded(role=role, content=content, status=status):
                        said.append({"at": row.at, "role": role, "content": content, "status": status})
        yield _line({**told, "messages": said})


async def _memories(log: Log, tenant: TenantId) -> AsyncIterator[bytes]:
    after = None
    while lines := await log.find(Query(MEMORIES, {"tenant": tenant}, "id", after=after, limit=PAGE)):
        yield b"".join(map(_line, lines))
        after = lines[-1]["id"]


def _files(folder: Path) -> Iterator[Path]:
    """What lies in it, and not what only a link leads to."""
    if folder.is_dir():
        yield from sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


async def _content(path: Path) -> AsyncIterator[bytes]:
    with await asyncio.to_thread(path.open, "rb") as file:
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece


def _plain(snapshot: bytes | None) -> object:
    try:
        return None if snapshot is None else orjson.loads(snapshot)
    except orjson.JSONDecodeError:
        return None


def _line(told: object) -> bytes:
    return orjson.dumps(told, default=str) + b"\n"
