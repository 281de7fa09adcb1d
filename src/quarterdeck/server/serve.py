"""Serving the application on a socket, and going in good order."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable

import uvicorn
from starlette.types import ASGIApp

from quarterdeck.kernel.errors import Unavailable
from quarterdeck.server.protocol import Connection

BACKLOG = 4096
LAST_WORDS_S = 5


class Server(uvicorn.Server):
    """Drains before it closes: `before_shutdown` ends what is running and tells who is watching."""

    def __init__(self, config: uvicorn.Config, before_shutdown: Callable[[], Awaitable[None]]) -> None:
        super().__init__(config)
        self._before_shutdown = before_shutdown

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if not self.force_exit:
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


def server(app: ASGIApp, before_shutdown: Callable[[], Awaitable[None]]) -> Server:
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        loop="uvloop",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=LAST_WORDS_S,
    )
    return Server(config, before_shutdown)
