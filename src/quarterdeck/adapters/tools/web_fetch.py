"""`web_fetch`: one page, from an address that was judged, without following where it is sent on to."""

from __future__ import annotations

import asyncio
import codecs
import hashlib
from dataclasses import dataclass
from typing import Annotated

import aiohttp
from yarl import URL

from quarterdeck.adapters.addresses import JudgingResolver, NotJudgedSafe, literal, public
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.tools.arguments import Says, read, written
from quarterdeck.adapters.tools.bounded import cut
from quarterdeck.adapters.tools.page import page_text
from quarterdeck.adapters.tools.tool import Say, spec_of
from quarterdeck.engine.policy.rules import FETCH_TOOL, rule_for
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.parts import ToolCall
from quarterdeck.ports import Deed, Done, Site, Weighed

TIMEOUT_S = 30.0
LARGEST_PAGE = 1 << 20
_JSON = ("application/json", "application/ld+json", "application/problem+json")
_HTML = ("text/html", "application/xhtml+xml")
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {
    "accept": "text/html, application/json;q=0.9, text/*;q=0.8",
    "accept-encoding": "gzip, deflate",
    "user-agent": "Quarterdeck (an agent, on behalf of a person)",
}


@dataclass(frozen=True, slots=True)
class FetchPage:
    url: Annotated[str, Says("the address, beginning with http:// or https://", least=1, most=4096)]


@dataclass(frozen=True, slots=True)
class _Page:
    status: int
    location: str
    type: str
    charset: str
    data: bytes
    whole: bool


class WebFetch:
    """`allowed` are hosts that may be fetched from although they are not public, such as one's own network's."""

    def __init__(self, allowed: tuple[str, ...] = (), timeout_s: float = TIMEOUT_S) -> None:
        self.spec = spec_of("web_fetch", "Fetch one page of the web as text.", FetchPage, "pure")
        self._allowed = frozenset(host.casefold() for host in allowed)
        self._http = Http(resolver=lambda: JudgingResolver(self._allowed))
        self._timeout_s = timeout_s

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:  # noqa: ARG002 - the web is the same everywhere
        asked = read(FetchPage, call.arguments)
        url = self._judged(asked.url)
        why = f"It goes out to {url.host}, which then knows what was asked."
        shown, bound, rule = f"web_fetch {url}", {"host": url.host or ""}, rule_for(FETCH_TOOL, (str(url),))
        return Weighed("medium", "network", "pure", written(asked), shown, why, bound, rule)

    async def use(self, deed: Deed, say: Say) -> Done:  # noqa: ARG002 - it speaks once, at the end
        url = self._judged(read(FetchPage, deed.weighed.arguments).url)
        try:
            async with asyncio.timeout(self._timeout_s):
                page = await self._page(url)
        except TimeoutError:
            raise ToolFailed(f"{url.host} took longer than {self._timeout_s:.0f} seconds.") from None
        except NotJudgedSafe as error:
            raise ToolFailed(f"{error}; it is not connected to.") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ToolFailed(_trouble(url, error)) from None
        # Reading strange pages takes its time, which the event loop does not have.
        return await asyncio.to_thread(_told, url, page)

    async def probe(self, deed: Deed) -> Done | None:  # noqa: ARG002 - it left nothing behind
        return None

    async def aclose(self) -> None:
        await self._http.aclose()

    def _judged(self, text: str) -> URL:
        """The parser that judges is the one that connects, so that they cannot read it differently."""
        if not text.isprintable() or " " in text or "\\" in text:
            raise ToolFailed("The URL contains characters that an address cannot have.")
        try:
            url = URL(text)
            port = url.port
        except ValueError as error:
            raise ToolFailed(f"{text[:200]!r} is not an address: {error}.") from None
        if url.scheme not in {"http", "https"} or not url.host or port is None:
            raise ToolFailed(f"{text[:200]!r} is not an address that begins with http:// or https:// and names a host.")
        if url.user is not None or url.password is not None:
            raise ToolFailed("The address contains a name or password, which is not sent; leave it away.")
        self._judge_host(url.host)
        return url

    def _judge_host(self, host: str) -> None:
        address = literal(host)
        if address is not None and host.casefold() not in self._allowed and not public(address):
            raise ToolFailed(f"{host} is not a public address; it is not connected to.")

    async def _page(self, url: URL) -> _Page:
        session = await self._http.session()
        async with session.get(url, headers=_HEADERS, allow_redirects=False) as response:
            data = bytearray()
            while len(data) <= LARGEST_PAGE and (more := await response.content.readany()):
                data += more
            whole = len(data) <= LARGEST_PAGE
            if not whole:
                response.close()
            return _Page(
                response.status,
                response.headers.get("location", ""),
                response.content_type,
                response.charset or "utf-8",
                bytes(data[:LARGEST_PAGE]),
                whole,
            )


def _told(url: URL, page: _Page) -> Done:
    digest = hashlib.sha256(page.data).hexdigest()
    if page.status in _REDIRECTS:
        target = page.location[:2000]
        return Done(f"{url} answers {page.status}: it is at {target!r} now, which was not followed.", digest=digest)
    head = f"{url} answers {page.status}, {page.type}"
    if not page.type.startswith("text/") and page.type not in _JSON + _HTML:
        return Done(f"{head}: not text, {len(page.data):,} bytes.", ok=False, digest=digest)
    text = _decoded(page)
    if page.type in _HTML:
        text = page_text(text)
    cut_off = "" if page.whole else f"\n… the page is longer than {LARGEST_PAGE:,} bytes; the rest was not read"
    return Done(f"{head}\n\n{cut(text)}{cut_off}", ok=page.status < 400, digest=digest)


def _decoded(page: _Page) -> str:
    try:
        charset = codecs.lookup(page.charset).name
        return page.data.decode(charset, "replace")
    except (LookupError, UnicodeError, ValueError):
        return page.data.decode("utf-8", "replace")


def _trouble(url: URL, error: Exception) -> str:
    for cause in (error, error.__cause__, getattr(error, "os_error", None)):
        if isinstance(cause, NotJudgedSafe):
            return f"{cause}; it is not connected to."
    said = " ".join(str(error).split())[:300]
    return f"{url.host} could not be fetched from: {said or type(error).__name__}."
