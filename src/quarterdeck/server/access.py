"""Who asks, by the token they show; and who is told once that is no good any more. Belongs to one event loop."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from quarterdeck.engine.access import digest_of, expired, id_of
from quarterdeck.events.access import TokenRevoked, TokenUsed, UserChanged, UserRemoved
from quarterdeck.kernel.errors import Problem
from quarterdeck.kernel.ids import token_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.doorbell import News
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.ports import Clock
from quarterdeck.views.access import authenticate

REMEMBERED = 10_000
USED_S = 3600.0  # how often it is told that a token is in use
LONGEST_TIMER_S = 24 * 3600.0
ENDING = frozenset({TokenRevoked.KIND, UserChanged.KIND, UserRemoved.KIND})

logger = logging.getLogger("quarterdeck.server")


@dataclass(slots=True)
class _Known:
    scope: Scope
    told_at: float = 0.0


class _Watch:
    """Somebody who is to be told, once."""

    def __init__(self, watches: dict[str, set[_Watch]], names: tuple[str, ...], act: Callable[[], None]) -> None:
        self._watches, self.names, self._act = watches, names, act
        self._timer: asyncio.TimerHandle | None = None
        for name in names:
            watches.setdefault(name, set()).add(self)

    def count_down(self, ends_at: float, clock: Clock) -> None:
        left = ends_at - clock.now()
        if left <= 0:
            self.due()
            return
        again = min(left, LONGEST_TIMER_S)
        self._timer = asyncio.get_running_loop().call_later(again, self.count_down, ends_at, clock)

    def due(self) -> None:
        self.leave()
        asyncio.get_running_loop().call_soon(self._act)

    def leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for name in self.names:
            left = self._watches.get(name, set())
            left.discard(self)
            if not left:
                self._watches.pop(name, None)


def _nothing() -> None:
    """Where nothing was shown there is nothing to wait for."""


class Access:
    """Remembers who is known by which token, under the whole digest of it, until the log tells that it ended."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log, self._clock = log, clock
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._watches: dict[str, set[_Watch]] = {}
        self._ended: OrderedDict[str, int] = OrderedDict()
        self._endings = 0
        self._noting: set[asyncio.Task[None]] = set()
        self._leave = log.listen(self._heard)

    def close(self) -> None:
        self._leave()
        for task in self._noting:
            task.cancel()

    async def authenticate(self, token: str) -> Scope | None:
        """One and the same for a header, a cookie and a socket. None for what does not say who somebody is."""
        if id_of(token) is None:
            return None
        digest = digest_of(token)
        known = self._known.get(digest) or await self._looked_up(token, digest)
        if known is None or known.scope.shown is None or expired(known.scope.shown.ends_at, now := self._clock.now()):
            return None
        if now - known.told_at > USED_S:
            known.told_at = now
            self._tell_used(known.scope)
        return known.scope

    def until(self, scope: Scope, act: Callable[[], None]) -> Callable[[], None]:
        """Call `act` on this loop, once, as soon as what the scope is known by is revoked or expires. Returns how to
        stop. In local mode, where nothing was shown, it never comes to that."""
        if scope.shown is None:
            return _nothing
        watch = _Watch(self._watches, scope.shown.by, act)
        if any(self._ended.get(name, 0) > scope.shown.seen for name in watch.names):
            watch.due()
        elif scope.shown.ends_at is not None:
            watch.count_down(scope.shown.ends_at, self._clock)
        return watch.leave

    async def _looked_up(self, token: str, digest: str) -> _Known | None:
        """What was looked up while something ended is looked up again: it may have been read before that."""
        while True:
            endings = self._endings
            scope = await authenticate(self._log, token, self._clock.now())
            if scope is None or scope.shown is None:
                return None
            if endings == self._endings:
                break
        seen = replace(scope, shown=replace(scope.shown, seen=endings))
        known = self._known.setdefault(digest, _Known(seen))
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return known

    def _heard(self, news: News) -> None:
        for stream, row in news:
            if row.kind in ENDING:
                self._end(str(stream))

    def _end(self, name: str) -> None:
        self._endings += 1
        self._ended[name] = self._endings
        self._ended.move_to_end(name)
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)
        for digest, known in list(self._known.items()):
            if known.scope.shown is not None and name in known.scope.shown.by:
                del self._known[digest]
        for watch in tuple(self._watches.get(name, ())):
            watch.due()

    def _tell_used(self, scope: Scope) -> None:
        """In passing: nobody waits for it, and nothing is lost where it fails."""
        task = asyncio.ensure_future(self._used(scope))
        self._noting.add(task)
        task.add_done_callback(self._noting.discard)

    async def _used(self, scope: Scope) -> None:
        assert scope.shown is not None
        token = scope.shown.token
        try:
            await self._log.append(Entry(token_stream(scope.tenant, token), (TokenUsed(token),), actor=scope.actor))
        except Problem as problem:
            logger.warning("it was not noted that a token is in use: %s", problem.detail)
