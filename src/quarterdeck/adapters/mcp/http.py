"""The wire to a server at an address: every message is a POST, answered with JSON or with an event stream.

Only the configured address is ever called, redirects are not followed, and what comes back is bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing, suppress
from typing import Any

import aiohttp

from quarterdeck.adapters.mcp import jsonrpc
from quarterdeck.adapters.mcp.config import ServerConfig
from quarterdeck.adapters.mcp.jsonrpc import LONGEST_MESSAGE, Answer, Ask, Note
from quarterdeck.adapters.mcp.troubles import Broken, Forgotten, Refused, Status, Trouble
from quarterdeck.adapters.mcp.wire import MODERN, Ear
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.sse import SseDecoder
from quarterdeck.kernel.errors import ModelFailed

# What one answer may bring besides itself: notes, pings, questions.
LONGEST_STREAM = 16 << 20
LONGEST_SESSION = 256
MOST_ERRANDS = 16
ERRAND_S = 2.0
FAILED = (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError, EOFError, ValueError)
PLAIN = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class HttpWire:
    def __init__(self, config: ServerConfig, http: Http, ear: Ear) -> None:
        self.version = MODERN
        self._config, self._http, self._ear = config, http, ear
        self._session_id: str | None = None
        self._broken: str | None = None
        self._errands: set[asyncio.Task[None]] = set()

    @property
    def broken(self) -> str | None:
        return self._broken

    async def ask(self, ident: int, method: str, params: dict[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        if self._broken is not None:
            raise Broken(self._broken)
        try:
            return await self._ask(jsonrpc.request(ident, method, params), ident, method, headers)
        except asyncio.CancelledError:
            # In the modern era to close the answer is to cancel; in the legacy one it has to be said.
            if self.version != MODERN and method != "initialize":
                self._errand(self._post_and_part(jsonrpc.cancelled(ident)))
            raise

    async def _ask(self, body: bytes, ident: int, method: str, headers: Mapping[str, str]) -> dict[str, Any]:
        response = await self._send("POST", body, {"mcp-method": method, **headers} if self.version == MODERN else {})
        whole = False
        try:
            await self._check(response, method)
            answer = await self._answer(response, ident)
            whole = True
            if method == "initialize":
                self._remember(response)
            return answer.settle()
        except FAILED:
            raise Broken("the connection broke off in the middle of its answer") from None
        finally:
            self._http.part(response, whole=whole)

    async def tell(self, method: str, params: dict[str, Any]) -> None:
        await self._post_and_part(jsonrpc.note(method, params))

    async def listen(self) -> None:
        response = await self._send("GET", None, {"accept": "text/event-stream"})
        try:
            if response.status == 200 and response.content_type == "text/event-stream":
                self._ear.note("notifications/tools/list_changed", {})  # what changed until now was told to nobody
                async for _ in self._answers(response):
                    pass
        except FAILED:
            return
        finally:
            self._http.part(response, whole=False)

    async def aclose(self) -> None:
        self._broken = self._broken or "it was closed"
        if self._session_id is not None:
            self._errand(self._leave())
        if self._errands:
            await asyncio.wait(self._errands, timeout=ERRAND_S)
        for errand in list(self._errands):
            errand.cancel()

    def drop(self) -> None:
        self._broken = self._broken or "it was closed"

    async def _leave(self) -> None:
        response = await self._send("DELETE", None, {})
        self._http.part(response, whole=False)

    async def _send(self, verb: str, body: bytes | None, headers: Mapping[str, str]) -> aiohttp.ClientResponse:
        session = await self._http.session()
        sent = {**PLAIN, "accept-encoding": "identity", "mcp-protocol-version": self.version}
        if self._session_id is not None:
            sent["mcp-session-id"] = self._session_id
        sent |= {**headers, **self._config.headers}
        try:
            return await session.request(verb, self._config.url, data=body, headers=sent, allow_redirects=False)
        except FAILED as error:
            if isinstance(error, aiohttp.ClientConnectorError):
                raise Trouble(f"{self._config.where} cannot be reached") from None
            raise Broken(f"{self._config.where} does not answer in HTTP") from None

    async def _post_and_part(self, body: bytes) -> None:
        response = await self._send("POST", body, {})
        self._http.part(response, whole=response.status == 202)

    async def _check(self, response: aiohttp.ClientResponse, method: str) -> None:
        """Raise what the status says, or the error that the server put behind it."""
        status = response.status
        if status == 200:
            return
        if 300 <= status < 400:
            raise Trouble("it answers with a redirect, which is not followed; mcp.json must name the very address")
        if status in (401, 403):
            raise Trouble(f"it does not let us in (HTTP {status}); check its headers in mcp.json")
        if status == 404 and self._session_id is not None and method != "initialize":
            self._broken = "it has forgotten our session"
            raise Forgotten(self._broken)
        if response.content_type == "application/json":
            message = jsonrpc.read(await self._body(response))
            if isinstance(message, Answer) and message.refused is not None:
                raise message.refused
        raise Status(status, f"it answers with HTTP {status}")

    async def _answer(self, response: aiohttp.ClientResponse, ident: int) -> Answer:
        if response.content_type == "text/event-stream":
            async with aclosing(self._answers(response)) as answers:
                async for answer in answers:
                    if _is(answer, ident):
                        return answer
            raise Broken("its event stream ended without the answer")
        if response.content_type != "application/json":
            raise Broken("it answers with something that is no MCP")
        message = jsonrpc.read(await self._body(response))
        if not isinstance(message, Answer) or not _is(message, ident):
            raise Broken("it answered with something else than was asked")
        return message

    async def _answers(self, response: aiohttp.ClientResponse) -> AsyncGenerator[Answer, None]:
        decoder, size = SseDecoder(LONGEST_MESSAGE), 0
        async for data in response.content.iter_any():
            size += len(data)
            if size > LONGEST_STREAM:
                raise Broken(f"its event stream goes on beyond {LONGEST_STREAM >> 20} MiB")
            try:
                payloads = decoder.feed(data)
            except ModelFailed:
                raise Broken(f"it sent an event of more than {LONGEST_MESSAGE >> 20} MiB") from None
            for payload in payloads:
                message = jsonrpc.read(payload)
                if isinstance(message, Answer):
                    yield message
                elif isinstance(message, Note):
                    self._ear.note(message.method, message.params)
                elif isinstance(message, Ask) and self.version != MODERN:
                    reply = jsonrpc.reply(message.id, self._ear.asked(message.method, message.params))
                    self._errand(self._post_and_part(reply))

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        data = bytearray()
        async for piece in response.content.iter_any():
            data += piece
            if len(data) > LONGEST_MESSAGE:
                raise Broken(f"its answer is longer than {LONGEST_MESSAGE >> 20} MiB")
        return bytes(data)

    def _remember(self, response: aiohttp.ClientResponse) -> None:
        found = response.headers.get("mcp-session-id")
        if found is not None and (len(found) > LONGEST_SESSION or not found.isascii() or not found.isprintable()):
            raise Broken("it names its session in a way that cannot be used")
        self._session_id = found

    def _errand(self, doing: Coroutine[Any, Any, None]) -> None:
        """Something to post that nobody waits for."""
        if len(self._errands) >= MOST_ERRANDS:
            doing.close()
            return
        task = asyncio.get_running_loop().create_task(_within(doing))
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)


async def _within(doing: Coroutine[Any, Any, None]) -> None:
    with suppress(Trouble, TimeoutError):
        async with asyncio.timeout(ERRAND_S):
            await doing


def _is(answer: Answer, ident: int) -> bool:
    """An error may come without a number, where the server could not read it."""
    return (answer.id == ident and isinstance(answer.id, int)) or (
        answer.id is None and isinstance(answer.refused, Refused)
    )
