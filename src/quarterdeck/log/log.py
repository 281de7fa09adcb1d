"""The log: append, pour, read, follow. What every room but `kernel` and `events` stands on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from quarterdeck.kernel.errors import NotFound, StorageBroken
from quarterdeck.kernel.ids import StreamName, TenantId
from quarterdeck.kernel.tenancy import Sealed
from quarterdeck.log.committer import Append, Chore, Committer
from quarterdeck.log.cursor import Cursor
from quarterdeck.log.doorbell import Doorbell, Listener
from quarterdeck.log.entries import Appended, Entry
from quarterdeck.log.erasing import Erasure
from quarterdeck.log.filling import View, fill
from quarterdeck.log.spout import Spout
from quarterdeck.log.tail import Tail
from quarterdeck.log.verify import troubles
from quarterdeck.ports import Clock, Once, Query, Row, Store, StreamState, Table

TAIL_BYTES = 16 * 1024 * 1024
PAGE = 500
LEASE_S = 30.0

T = TypeVar("T")
Sealing: TypeAlias = tuple[Sequence[Sealed], Sequence[Sealed]]


class Log:
    """May be used from any event loop, by several at a time; none of them is special."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        tables: Sequence[Table] = (),
        views: Sequence[View] = (),
        tail: int = TAIL_BYTES,
    ) -> None:
        try:
            store.prepare(tables, lambda names: fill(store, views, names))
        except BaseException:
            store.close()  # nobody else will: the log that would is not made
            raise
        self._store, self._clock = store, clock
        self._tail = Tail(tail)
        self._leases: dict[str, float] = {}
        self._heirs: list[tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = []
        self._committer = Committer(store, self._tail, views, clock.now, self.alive)
        self._readers = ThreadPoolExecutor(4, thread_name_prefix="quarterdeck-read")

    @property
    def epoch(self) -> str:
        return self._store.epoch

    @property
    def broken(self) -> StorageBroken | None:
        """Why nothing can be written any more, if so."""
        return self._committer.broken

    # Writing

    async def append(self, *entries: Entry, once: Once | None = None, erasing: Sequence[Erasure] = ()) -> Appended:
        """Append to one or more streams in one transaction; it is on the disk when this returns.

        What is `erasing` goes in the same transaction, and is then in no file any more; copies of moved lines that a
        large read model left behind go within the hour."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Appended] = loop.create_future()

        def done(answer: Appended | Exception) -> None:
            if answered.done():
                return
            if isinstance(answer, Exception):
                answered.set_exception(answer)
            else:
                answered.set_result(answer)

        self._bell()
        self._committer.submit(Append(entries, tuple(erasing), once, loop, done))
        return await answered

    def spout(self, name: StreamName, *, fence: int, actor: str, cause: str | None = None) -> Spout:
        self._bell()
        return Spout(self._committer, name, fence=fence, actor=actor, cause=cause)

    async def trim(self, name: StreamName, to: int, snapshot: bytes) -> StreamState:
        """Drop everything up to the row that holds place `to`; the snapshot stands for it from then on."""
        state = await self.look(name)
        if state is None:
            raise NotFound(f"There is no {name}.")
        gone = [row for row in await self._all(state) if row.last <= to]
        if not gone:
            return state
        return await self._chore(lambda: self._committer.trimmed(name, gone[-1], snapshot))

    async def erase(self, name: StreamName, place: int, reason: str) -> None:
        """Take the content out of the row that holds this place. The chain of hashes stays whole."""
        await self.append(erasing=(Erasure(name, (place,), reason),))

    async def forget_onces(self, before: float) -> None:
        await self._chore(lambda: self._committer.forget_onces(before))

    # What a vault keeps beside the log

    async def seal(self, tenant: TenantId | None, change: Callable[[list[Sealed]], Sealing]) -> None:
        """Put and drop what `change` says, given how it stands; nobody else writes in between."""

        def act() -> None:
            if self.broken is not None:
                raise StorageBroken(self.broken.detail)
            put, drop = change(self._store.sealed(tenant))
            if put or drop:
                self._store.seal(put, drop)

        await self._chore(act)

    async def sealed(self, tenant: TenantId) -> list[Sealed]:
        return await self._in_thread(self._store.sealed, tenant)

    # A tenant that leaves

    async def shut(self, tenant: TenantId) -> None:
        """Nothing is written for it any more, by anybody, until the process ends."""
        await self._chore(lambda: self._committer.shut.add(tenant))

    async def drop(self, tenant: TenantId) -> None:
        """Lose all that is a tenant's, which must have been shut. Each stream has its own chain of hashes, so that
        those of all others verify as before."""
        await self._chore(lambda: self._committer.drop(tenant))

    async def scrub(self) -> bool:
        """Whether what was erased is in no file any more; where not, ask again."""
        return await self._chore(self._store.scrub)

    async def streams(self, tenant: TenantId, after: int = 0, limit: int = PAGE) -> list[StreamState]:
        """Those of a tenant, in order of their ids."""
        return await self._in_thread(lambda: list(islice(self._store.streams(tenant, after), limit)))

    # Reading

    def recent(self, name: StreamName, after: int) -> list[Row] | None:
        return self._tail.after(name, after)

    async def read(self, name: StreamName, after: int = 0, limit: int = PAGE, size: int | None = None) -> list[Row]:
        """Rows behind `after`, at most `limit`, and not much more than `size` bytes; from memory where it reaches back
        so far."""
        found = self._tail.after(name, after)
        if found is not None:
            return found[:limit]
        state = await self.look(name)
        return [] if state is None else await self._in_thread(self._store.rows, state, after, limit, size)

    def follow(self, name: StreamName, after: int = 0) -> Cursor:
        return Cursor(self, self._bell(), name, after)

    async def look(self, name: StreamName) -> StreamState | None:
        """Where a stream stands, or None if it has never been written to."""
        return self._committer.state(name) or await self._in_thread(self._store.stream, name)

    async def snapshot(self, name: StreamName) -> bytes | None:
        state = await self.look(name)
        return None if state is None else await self._in_thread(self._store.snapshot, state)

    async def get(self, table: Table, **key: object) -> dict[str, Any] | None:
        return await self._in_thread(self._store.get, table, key)

    async def find(self, query: Query) -> list[dict[str, Any]]:
        return await self._in_thread(self._store.find, query)

    async def once(self, key: str) -> Once | None:
        return await self._in_thread(self._store.once, key)

    # News and workers

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` on this loop with every commit's rows but deltas. Returns how to stop."""
        bell = self._bell()
        bell.listeners.append(listener)

        def leave() -> None:
            with contextlib.suppress(ValueError):
                bell.listeners.remove(listener)

        return leave

    def beat(self, worker: str) -> None:
        """The worker lives; its claims hold for another lease. Leases are this process's own: its data folder is
        locked, so that a claim of another process is always a dead one's."""
        self._leases[worker] = self._clock.steady() + LEASE_S

    def retire(self, worker: str) -> None:
        """The worker is gone; whoever inherits is told at once."""
        if self._leases.pop(worker, None) is None:
            return
        for loop, act in tuple(self._heirs):
            with contextlib.suppress(RuntimeError):  # that loop is gone as well
                loop.call_soon_threadsafe(act)

    def inherit(self, act: Callable[[], None]) -> Callable[[], None]:
        """Call `act` on this loop whenever a worker retires. Returns how to stop."""
        heir = (asyncio.get_running_loop(), act)
        self._heirs.append(heir)
        return lambda: self._heirs.remove(heir)

    def alive(self, worker: str) -> bool:
        return self._leases.get(worker, 0.0) > self._clock.steady()

    def workers(self) -> frozenset[str]:
        """Those that live."""
        return frozenset(filter(self.alive, tuple(self._leases)))

    # Care

    async def backup(self, path: str) -> None:
        await self._in_thread(self._store.backup, path)

    async def verify(self, only: StreamName | None = None) -> list[str]:
        """What is wrong, a sentence for each stream; nothing where every place and hash is as it was written."""
        known = await self._chore(self._committer.known)
        return await self._in_thread(troubles, self._store, known, only)

    async def close(self) -> None:
        """Commit what was submitted, then let go of the store. Nothing may be appended afterwards."""
        await asyncio.get_running_loop().run_in_executor(None, self.close_now)

    def close_now(self) -> None:
        self._committer.close()
        self._readers.shutdown()
        self._store.close()

    def _bell(self) -> Doorbell:
        loop = asyncio.get_running_loop()
        bell = self._committer.bells.get(loop)
        if bell is None:
            bell = self._committer.bells[loop] = Doorbell(loop)
        return bell

    async def _all(self, state: StreamState) -> list[Row]:
        found: list[Row] = []
        after = state.floor
        while rows := await self._in_thread(self._store.rows, state, after, PAGE):
            found += rows
            after = rows[-1].last
        return found

    async def _chore(self, act: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        finished: asyncio.Future[T] = loop.create_future()

        def done(result: Any) -> None:
            if finished.done():
                return
            if isinstance(result, Exception):
                finished.set_exception(result)
            else:
                finished.set_result(result)

        self._bell()
        self._committer.submit(Chore(act, loop, done))
        return await finished

    async def _in_thread(self, act: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, act, *arguments)
