"""Addresses of other machines, judged before anything is sent: only what all the world can reach, unless it is allowed.

A name is judged by the addresses it has at the moment of the connection, and only those are connected to.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_UNICAST = ipaddress.IPv6Network("2000::/3")  # all that was ever given out; what lies elsewhere leads nowhere good


class NotJudgedSafe(OSError):
    """A name that has no address that may be connected to."""


def public(address: Address) -> bool:
    """Whether an address is all the world's, seen through everything that wraps another address."""
    return all(
        each.is_global and not each.is_multicast and (each.version == 4 or each in _UNICAST)
        for each in _unwrapped(address)
    )


def literal(host: str) -> Address | None:
    """The address that a host is, in any of the ways that systems read one: `0x7f.1`, `2130706433`, `[::1]`."""
    bare = host.strip("[]").partition("%")[0]
    try:
        return ipaddress.ip_address(bare)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(bare))
    except (OSError, ValueError):
        return None


class JudgingResolver(AbstractResolver):
    """Finds the addresses of a name and keeps those that may be connected to. `allowed` hosts may be anywhere."""

    def __init__(self, allowed: Collection[str] = ()) -> None:
        self._allowed = {host.casefold() for host in allowed}
        self._inner = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        if host.casefold() in self._allowed:
            return found
        judged = [each for each in found if public(ipaddress.ip_address(each["host"].partition("%")[0]))]
        if not judged:
            raise NotJudgedSafe(f"{host} has only addresses that are not public")
        return judged

    async def close(self) -> None:
        await self._inner.close()


def _unwrapped(address: Address) -> tuple[Address, ...]:
    """The address and those it carries inside."""
    if isinstance(address, ipaddress.IPv4Address):
        return (address,)
    # Of these forms only the inner address says where it goes.
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address in _NAT64:
        return (ipaddress.IPv4Address(int(address) & 0xFFFFFFFF),)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    return (address,)
