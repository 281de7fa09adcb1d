"""One attempt at a model over HTTP: ask, relay the reply as it comes, and fail in words when it does not.

An attempt is never repeated here; whoever asked decides that, in sight of everybody.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Protocol

import aiohttp
import orjson

from quarterdeck.adapters.addresses import NotJudgedSafe
from quarterdeck.adapters.models.endpoint import Endpoint
from quarterdeck.adapters.models.failures import by_name, by_status, failed
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.sse import SseDecoder
from quarterdeck.adapters.models.watch import Patience, Watch
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.ports import Burst, Ended, ModelEvent

LONGEST_ERROR = 16 << 10
LONGEST_REPLY = 64 << 20
ERROR_S = 1.0

# What aiohttp lets through when the other side, or the way to it, breaks.
BROKEN = (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError, EOFError)


class Reply(Protocol):
    """A provider's dialect, without I/O: payloads in, bursts out."""

    whole: bool
    """Nothing more will come that matters."""

    moved: bool
    """The last payloads said something, be it nothing that can be shown yet."""

    def take(self, payloads: list[bytes]) -> list[Burst]: ...

    def end(self) -> Ended:
        """The end, or `ModelFailed` if the provider has not said that this is one."""


@dataclass(frozen=True, slots=True)
class Caller:
    """How one endpoint is called."""

    endpoint: Endpoint
    http: Http
    patience: Patience
    headers: Mapping[str, str]

    async def ask(self, path: str, document: Mapping[str, object]) -> aiohttp.ClientResponse:
        """Send a request and return the answer once its headers say that it is the stream we asked for."""
        response = await self._post(self.endpoint.at(path), _encoded(document))
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status == 200 and kind not in ("application/json", "text/html"):
            return response
        raise self._not_a_stream(response.status, kind, response.headers, await self._beginning(response))

    async def _post(self, url: str, body: bytes) -> aiohttp.ClientResponse:
        session, where = await self.http.session(), self.endpoint.where
        timeout = aiohttp.ClientTimeout(total=None, connect=self.patience.connect_s)
        try:
            async with asyncio.timeout(self.patience.first_byte_s):
                return await session.post(
                    url, data=BytesIO(body), headers=self.headers, allow_redirects=False, timeout=timeout
                )
        except aiohttp.ServerTimeoutError:
            seconds = self.patience.connect_s
            raise failed("provider_timeout", f"{where} could not be reached within {seconds:g} s.") from None
        except TimeoutError:
            seconds = self.patience.first_byte_s
            raise failed("provider_timeout", f"{where} did not begin to answer within {seconds:g} s.") from None
        except (*BROKEN, ValueError) as error:
            raise _not_reached(error, self.endpoint) from None

    async def _beginning(self, response: aiohttp.ClientResponse) -> bytes:
        """As much of an error's body as is worth reading; none if it does not come."""
        body = b""
        try:
            async with asyncio.timeout(ERROR_S):
                while len(body) < LONGEST_ERROR and (data := await response.content.readany()):
                    body += data
        except (*BROKEN, TimeoutError):
            pass  # the status said enough
        finally:
            self.http.part(response, whole=False)
        return body[:LONGEST_ERROR]

    def _not_a_stream(self, status: int, kind: str, headers: Mapping[str, str], body: bytes) -> ModelFailed:
        endpoint = self.endpoint
        if status != 200:
            return by_status(endpoint, status, headers, body)
        if kind == "text/html":
            detail = f"{endpoint.where} answers with a web page; check {endpoint.labels.url}."
            return failed("provider_not_found", detail)
        try:
            document = orjson.loads(body)
        except ValueError:
            document = None
        if isinstance(document, dict) and document.get("error"):
            return by_name(endpoint, document["error"])
        return failed("provider_malformed", f"{endpoint.where} answered at once where a stream was asked for.")


async def relay(
    ask: Callable[[], Awaitable[aiohttp.ClientResponse]], reply: Reply, caller: Caller
) -> AsyncGenerator[ModelEvent, None]:
    """Ask, and pass on what comes: one round of the loop for each read, however many deltas it brought."""
    response = await ask()
    content, feed, take = response.content, SseDecoder().feed, reply.take
    watch = Watch(content, caller.patience, caller.endpoint.where)
    try:
        while not reply.whole:
            watch.listen()
            data = await content.readany()
            watch.heard()
            if not data:
                break
            for burst in take(feed(data)):
                yield burst
            if reply.moved:
                watch.understood()
            if content.total_bytes > LONGEST_REPLY:
                raise failed("provider_malformed", f"The reply is longer than {LONGEST_REPLY >> 20} MiB.")
        yield reply.end()
    except BROKEN:
        raise failed("provider_cut", f"{caller.endpoint.where} broke off in the middle of its reply.") from None
    finally:
        watch.stop()
        caller.http.part(response, whole=reply.whole)


def _encoded(document: Mapping[str, object]) -> bytes:
    try:
        return orjson.dumps(document)
    except TypeError as error:
        raise failed("provider_rejected", f"The request cannot be written as JSON: {error}.") from None


def _not_reached(error: BaseException, endpoint: Endpoint) -> ModelFailed:
    where, labels = endpoint.where, endpoint.labels
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return failed("provider_not_found", f"{where} is no address we can call; check {labels.url}.")
    if isinstance(getattr(error, "os_error", error.__cause__), NotJudgedSafe):
        detail = f"{where} has only addresses that are not public, so it is not connected to; check {labels.url}."
        return failed("address_not_allowed", detail)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return failed("provider_unreachable", f"{where}: no such host, or no name server.")
    if isinstance(error, aiohttp.ClientSSLError):
        return failed("provider_unreachable", f"{where}: no secure connection, its certificate or TLS is not accepted.")
    if isinstance(error, aiohttp.ClientConnectorError):
        return failed("provider_unreachable", f"{where} cannot be reached: {os.strerror(error.os_error.errno or 0)}.")
    if isinstance(error, aiohttp.ClientResponseError | aiohttp.http.HttpProcessingError):
        return failed("provider_malformed", f"{where} does not answer in HTTP.")
    if isinstance(error, ValueError):
        detail = f"HTTP cannot carry the key, or the address, of {where}; check {labels.key} and {labels.url}."
        return failed("provider_auth", detail)
    return failed("provider_cut", f"{where} closed the connection before it answered.")
