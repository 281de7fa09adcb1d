"""Servers at an address that misbehave, over real sockets; and what a request to them carries."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from aiohttp import web
from mcp_stage import address, box_of, deed_of, tool_of, until, use

from quarterdeck.adapters.mcp.config import ServerConfig
from quarterdeck.kernel.errors import ToolFailed

MODERN = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
POKE = {"name": "poke", "inputSchema": {"type": "object"}}
OnCall = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


class Stage:
    """A server of MCP that answers a call as `on_call` has it, and remembers what it was sent."""

    def __init__(self, on_call: OnCall, *, legacy: bool = False, tools: list[dict[str, Any]] | None = None) -> None:
        self.on_call, self.legacy, self.tools = on_call, legacy, tools or [POKE]
        self.heard: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.sessions: list[str] = []
        self.abilities: dict[str, Any] = {"tools": {}}
        self.cut = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json() if request.method == "POST" else {"method": request.method}
        method = asked.get("method", "")
        self.heard.append((method, asked, {name.lower(): value for name, value in request.headers.items()}))
        if method == "server/discover" and not self.legacy:
            return reply(asked, MODERN)
        if method == "initialize" and self.legacy:
            self.sessions.append(f"session-{len(self.sessions)}")
            found = {"protocolVersion": "2025-11-25", "capabilities": self.abilities}
            return reply(asked, found, {"mcp-session-id": self.sessions[-1]})
        if self.legacy and request.headers.get("mcp-session-id") not in self.sessions[-1:]:
            return web.Response(status=404 if request.headers.get("mcp-session-id") else 400)
        if "id" not in asked:
            return web.Response(status=202)
        if method == "tools/list":
            return reply(asked, {"tools": self.tools})
        try:
            return await self.on_call(request, asked)
        except asyncio.CancelledError:
            self.cut += 1
            raise

    def calls(self) -> list[tuple[dict[str, Any], dict[str, str]]]:
        return [(asked, headers) for method, asked, headers in self.heard if method == "tools/call"]


def reply(asked: dict[str, Any], result: object, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": result}, headers=headers)


def said(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


@asynccontextmanager
async def standing(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    finally:
        await runner.cleanup()


async def fine(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
    return reply(asked, said("poked"))


async def streamed(request: web.Request, *pieces: bytes, endless: bool = False) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for piece in pieces:
        await response.write(piece)
    while endless:
        await response.write(b": still here\n\n" * 4096)
    return response


async def endless(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
    return await streamed(request, endless=True)


async def quiet(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
    await streamed(request, b": here\n\n")
    await asyncio.Event().wait()
    raise AssertionError


async def cut_off(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
    return await streamed(request, b'data: {"jsonrpc": "2.0", "id": ')


async def too_long(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
    return reply(asked, said("x" * (5 << 20)))


async def malformed(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
    return web.Response(text='{"jsonrpc": "2.0", "id":', content_type="application/json")


async def wrong_id(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
    return reply({"id": str(asked["id"])}, said("wrong"))


async def page(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
    return web.Response(text="<h1>Sign in</h1>", content_type="text/html")


async def trouble(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
    return web.Response(status=503)


async def wrong_id_then_right(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
    wrong = orjson.dumps({"jsonrpc": "2.0", "id": 4711, "result": said("wrong")})
    right = orjson.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said("poked")})
    return await streamed(request, b"data: not json\n\ndata: \n\ndata: " + wrong + b"\n\ndata: " + right + b"\n\n")


@pytest.mark.parametrize("on_call", [fine, wrong_id_then_right])
async def test_a_call_is_answered_with_json_or_in_a_stream(on_call: OnCall) -> None:
    async with standing(Stage(on_call).answer) as url, box_of(address(url)) as box:
        assert (await use(box, "poke")).text == "poked"


@pytest.mark.parametrize(
    ("on_call", "words"),
    [
        (endless, "its event stream goes on beyond 16 MiB"),
        (quiet, "took more than 1 s and was cancelled"),
        (cut_off, "its event stream ended without the answer; whether the call was carried out is not known"),
        (too_long, "its answer is longer than 4 MiB"),
        (malformed, "answered with something else than was asked"),
        (wrong_id, "answered with something else than was asked"),
        (page, "answers with something that is no MCP"),
        (trouble, "answers with HTTP 503"),
    ],
)
async def test_an_answer_that_is_none_is_told_in_words(on_call: OnCall, words: str) -> None:
    stage = Stage(on_call)
    async with standing(stage.answer) as url, box_of(address(url, timeout_s=1 if on_call is quiet else 30)) as box:
        with pytest.raises(ToolFailed, match=words):
            await use(box, "poke")
        if on_call is quiet:
            await until(lambda: stage.cut)


async def test_a_request_of_the_modern_era_says_by_itself_who_asks_and_what() -> None:
    schema = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "in": {"type": "object", "properties": {"deep": {"type": "boolean", "x-mcp-header": "Deep"}}},
            "none": {"type": "integer", "x-mcp-header": "None"},
        },
    }
    stage = Stage(fine, tools=[{"name": "名", "inputSchema": schema}])
    async with standing(stage.answer) as url, box_of(address(url, headers={"Authorization": "Bearer xyz"})) as box:
        assert (await use(box, "名", region="Hello, 世界", **{"in": {"deep": True}})).ok
    ((asked, headers),) = stage.calls()
    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert headers["mcp-method"] == "tools/call"
    assert headers["mcp-name"] == "=?base64?5ZCN?="
    assert headers["mcp-param-region"] == "=?base64?SGVsbG8sIOS4lueVjA==?="
    assert headers["mcp-param-deep"] == "true"
    assert "mcp-param-none" not in headers
    assert headers["authorization"] == "Bearer xyz"
    assert asked["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert asked["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] == "quarterdeck"
    assert [method for method, _, _ in stage.heard] == ["server/discover", "tools/list", "tools/call"]


@pytest.mark.parametrize(
    "marked",
    [
        {"type": "number", "x-mcp-header": "A"},
        {"type": "string", "x-mcp-header": "A B"},
        {"type": "string", "x-mcp-header": ""},
        {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}},
        {"anyOf": [{"type": "string", "x-mcp-header": "A"}]},
    ],
)
async def test_a_tool_that_asks_for_headers_it_must_not_is_left_out(marked: dict[str, Any]) -> None:
    bad = {"name": "bad", "inputSchema": {"type": "object", "properties": {"a": marked}}}
    async with standing(Stage(fine, tools=[bad, POKE]).answer) as url, box_of(address(url)) as box:
        assert [tool.definition.tool for tool in await box.tools()] == ["poke"]
        (report,) = await box.describe()
        assert report.left_out[0][0] == "bad"
        assert "x-mcp-header" in report.left_out[0][1]


async def test_a_forgotten_session_is_begun_anew_and_the_call_made_once() -> None:
    stage = Stage(fine, legacy=True)
    async with standing(stage.answer) as url, box_of(address(url)) as box:
        tool = await tool_of(box, "poke")
        stage.sessions.append("a restart has forgotten the first one")
        assert (await tool.use(await deed_of(tool), lambda text: None)).text == "poked"
        sessions = [headers.get("mcp-session-id") for _, headers in stage.calls()]
        assert sessions == ["session-0", "session-2"]
    assert stage.heard[-1][0] == "DELETE", "a session that is no longer needed is given back"


async def test_a_legacy_server_that_promises_to_tell_of_changes_is_heard() -> None:
    stage = Stage(fine, legacy=True)
    changed = asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.method != "GET":
            return await stage.answer(request)
        await changed.wait()
        return await streamed(request, b'data: {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n\n')

    stage.abilities = {"tools": {"listChanged": True}}
    async with standing(answer) as url, box_of(address(url), fresh_s=3600) as box:
        assert await tool_of(box, "poke")
        stage.tools = [{"name": "prod"}]
        assert await tool_of(box, "poke")
        changed.set()
        async with asyncio.timeout(30):
            while [tool.definition.tool for tool in await box.tools()] != ["prod"]:
                await asyncio.sleep(0.01)


async def test_a_redirect_is_not_followed_and_no_secret_goes_elsewhere() -> None:
    elsewhere = Stage(fine)
    async with standing(elsewhere.answer) as other:

        async def redirect(request: web.Request) -> web.StreamResponse:
            raise web.HTTPTemporaryRedirect(other)

        async with standing(redirect) as url, box_of(address(url, headers={"x-key": "secret-secret"})) as box:
            (report,) = await box.describe()
            assert report.trouble is not None
            assert "redirect, which is not followed" in report.trouble
            assert await box.tools() == ()
    assert elsewhere.heard == []


@pytest.mark.parametrize(("status", "words"), [(401, "check its headers in mcp.json"), (500, "HTTP 500")])
async def test_a_server_that_does_not_let_us_in_is_in_trouble(status: int, words: str) -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status)

    async with standing(refuse) as url, box_of(address(url)) as box:
        (report,) = await box.describe()
        assert report.trouble is not None
        assert words in report.trouble


async def test_a_server_that_is_not_there_costs_a_run_nothing(unused_tcp_port: int) -> None:
    gone = ServerConfig("gone", url=f"http://127.0.0.1:{unused_tcp_port}/mcp")
    async with standing(Stage(fine).answer) as url, box_of(gone, address(url, name="here")) as box:
        assert [tool.spec.name for tool in await box.tools()] == ["mcp__here__poke"]
        reports = await box.describe()
        assert reports[0].trouble is not None
        assert "cannot be reached" in reports[0].trouble


async def test_a_server_that_comes_back_is_used_again_without_being_waited_for() -> None:
    shut = True
    stage = Stage(fine)

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=500) if shut else await stage.answer(request)

    async with standing(answer) as url, box_of(address(url)) as box:
        assert await box.tools() == ()
        shut = False
        async with asyncio.timeout(30):
            while not await box.tools():
                await asyncio.sleep(0.01)
        assert (await use(box, "poke")).ok
