"""What the tests of the door share: servers, one for each module that wants it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from door_client import close_all
from door_serving import Serving, Start, script
from hub_peer import close_peers

# What the common server says. `hang` needs somebody to stop it.
TURNS: tuple[Mapping[str, Any], ...] = (
    {"content": ["Hello", " ", "there", ",\n", "friend", " of 猫", " and \u2028", "\r\nid: 7", "."], "burst": 3},
    {"when": "think", "reasoning": ["Hm. ", "So?"], "content": [f"word{n} " for n in range(20)], "burst": 7},
    {"when": "many", "content": [f"w{n} " for n in range(2000)], "burst": 37},
    {"when": "paced", "content": [f"t{n} " for n in range(60)], "pace": 0.01},
    {"when": "hang", "content": ["one ", "two ", "three"], "burst": 3, "hang": 3},
    {"when": "fail", "fail": {"code": "provider_rejected", "detail": "No.", "retryable": False, "after": 0}},
    {"when": "stumble", "content": ["a", "b", "c", "d"], "cut": 2},
    {"when": "stumble", "content": ["A", "B", "C", "D"]},
)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts servers; all are gone at the end of the module, and none of them may have stumbled."""
    begun: list[Serving] = []

    def begin(
        *turns: Mapping[str, Any],
        folder: Path | None = None,
        environ: Mapping[str, str] | None = None,
        constants: Mapping[str, object] | None = None,
    ) -> Serving:
        folder = folder or tmp_path_factory.mktemp("server")
        model = {"QUARTERDECK_MODEL": script(folder, *(turns or TURNS))}
        begun.append(Serving(folder, {**model, **(environ or {})}, constants))
        return begun[-1]

    yield begin
    for server in begun:
        server.stop()
    for server in begun:
        assert not server.complaints(), "".join(server.log[-40:])


@pytest.fixture(scope="module")
def server(start: Start) -> Serving:
    return start()


@pytest.fixture(autouse=True)
async def _hang_up() -> AsyncIterator[None]:
    yield
    await close_all()
    await close_peers()
