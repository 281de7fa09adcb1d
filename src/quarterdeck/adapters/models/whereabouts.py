"""Which addresses tenants may have their models at: those of all the world over TLS, and what the operator allowed."""

from __future__ import annotations

from collections.abc import Iterable

from quarterdeck.adapters.addresses import JudgingResolver, literal, public
from quarterdeck.adapters.models.http import Http
from quarterdeck.engine.providers import split
from quarterdeck.kernel.errors import Invalid

SETTING = "QUARTERDECK_PROVIDER_ALLOW"


class Whereabouts:
    """`allowed` reads `host` or `host:port`. A name is judged again, by its addresses, at each connection."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = frozenset(each.casefold() for each in allowed)
        hosts = {host for each in self._allowed for host in (each, _without_port(each))}
        self.http = Http(resolver=lambda: JudgingResolver(hosts))

    def judge(self, base_url: str) -> None:
        """Raises `Invalid` with the sentence that says what would make it right."""
        scheme, host, port = split(base_url)
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if self._allowed & {host, shown, f"[{host}]"}:
            return
        address = literal(host)
        if (address is not None and not public(address)) or host == "localhost" or host.endswith(".localhost"):
            raise _refused(f"{shown} is not a public address.", shown)
        if scheme != "https":
            raise _refused(f"{base_url} is not encrypted, and would show the key to everybody on the way.", shown)


def _without_port(allowed: str) -> str:
    host, colon, port = allowed.rpartition(":")
    return host.strip("[]") if colon and port.isdigit() and not host.endswith(":") else allowed.strip("[]")


def _refused(why: str, shown: str) -> Invalid:
    return Invalid(
        f"{why} The operator of this server may allow it all the same, with {SETTING}={shown}.",
        code="address_not_allowed",
    )
