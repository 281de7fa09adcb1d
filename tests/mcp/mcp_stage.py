"""What the tests of MCP share: boxes of servers that are ended again, and calls made the way a run makes them."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import psutil

from quarterdeck.adapters.mcp.config import ServerConfig, digest_of
from quarterdeck.adapters.mcp.tools import McpTool, McpTools
from quarterdeck.kernel.ids import ConversationId, RunId, TenantId
from quarterdeck.kernel.parts import ToolCall
from quarterdeck.ports import Deed, Done, Site
from quarterdeck.settings import read_settings

HERE = Path(__file__).parent
BOUND_S = 30
SITE = Site(TenantId("t"), RunId("r"), ConversationId("c"), "/")


def program(script: str, *words: str, name: str = "peer", **options: Any) -> ServerConfig:
    command = (sys.executable, str(HERE / script), *words)
    return ServerConfig(name, command=command, digest=digest_of([name, command]), **options)


def address(url: str, *, name: str = "peer", **options: Any) -> ServerConfig:
    return ServerConfig(name, url=url, digest=digest_of([name, url]), **options)


@contextlib.contextmanager
def peer_over_http(*words: str, trace: Path | None = None) -> Iterator[str]:
    """The reference server in a process of its own; its address."""
    env = {**os.environ, "PEER_TRACE": str(trace or os.devnull)}
    command = [sys.executable, str(HERE / "mcp_peer.py"), "http", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.kill()


def open_box_of(*servers: ServerConfig, **options: Any) -> McpTools:
    return McpTools(servers, environment=read_settings().surroundings, **options)


@contextlib.asynccontextmanager
async def box_of(*servers: ServerConfig, **options: Any) -> AsyncIterator[McpTools]:
    box = open_box_of(*servers, **options)
    try:
        yield box
    finally:
        await box.aclose()


async def tool_of(box: McpTools, name: str) -> McpTool:
    found = {tool.definition.tool: tool for tool in await box.tools()}
    assert name in found, (sorted(found), await box.describe())
    return found[name]


async def deed_of(tool: McpTool, /, **arguments: Any) -> Deed:
    call = ToolCall("call", tool.spec.name, orjson.dumps(arguments).decode())
    return Deed(call, SITE, await tool.weigh(call, SITE), "key")


async def use(
    box: McpTools, tool_name: str, say: Callable[[str], None] = lambda text: None, /, **arguments: Any
) -> Done:
    tool = await tool_of(box, tool_name)
    async with asyncio.timeout(BOUND_S):
        return await tool.use(await deed_of(tool, **arguments), say)


async def until(holds: Callable[[], Any]) -> Any:
    async with asyncio.timeout(BOUND_S):
        while not (found := holds()):
            await asyncio.sleep(0.01)
    return found


def traced(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def pid_in(path: Path) -> int:
    return int(next(line for line in traced(path) if line.startswith("pid ")).split()[1])


def is_alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def again(server: ServerConfig, **changes: Any) -> ServerConfig:
    return replace(server, **changes)
