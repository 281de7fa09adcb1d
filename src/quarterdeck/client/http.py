"""One server over HTTP: a session that opens when it is needed, answers as JSON, refusals as problems."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson

from quarterdeck.client.trouble import Passing, Refused, Unreachable, refusal
from quarterdeck.kernel.errors import Invalid

BROKEN = (aiohttp.ClientError, OSError)
CONNECT_S = 10.0
ANSWER_S = 30.0
LONGEST_PROBLEM = 1 << 20
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class Http:
    def __init__(self, url: str, silence_s: float, token: str | None = None) -> None:
        self.url, self._silence_s = checked_url(url), silence_s
        self._shown = {} if token is None else {"authorization": f"Bearer {checked_token(token, self.url)}"}
        self._session: aiohttp.ClientSession | None = None

    async def json(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: object = None,
        within_s: float,
        key: str | None = None,
    ) -> Any:
        """The answer as JSON, tried once. The same `key` with the same body is carried out once."""
        asked = {key: str(value) for key, value in (params or {}).items() if value is not None}
        headers = {} if body is None else {"content-type": "application/json"}
        headers |= {} if key is None else {"idempotency-key": key}
        data = None if body is None else orjson.dumps(body)
        try:
            async with (
                asyncio.timeout(within_s),
                self.open(method, path, params=asked, headers=headers, data=data) as response,
            ):
                return orjson.loads(await response.read() or b"null")
        except Passing as passing:
            raise passing.refused from None
        except orjson.JSONDecodeError:
            raise Refused(f"What answers at {self.url} is no Quarterdeck.", code="not_quarterdeck") from None
        except BROKEN as error:
            raise self.unreachable(error) from None

    async def hand_over(self, path: str, body: object, *, within_s: float) -> None:
        """Send it and wait until it was taken; of what the answer goes on to say, nothing is read."""
        headers = {"content-type": "application/json"}
        try:
            async with asyncio.timeout(within_s), self.open("POST", path, headers=headers, data=orjson.dumps(body)):
                return
        except Passing as passing:
            raise passing.refused from None
        except BROKEN as error:
            raise self.unreachable(error) from None

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        params: Mapping[str, str] | None = None,
        data: bytes | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer, if it is a success; else `Refused` or `Passing`."""
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=self._silence_s)
            connector = aiohttp.TCPConnector(limit=0)
            self._session = aiohttp.ClientSession(timeout=timeout, connector=connector, headers=self._shown)
        request = self._session.request(
            method, self.url + path, params=params, headers=headers, data=data, allow_redirects=False
        )
        async with request as response:
            if not 200 <= response.status < 300:
                raise await _refusal(response)
            yield response

    async def lines(self, path: str) -> AsyncGenerator[bytes, None]:
        try:
            async with self.open("GET", path, headers={}) as response:
                rest = b""
                async for piece in response.content.iter_any():
                    *whole, rest = (rest + piece).split(b"\n")
                    for line in whole:
                        yield line
                if rest:
                    raise self.unreachable()
        except Passing as passing:
            raise passing.refused from None
        except BROKEN as error:
            raise self.unreachable(error) from None

    async def pieces(self, path: str) -> AsyncGenerator[bytes, None]:
        """What stands at a path, as it comes; it is whole where this ends without an error."""
        try:
            async with self.open("GET", path, headers={}) as response:
                async for piece in response.content.iter_any():
                    yield piece
        except Passing as passing:
            raise passing.refused from None
        except BROKEN as error:
            raise self.unreachable(error) from None

    def unreachable(self, error: BaseException | None = None) -> Unreachable:
        why = "it took too long" if isinstance(error, TimeoutError) else ""
        return Unreachable(f"No server answers at {self.url}{': ' + why if why else ''}.")

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


async def _refusal(response: aiohttp.ClientResponse) -> Refused | Passing:
    body = b""
    async with asyncio.timeout(ANSWER_S):
        while len(body) < LONGEST_PROBLEM and (more := await response.content.readany()):
            body += more
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        document = None
    return refusal(response.status, document, response.headers.get("retry-after"))


def checked_token(token: str, url: str) -> str:
    """One that may travel to this address: in the clear it stays on this machine."""
    found = urlsplit(url)
    if found.scheme == "http" and found.hostname not in LOOPBACK:
        raise Invalid(f"A token would travel to {url} in the clear; use https://.", code="no_tls")
    if not token.isascii() or not token.isprintable():
        raise Invalid("QUARTERDECK_TOKEN is no token; one looks like qd_….", code="bad_token")
    return token


def checked_url(url: str) -> str:
    try:
        found = urlsplit(url)
        fine = found.scheme in {"http", "https"} and bool(found.hostname) and (found.port is None or found.port > 0)
    except ValueError:
        fine = False
    if not fine:
        raise Invalid(f"{url!r} is no address of a server; one looks like http://127.0.0.1:8101.", code="bad_url")
    return url.rstrip("/")
