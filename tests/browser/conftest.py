"""What the tests of the control room share: a real browser at a real server with a script for a model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from chromium import MISSING, OPTIONS, found
from door_serving import Serving, script
from playwright.async_api import Browser, async_playwright, expect
from sight import Sight

WAIT_MS = 20_000
expect.set_options(timeout=WAIT_MS)


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    chromium = found()
    if chromium is None:
        pytest.skip(MISSING)
    program, environ = chromium
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=list(OPTIONS), env=dict(environ))
        yield browser
        await browser.close()


@pytest.fixture
async def sight(browser: Browser) -> AsyncIterator[Sight]:
    """Somebody who looks: opens pages, and notes whatever a page should never do."""
    sight = Sight(browser, WAIT_MS)
    yield sight
    await sight.close()
    assert not sight.errors, sight.errors
    assert not sight.strangers, sight.strangers


class Room:
    def __init__(self, folder: Path, turns: tuple[Mapping[str, Any], ...], environ: Mapping[str, str]) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        here = {"QUARTERDECK_MODEL": script(folder, *turns), "QUARTERDECK_WORKSPACE": str(self.workspace)}
        self.server = Serving(folder, {**here, **environ})

    @property
    def url(self) -> str:
        return f"{self.server.scheme}://{self.server.host}/"

    def restart(self) -> None:
        port = self.server.port
        self.server.kill()
        self.server.start(port)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Any]:
    """Opens a control room: `room(turn, turn, …, NAME=value)`."""
    opened: list[Room] = []

    def open_room(*turns: Mapping[str, Any], **environ: str) -> Room:
        opened.append(Room(tmp_path, turns, environ))
        return opened[-1]

    yield open_room
    for each in opened:
        each.server.stop()
        assert not each.server.complaints(), "".join(each.server.log[-40:])
