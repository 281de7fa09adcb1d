"""Tool calls, looked at and carried out: what a call came to is always an event, whatever a tool's code does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from quarterdeck.engine.policy.verdict import bound_hash
from quarterdeck.engine.run.open_call import OpenCall
from quarterdeck.events.base import Event
from quarterdeck.events.tool import ApprovalDecided, PasswordRequested, ToolFinished, ToolSaid, ToolWeighed
from quarterdeck.kernel.errors import Problem, ToolFailed
from quarterdeck.kernel.parts import ToolCall, within
from quarterdeck.log.log import Log
from quarterdeck.ports import Clock, Deed, Done, Lockbox, Query, Site, Toolbox, Weighed
from quarterdeck.runtime.call import was_cancelled
from quarterdeck.views.approvals import RULES

CHANGED = "What would run has changed since it was asked about."
SYSTEM = "system"


class Tools:
    """The tools of one run at its site."""

    def __init__(
        self, toolbox: Toolbox, lockbox: Lockbox, log: Log, clock: Clock, site: Site, names: tuple[str, ...] | None
    ) -> None:
        self._toolbox, self._lockbox, self._log, self._clock, self._site = toolbox, lockbox, log, clock, site
        self._names = names

    async def weigh(self, call: ToolCall) -> ToolWeighed | ToolFinished:
        """What the call would come to; one that makes no sense goes back to the model."""
        found = await self._sound(call, self._weighed(call))
        return found if isinstance(found, ToolFinished) else await self._told(call, found)

    async def ready(self, c: OpenCall) -> Deed | tuple[Event, ...]:
        """What is to be carried out, or what stands in the way: it is not any more what was allowed, or the password
        that it needs is not at hand."""
        assert c.weighed is not None
        if c.again and c.weighed.effect == "probeable" and (ended := await self._found_done(c)) is not None:
            return (ended,)
        found = await self._sound(c.call, self._weighed(c.call))
        if isinstance(found, ToolFinished):
            return (found,)
        if bound_hash(c.call.name, found.arguments, found.bound) != c.weighed.hash:
            return await self._changed(c, found)
        password = None
        if found.password and (password := self._lockbox.take(c.approval or "")) is None:
            return (PasswordRequested(c.approval or "", c.call.id, c.weighed.shown),)
        return Deed(c.call, self._site, found, self._key(c.call), password)

    async def _weighed(self, call: ToolCall) -> Weighed:
        if not within(self._names, call.name):
            raise ToolFailed(f"there is no tool {call.name!r} for you.", malformed=True)
        return await self._toolbox.weigh(call, self._site)

    async def carry_out(self, c: OpenCall, deed: Deed, tell: Callable[[ToolSaid], Awaitable[object]]) -> ToolFinished:
        """Do it. What it says on the way is told as it comes, and before its end."""
        outflow = _Outflow(c.call.id, tell)
        try:
            found = await self._sound(c.call, self._toolbox.use(deed, outflow.say))
            await outflow.drained()
        finally:
            outflow.close()
        return found if isinstance(found, ToolFinished) else _finished(c.call, found)

    async def _found_done(self, c: OpenCall) -> ToolFinished | None:
        """What a call came to that a crash cut off, if it was done. It is looked for as it was weighed then: by now
        the world may be what it made of it."""
        assert c.weighed is not None
        deed = Deed(c.call, self._site, _as_it_was(c.weighed), self._key(c.call))
        found = await self._sound(c.call, self._toolbox.probe(deed))
        return _finished(c.call, found) if isinstance(found, Done) else found

    def _key(self, call: ToolCall) -> str:
        return f"{self._site.run}:{call.id}"

    async def _changed(self, c: OpenCall, found: Weighed) -> tuple[Event, ...]:
        weighed = await self._told(c.call, found)
        if c.approval is None or c.approval == c.spent:  # what is used up cannot be taken back: it is asked about anew
            return (weighed,)
        return (ApprovalDecided(c.approval, c.call.id, "voided", SYSTEM, words=CHANGED), weighed)

    async def _told(self, call: ToolCall, w: Weighed) -> ToolWeighed:
        told = (call.id, w.risk, w.action, w.effect, w.arguments, w.shown)
        bound = bound_hash(call.name, w.arguments, w.bound)
        rest = (w.why, w.rule, await self._rule_for(w.rule), w.password, w.command)
        return ToolWeighed(*told, bound, *rest, tuple(sorted(w.bound.items())))

    async def _rule_for(self, key: str | None) -> str | None:
        """The rule of a person's that allows it, if there is one today."""
        if key is None:
            return None
        where = {"tenant": self._site.tenant, "rule_key": key, "active": 1}
        now = self._clock.now()
        for line in await self._log.find(Query(RULES, where, "id", limit=20)):
            if line["expires_at"] is None or line["expires_at"] > now:
                return str(line["id"])
        return None

    async def _sound(self, call: ToolCall, doing: Coroutine[Any, Any, Any]) -> Any:
        """What a tool came to, or its failure as an event; the log's own trouble is nobody's failure."""
        try:
            return await doing
        except ToolFailed as why:
            return ToolFinished(call.id, call.name, ok=False, result=str(why), malformed=why.malformed)
        except Problem:
            raise
        except (Exception, asyncio.CancelledError) as error:  # the model gets to hear of it
            if isinstance(error, asyncio.CancelledError) and was_cancelled():
                raise
            return ToolFinished(call.id, call.name, ok=False, result=f"{type(error).__name__}: {error}")


def _finished(call: ToolCall, done: Done) -> ToolFinished:
    return ToolFinished(call.id, call.name, done.ok, done.text, exit_status=done.exit_status, digest=done.digest)


def _as_it_was(w: ToolWeighed) -> Weighed:
    told = (w.risk, w.action, w.effect, w.arguments, w.shown, w.why)
    return Weighed(*told, dict(w.bound), w.rule, w.password, w.command)


class _Outflow:
    """Output of a tool on its way to the log: what comes while one piece is being committed is the next piece."""

    def __init__(self, call_id: str, tell: Callable[[ToolSaid], Awaitable[object]]) -> None:
        self._call_id, self._tell = call_id, tell
        self._gathered: list[str] = []
        self._pump: asyncio.Task[None] | None = None

    def say(self, text: str) -> None:
        if not text:
            return
        self._gathered.append(text)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        while self._gathered:
            text, self._gathered = "".join(self._gathered), []
            await self._tell(ToolSaid(self._call_id, text))

    async def drained(self) -> None:
        if self._pump is not None:
            await self._pump

    def close(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
