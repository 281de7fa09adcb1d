"""Pages are fetched from addresses that were judged, bounded, and as text. The servers are real, allowed by name."""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.abc import ResolveResult
from toolroom import Bench, at

from quarterdeck.adapters import addresses
from quarterdeck.adapters.addresses import JudgingResolver, NotJudgedSafe, literal, public
from quarterdeck.adapters.tools import web_fetch
from quarterdeck.adapters.tools.page import page_text
from quarterdeck.adapters.tools.toolbox import LocalToolbox
from quarterdeck.adapters.tools.web_fetch import WebFetch

HERE = "127.0.0.1"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[str]:
    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, HERE, 0)
    await site.start()
    try:
        yield f"http://{HERE}:{site._server.sockets[0].getsockname()[1]}"  # type: ignore[union-attr]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def fetching(*allowed: str, timeout_s: float = 10) -> AsyncIterator[Bench]:
    tool = WebFetch(allowed, timeout_s)
    try:
        yield Bench(LocalToolbox([tool]), at(Path("/nowhere")))
    finally:
        await tool.aclose()


def page(body: bytes, content_type: str = "text/html", **headers: str) -> Answer:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=body, headers={"content-type": content_type, **headers})

    return answer


async def fetched(answer: Answer, path: str = "/") -> tuple[bool, str]:
    async with serving(answer) as url, fetching(HERE) as bench:
        done = await bench.use("web_fetch", url=url + path)
        return done.ok, done.text.replace(url, "URL")


async def test_it_asks_and_says_where_it_goes() -> None:
    async with fetching() as bench:
        weighed = await bench.weigh("web_fetch", url="https://example.org/a?b=c")
    assert (weighed.risk, weighed.action, weighed.effect) == ("medium", "network", "pure")
    assert weighed.shown == "web_fetch https://example.org/a?b=c"
    assert weighed.bound == {"host": "example.org"}


async def test_a_page_is_given_as_text() -> None:
    html = (
        "<html><head><title>A  page</title><style>x{}</style></head><body><h1>Head</h1><script>bad()</script>"
        "<p>One &amp; <b>two</b>,<br>three <a href='https://x.example/y'>link</a></p><ul><li>a<li>b</ul></body></html>"
    )
    assert await fetched(page(html.encode())) == (
        True,
        "URL/ answers 200, text/html\n\nA page\n\nHead\n\nOne & two,\nthree link (https://x.example/y)\n\n- a\n- b",
    )


@pytest.mark.parametrize(
    ("content_type", "body", "said"),
    [
        ("text/plain; charset=windows-1251", "текст".encode("cp1251"), "текст"),
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("text/plain; charset=nonesuch", b"plain", "plain"),
        ("text/plain; charset=base64", b"cGxhaW4=", "cGxhaW4="),
    ],
)
async def test_text_of_any_kind_is_read(content_type: str, body: bytes, said: str) -> None:
    ok, text = await fetched(page(body, content_type))
    assert ok
    assert text.partition("\n\n")[2] == said


async def test_what_is_no_text_is_said_and_not_dumped() -> None:
    ok, text = await fetched(page(b"\x89PNG\0\0", "image/png"))
    assert (ok, text) == (False, "URL/ answers 200, image/png: not text, 6 bytes.")


async def test_a_redirect_is_reported_and_not_followed() -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=302, headers={"location": "http://169.254.169.254/latest"})

    _, text = await fetched(answer)
    assert text == "URL/ answers 302: it is at 'http://169.254.169.254/latest' now, which was not followed."
    assert asked == ["/"]


async def test_a_page_that_unpacks_to_more_than_it_should_is_cut_visibly() -> None:
    bomb = gzip.compress(b"a" * (64 << 20))
    ok, text = await fetched(page(bomb, "text/plain", **{"content-encoding": "gzip"}))
    assert ok
    assert len(text) < 70_000
    assert text.endswith(f"… the page is longer than {web_fetch.LARGEST_PAGE:,} bytes; the rest was not read")


async def test_a_server_that_falls_silent_is_left() -> None:
    over = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        await over.wait()
        return web.Response()

    async with serving(answer) as url, fetching(HERE, timeout_s=0.2) as bench:
        assert "took longer than" in await bench.fails("web_fetch", url=url)
        over.set()


