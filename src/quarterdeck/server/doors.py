"""How the server is reached: by which names, over TLS or not, and whether whoever comes must say who they are."""

from __future__ import annotations

import re
from dataclasses import dataclass

from starlette.types import Scope

from quarterdeck.kernel.errors import Invalid, NotAllowed

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(r"(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::([1-9][0-9]{0,4}))?")
_ORIGIN = re.compile(r"(https?)://([^/@?#\s]+)")
_PORTS = {"http": 80, "https": 443}
_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}


@dataclass(frozen=True, slots=True)
class Doors:
    """`hosts` are names besides those of this machine. Behind a proxy pages come from `https://` and one of them, and
    from nowhere else."""

    guarded: bool = False
    hosts: frozenset[str] = frozenset()
    proxied: bool = False

    def check(self, scope: Scope) -> str | None:
        """Whether the request is really meant for us; exact names and origins. Returns what says who asks, if any."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1:
            raise Invalid("Send exactly one Host header.", code="bad_request")
        if not self._ours(hosts[0].decode("latin-1").lower(), scope):
            raise NotAllowed(
                "This server does not go by that name; use http://127.0.0.1 and its port.", code="bad_host"
            )
        said = None
        for name, value in scope["headers"]:
            if name == b"origin":
                self._check_origin(value.decode("latin-1").lower(), scope)
            elif name == b"sec-fetch-site" and value not in {b"same-origin", b"none"}:
                if self.guarded and _navigates(scope):
                    continue
                raise NotAllowed("Pages of other sites have no business here.", code="foreign_origin")
            elif name == b"authorization":
                if said is not None:
                    raise Invalid("Send one Authorization header.", code="bad_request")
                said = value.decode("latin-1")
        return said

    def _check_origin(self, origin: str, scope: Scope) -> None:
        """An origin is a scheme, a name and a port: one that leaves the port out means the scheme's own."""
        found = _ORIGIN.fullmatch(origin)
        if found is None:
            ours = False
        elif self.proxied:
            ours = found[1] == "https" and found[2] in self.hosts
        else:
            ours = found[1] == _SCHEMES[scope["scheme"]] and self._ours(found[2], scope, _PORTS[found[1]])
        if not ours:
            raise NotAllowed("Pages of other origins have no business here.", code="foreign_origin")

    def _ours(self, host: str, scope: Scope, default_port: int | None = None) -> bool:
        """A name of ours, or the very address this connection came in at, and where a port is named, our port."""
        if self.proxied and host in self.hosts:
            return True
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name, port = found.groups()
        here, our_port = scope.get("server") or ("", None)
        known = name in LOOPBACK or name == here or name in self.hosts
        named = default_port if port is None else int(port)
        return known and (named is None or our_port is None or named == our_port)


def _navigates(scope: Scope) -> bool:
    """Somebody follows a link to the page itself, which holds nothing before they are known, and cannot be framed."""
    said = {name: value for name, value in scope["headers"] if name in {b"sec-fetch-mode", b"sec-fetch-dest"}}
    wanted = {b"sec-fetch-mode": b"navigate", b"sec-fetch-dest": b"document"}
    return scope.get("method") == "GET" and scope["path"] == "/" and said == wanted
