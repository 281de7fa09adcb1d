"""What a conversation needs of a transport, and what a transport tells the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

MODERN = "2026-07-28"
# The newest first, which is the one we ask for.
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


class Ear(Protocol):
    """Hears what a server says of its own accord. Neither may raise, nor wait."""

    def note(self, method: str, params: dict[str, Any]) -> None: ...

    def asked(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """What to answer; None if we do not offer that."""


class Wire(Protocol):
    """One connection. It belongs to the event loop it was made on."""

    version: str
    """What is spoken; requests over HTTP carry it, and cancelling differs by it."""

    @property
    def broken(self) -> str | None:
        """Why there is no connection any more, in words."""

    async def ask(self, ident: int, method: str, params: dict[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        """The result, or `Trouble`. To cancel it is to cancel the request, and the server is told."""

    async def tell(self, method: str, params: dict[str, Any]) -> None: ...

    async def listen(self) -> None:
        """Hear what a legacy server says outside of calls, as long as it likes to."""

    async def aclose(self) -> None:
        """End it in good order, which takes some seconds at most."""

    def drop(self) -> None:
        """End it at once, from any thread, even if its event loop is closed."""