@pytest.mark.parametrize("raw", [b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nx: " + b"y" * 99_999 + b"\r\n\r\n", b""])
async def test_what_is_no_answer_is_said(raw: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(raw)
        writer.close()

    server = await asyncio.start_server(answer, HERE, 0)
    async with server, fetching(HERE) as bench:
        port = server.sockets[0].getsockname()[1]
        said = await bench.fails("web_fetch", url=f"http://{HERE}:{port}/")
    assert said.startswith(f"{HERE} could not be fetched from: ")
    assert len(said) < 400


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://localhost/", "http://10.1.2.3/", "http://192.168.1.1/", "http://169.254.169.254/",
        "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/", "http://0/", "http://0.0.0.0/",
        "http://[::1]/", "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/",
        "http://[64:ff9b::a9fe:a9fe]/", "http://[64:ff9b:1::1]/", "http://[2002:a9fe:a9fe::]/", "http://[fe80::1]/",
        "http://[fc00::1]/", "http://[fec0::1]/", "http://[ff02::1]/", "http://100.64.0.1/", "http://224.0.0.1/",
        "http://255.255.255.255/", "http://[2001:0:7f00:1::1]/",
    ],
)  # fmt: skip
async def test_what_is_not_public_is_not_connected_to(url: str) -> None:
    """Control: the same server, allowed by its name, answers in every other test."""
    async with fetching("elsewhere") as bench:
        said = await bench.fails("web_fetch", url=url)
    assert "public" in said or "could not be fetched from" in said
    assert "not connected to" in said


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "gopher://x/", "ftp://x/", "unix:/run/x", "javascript:alert(1)", "/etc/passwd", "x", "",
        "http://", "http:///x", "http://user:password@example.org/", "http://user@example.org/", "http://exa mple.org/",
        "http://example.org\\@127.0.0.1/", "http://example.org/\0", "http://example.org/\r\nx: y", "http://[::1/",
        "http://example.org:99999/", "http://" + "x" * 5000,
    ],
)  # fmt: skip
async def test_what_is_no_address_of_the_web_is_refused_before_anything_is_asked(url: str) -> None:
    async with fetching() as bench:
        said = await bench.fails("web_fetch", url=url)
    assert "password@" not in said


async def test_a_name_that_leads_to_this_machine_is_not_connected_to_whatever_it_said_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name that is judged public when it is weighed, and is somewhere else when it is connected to."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(text="inside")

    class Rebinding:
        def __init__(self) -> None:
            self.answers = [HERE]

        async def resolve(self, host: str, port: int, family: int) -> list[ResolveResult]:
            return [
                ResolveResult(hostname=host, host=each, port=port, family=2, proto=0, flags=0) for each in self.answers
            ]

        async def close(self) -> None:
            pass

    monkeypatch.setattr(addresses.aiohttp, "ThreadedResolver", Rebinding)
    async with serving(answer) as url:
        port = url.rpartition(":")[2]
        async with fetching() as bench:
            said = await bench.fails("web_fetch", url=f"http://rebinding.example:{port}/")
        assert "rebinding.example has only addresses that are not public" in said
        assert asked == []
        async with fetching("rebinding.example") as bench:
            assert (await bench.use("web_fetch", url=f"http://rebinding.example:{port}/")).text.endswith("inside")
    resolver = JudgingResolver()
    resolver._inner.answers = ["10.0.0.1", "8.8.8.8", "::1"]  # type: ignore[attr-defined]
    assert [each["host"] for each in await resolver.resolve("mixed.example", 80)] == ["8.8.8.8"]
    resolver._inner.answers = ["10.0.0.1"]  # type: ignore[attr-defined]
    with pytest.raises(NotJudgedSafe):
        await resolver.resolve("inner.example", 80)


@pytest.mark.parametrize(
    "text", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::"]
)
def test_public_addresses_are_public(text: str) -> None:
    assert public(ipaddress.ip_address(text))


def test_an_address_is_known_in_every_way_of_writing_it() -> None:
    for text in ("127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1"):
        assert literal(text) == ipaddress.ip_address("127.0.0.1")
    assert literal("[::1]") == ipaddress.ip_address("::1")
    assert literal("example.org") is None
    assert literal("") is None


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("", ""),
        ("<p>a<p>b</p><p>c", "a\nb\n\nc"),
        ("plain < text & more", "plain < text & more"),
        ("<head><title>t</title>hidden</head><body>x", "t\n\nx"),
        ("<script>no</script>yes<style>no</style>", "yes"),
        ("<a href='javascript:x'>a</a> <a href='/b'>b</a> <a>c</a>", "a b (/b) c"),
        ("<svg/><p>after", "after"),
        ("<noscript>x", ""),
    ],
)
def test_html_becomes_what_a_reader_sees(html: str, text: str) -> None:
    assert page_text(html) == text
