"""One reference server, reached in every way there is: over pipes and over HTTP, in both eras."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from mcp_stage import address, box_of, peer_over_http, program

from quarterdeck.adapters.mcp.config import ServerConfig
from quarterdeck.adapters.mcp.tools import McpTools

WAYS = ["stdio-auto", "stdio-legacy", "http-auto", "http-legacy", "json-auto", "json-legacy"]


@pytest.fixture(scope="session")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """The addresses of one that answers in event streams, and of one that answers in plain JSON; what they trace."""
    trace = tmp_path_factory.mktemp("peers") / "trace"
    with peer_over_http(trace=trace) as streaming, peer_over_http("--json", trace=trace) as plain:
        yield streaming, plain, trace


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def trace(way: str, peers: tuple[str, str, Path], tmp_path: Path) -> Path:
    if way.startswith("stdio"):
        return tmp_path / "trace"
    peers[2].write_text("")
    return peers[2]


@pytest.fixture
def server(way: str, trace: Path, peers: tuple[str, str, Path]) -> ServerConfig:
    kind, era = way.split("-")
    if kind == "stdio":
        return program("mcp_peer.py", "stdio", env={"PEER_TRACE": str(trace)}, era=era)
    return address(peers[0] if kind == "http" else peers[1], era=era)


@pytest.fixture
def era(way: str) -> str:
    return "legacy" if way.endswith("legacy") else "modern"


@pytest.fixture
async def box(server: ServerConfig) -> AsyncIterator[McpTools]:
    async with box_of(server) as box:
        yield box
