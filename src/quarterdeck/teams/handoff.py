"""How word goes round among those who work together: channels, those who listen to them, and what was said."""

from __future__ import annotations

import inspect
import logging
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

Note: TypeAlias = dict[str, Any]
Handler: TypeAlias = Callable[[Note], Awaitable[None] | None]
KEPT = 1000  # notes of each channel

logger = logging.getLogger("quarterdeck.teams")


class HandoffTransport(ABC):
    """Carries notes to everybody on a channel, in the order in which they were sent."""

    @abstractmethod
    async def send(self, channel: str, message: Note) -> None:
        """Hand a note to whoever listens to the channel."""

    @abstractmethod
    async def broadcast(self, message: Note) -> None:
        """Hand a note to every channel."""

    @abstractmethod
    def register_handler(self, channel: str, handler: Handler) -> Callable[[], None]:
        """Listen to a channel from now on. Returns how to stop."""

    @abstractmethod
    def history(self, channel: str, limit: int | None = None) -> list[Note]:
        """What was sent on a channel, the latest last."""


class InProcessHandoffTransport(HandoffTransport):
    """Within one process. A handler that fails is told of in the log and costs nobody else the note."""

    def __init__(self, kept: int = KEPT) -> None:
        self._handlers: dict[str, list[Handler]] = defaultdict(list)
        self._notes: dict[str, deque[Note]] = defaultdict(lambda: deque(maxlen=kept))

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self._handlers, *self._notes]))

    async def send(self, channel: str, message: Note) -> None:
        self._notes[channel].append(message)
        for handler in tuple(self._handlers[channel]):
            try:
                heard = handler(message)
                if inspect.isawaitable(heard):
                    await heard
            except Exception:
                logger.exception("a handler of %s failed", channel)

    async def broadcast(self, message: Note) -> None:
        for channel in self.channels:
            await self.send(channel, message)

    def register_handler(self, channel: str, handler: Handler) -> Callable[[], None]:
        self._handlers[channel].append(handler)

        def leave() -> None:
            if handler in self._handlers[channel]:
                self._handlers[channel].remove(handler)

        return leave

    def history(self, channel: str, limit: int | None = None) -> list[Note]:
        notes = list(self._notes.get(channel, ()))
        return notes if limit is None else notes[-limit:] if limit else []
