"""The reference implementation of MCP as a server, in a process of its own: `mcp_peer.py stdio` or `mcp_peer.py http`.

Over HTTP its first line says the port. Files named in PEER_TRACE tell what reached it.
"""

import asyncio
import os
import socket
import sys

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ImageContent,
    InputRequiredResult,
    ResourceLink,
    TextContent,
)
from pydantic import BaseModel

server = MCPServer("peer", version="1.0")


def trace(text: str) -> None:
    if path := os.environ.get("PEER_TRACE"):
        with open(path, "a") as file:
            file.write(text + "\n")


class Sum(BaseModel):
    total: int


class Colour(BaseModel):
    colour: str


@server.tool(description="Say it again.")
def echo(text: str) -> str:
    trace(f"echo {text}")
    return text


@server.tool()
def add(a: int, b: int) -> Sum:
    return Sum(total=a + b)


@server.tool()
def picture() -> list[ImageContent | TextContent | ResourceLink]:
    return [
        TextContent(type="text", text="Here:"),
        ImageContent(type="image", data="AAAA" * 100, mime_type="image/png"),
        ResourceLink(type="resource_link", name="notes", uri="file:///notes.txt"),
    ]


@server.tool()
def fail() -> str:
    raise ValueError("there is no such thing")


@server.tool()
def environment() -> str:
    return " ".join(sorted(os.environ))


@server.tool()
async def forever(ctx: Context) -> str:
    trace("began")
    try:
        await ctx.report_progress(1, 2, "half way")
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        trace("cancelled")
        raise
    return "never"


@server.tool()
async def count(ctx: Context) -> str:
    for number in range(3):
        await ctx.report_progress(number, 3, f"step {number}")
    return "counted"


@server.tool()
async def colour(ctx: Context) -> str | InputRequiredResult:
    if ctx.protocol_version == "2026-07-28":
        answers = ctx.input_responses
        if not answers:
            schema = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
            form = ElicitRequestFormParams(message="Which colour?", requested_schema=schema)
            return InputRequiredResult(
                input_requests={"c": ElicitRequest(params=form)}, request_state="painting the fence"
            )
        answer = answers["c"]
        return f"{answer.action} {(answer.content or {}).get('colour')} {ctx.request_state}"
    found = await ctx.elicit("Which colour?", Colour)
    return found.action


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    server.add_tool(lambda: "new", name=name, description="It was not there before.")
    await ctx.notify_tools_changed()
    if ctx.protocol_version != "2026-07-28":
        await ctx.session.send_tool_list_changed()
    return "grew"


def over_http() -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    app = server.streamable_http_app(json_response="--json" in sys.argv)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


if __name__ == "__main__":
    trace(f"pid {os.getpid()}")
    over_http() if sys.argv[1] == "http" else server.run("stdio")
