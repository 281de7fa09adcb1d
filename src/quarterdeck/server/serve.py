"""Serving the application on a socket, and going in good order."""

from __future__ import annotations

import contextlib
import gc
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from quarterdeck.kernel.errors import Unavailable
from quarterdeck.server.protocol import Connection
from quarterdeck.server.websocket.connection import WebSocket

BACKLOG = 4096
LAST_WORDS_S = 5


def settle() -> None:
    """Leave what was loaded out of every later collection, and collect less often: each one stops all streams, for
    tens of milliseconds while hundreds are open."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


class Server(uvicorn.Server):
    """Drains before it closes: `before_shutdown` ends what is running and tells who is watching."""

    def __init__(
        self, config: uvicorn.Config, before_shutdown: Callable[[], Awaitable[None]], hurry: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._before_shutdown, self._hurry = before_shutdown, hurry

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A signal that was obeyed is not raised once more behind it, so that going in good order ends with 0."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Whoever asks a second time is in a hurry: nothing is waited for, and still let go in good order."""
        if self.should_exit:
            self._hurry()
        else:
            super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._before_shutdown()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """The socket, before anything else is started, so that a taken port is told at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise Unavailable(
            f"Port {port} on {host} cannot be used: {error.strerror}. Choose another with --port.", code="port_taken"
        ) from None
    listener.listen(BACKLOG)
    listener.setblocking(False)  # noqa: FBT003
    return listener


def server(
    app: ASGIApp,
    before_shutdown: Callable[[], Awaitable[None]],
    hurry: Callable[[], None],
    cert: Path | None = None,
    key: Path | None = None,
) -> Server:
    """Over TLS where there is a certificate."""
    config = uvicorn.Config(
        app,
        http=Connection,
        ws=WebSocket,
        loop="uvloop",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=LAST_WORDS_S,
        ssl_certfile=cert,
        ssl_keyfile=key,
    )
    return Server(config, before_shutdown, hurry)
