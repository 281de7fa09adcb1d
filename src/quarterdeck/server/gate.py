"""Before anything else: is this request really meant for us? Exact `Host` and `Origin`, so that no web page and no
rebound name reaches a server that trusts whoever is on this machine."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from quarterdeck.kernel.errors import Invalid, NotAllowed, Problem
from quarterdeck.server import problems

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(r"(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::([1-9][0-9]{0,4}))?")
_ORIGIN = re.compile(r"(https?)://([^/@?#\s]+)")
_PORTS = {"http": 80, "https": 443}
_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}


class Gate:
    """Refuses, or opens the house and passes on. `enter` makes the house usable on the loop at hand."""

    def __init__(self, app: ASGIApp, enter: Callable[[Scope], Awaitable[None]]) -> None:
        self._app, self._enter = app, enter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        try:
            check(scope)
            await self._enter(scope)
        except Problem as problem:
            await problems.of(problem)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def check(scope: Scope) -> None:
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) != 1:
        raise Invalid("Send exactly one Host header.", code="bad_request")
    host = hosts[0].decode("latin-1").lower()
    if not _ours(host, scope):
        raise NotAllowed("This server does not go by that name; use http://127.0.0.1 and its port.", code="bad_host")
    for name, value in scope["headers"]:
        if name == b"origin":
            _check_origin(value.decode("latin-1").lower(), scope)
        elif name == b"sec-fetch-site" and value not in {b"same-origin", b"none"}:
            raise NotAllowed("Pages of other sites have no business here.", code="foreign_origin")


def _check_origin(origin: str, scope: Scope) -> None:
    """An origin is a scheme, a name and a port: one that leaves the port out means the scheme's own."""
    found = _ORIGIN.fullmatch(origin)
    ours = found is not None and found[1] == _SCHEMES[scope["scheme"]] and _ours(found[2], scope, _PORTS[found[1]])
    if not ours:
        raise NotAllowed("Pages of other origins have no business here.", code="foreign_origin")


def _ours(host: str, scope: Scope, default_port: int | None = None) -> bool:
    """A loopback name, or the very address this connection came in at, and where a port is named, our port."""
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name, port = found.groups()
    here, our_port = scope.get("server") or ("", None)
    known = name in LOOPBACK or name == here
    named = default_port if port is None else int(port)
    return known and (named is None or our_port is None or named == our_port)
