"""Take the pictures of the control room that the documents show: `make pictures`.

A real server with a script for a model, a real Chromium, each screen in the light and in the dark.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests/browser"), str(ROOT / "tests/server")]

from chromium import OPTIONS, found  # noqa: E402 - they live with the tests
from door_serving import Serving, script  # noqa: E402
from playwright.async_api import Page, async_playwright, expect  # noqa: E402

PICTURES = ROOT / "docs/pictures"
SIZE = {"width": 1280, "height": 800}
PHASES = [
    {"id": "facts", "name": "Gather the facts", "expert": "Ada", "task": "What do both databases need to run?"},
    {"id": "risks", "name": "Find the risks", "expert": "Boris", "task": "What goes wrong with each?"},
    {"id": "advice", "name": "Write the advice", "expert": "Ada", "task": "Advise.", "depends_on": ["facts", "risks"]},
]
VERDICT = {"verdict": "SQLite, until two machines write.", "reasons": ["One file, no server."], "dissent": []}
LONG = (
    "Both keep what they were given. SQLite is one file beside the program; PostgreSQL is a server to look after. " * 3
)
ANSWER = """Here is what I found:

| file | lines |
|---|--:|
| `app.py` | 120 |
| `store.py` | 84 |

```python
def total(prices):
    return sum(prices)
```

The test was wrong, not the code: it compared with **rounded** prices."""
SAID: tuple[Mapping[str, Any], ...] = (
    {"when": "Divide the task", "content": [json.dumps({"phases": PHASES})]},
    {"when": "You moderate a debate", "content": ["Which database should a small shop begin with?"]},
    {"when": "You have not heard the others", "content": ["SQLite: the least that can break."]},
    {"when": "The debate goes on", "content": ["I can live with that.\nAGREE"]},
    {"when": "You moderated this debate", "content": [json.dumps(VERDICT)]},
    {"when": "the work is over", "content": ["Begin with SQLite."]},
    {"when": "Your part", "content": [f"{word} " for word in LONG.split()], "pace": 0.2},
    {"when": "why does the test", "calls": [{"id": "c1", "name": "list_dir", "arguments": {"path": "."}}]},
    {
        "when": "why does the test",
        "reasoning": ["Let me compare."],
        "content": [f"{part} " for part in ANSWER.split(" ")],
    },
    {"when": "clean", "calls": [{"id": "c2", "name": "shell_exec_safe", "arguments": {"command": "rm -r build dist"}}]},
    {"content": ["Good morning."]},
)


async def talk(page: Page, url: str) -> None:
    await page.goto(f"{url}#/")
    await page.locator("#composer").fill("Please find out why does the test of the shop fail")
    await page.locator("#composer").press("Enter")
    await expect(page.locator(".said.assistant")).to_contain_text("rounded")


async def ask(page: Page, url: str) -> None:
    await page.goto(f"{url}#/")
    await page.locator("#composer").fill("clean up what the build left behind")
    await page.locator("#composer").press("Enter")
    await expect(page.get_by_role("group", name="Waits for your answer")).to_be_visible()
    await page.goto(f"{url}#/approvals")
    await expect(page.get_by_role("group", name="Waits for your answer").first).to_be_visible()


async def team(page: Page, url: str) -> None:
    await page.goto(f"{url}#/teams")
    await page.get_by_label("Name of the team").fill("Advice")
    await page.get_by_role("button", name="Form the team").click()
    await page.get_by_label("What shall the team do?").fill("Which database should a small shop begin with?")
    await page.get_by_role("button", name="Begin").click()
    await expect(page.locator(".phase.running")).to_have_count(2)
    await page.locator("#composer").fill("/debate SQLite or PostgreSQL")
    await page.locator("#composer").press("Enter")
    await page.locator(".phase", has_text="Gather the facts").click()
    await expect(page.locator(".phase.debate")).to_be_visible()
    await expect(page.locator(".card.here .prose").last).to_contain_text("SQLite is one file")


async def board(page: Page, url: str) -> None:
    await page.goto(f"{url}#/board")
    await page.get_by_label("Name of a new project").fill("Open the shop")
    await page.get_by_role("button", name="Open a project").click()
    for name in ("Choose a database", "Write the texts", "Take the photos"):
        await page.get_by_label("New task… to do").fill(name)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("link", name=name)).to_be_visible()
    for name, steps in (("Choose a database", 3), ("Write the texts", 1)):
        for _ in range(steps):
            await page.get_by_role("link", name=name).focus()
            await page.keyboard.press("Alt+ArrowRight")
    await expect(page.get_by_role("region", name="done").get_by_role("link")).to_have_count(1)


async def plain(page: Page, url: str, name: str) -> None:
    await page.goto(f"{url}#/{name}")
    await expect(page.locator("h1")).to_be_visible()


SCREENS = {"conversation": talk, "approvals": ask, "team": team, "board": board}
PLAIN = ("runs", "usage")


async def take(light: str) -> None:
    chromium = found()
    assert chromium is not None, "there is no Chromium: make setup"
    program, environ = chromium
    with tempfile.TemporaryDirectory() as folder:
        server = Serving(Path(folder), {"QUARTERDECK_MODEL": script(Path(folder), *SAID, name="demo.json")})
        url = f"http://{server.host}/"
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=program, args=list(OPTIONS), env=dict(environ))
            context = await browser.new_context(viewport=SIZE, color_scheme=light, locale="en-US")  # type: ignore[arg-type]
            page = await context.new_page()
            for name, go in SCREENS.items():
                await go(page, url)
                await page.screenshot(path=PICTURES / f"{name}-{light}.png")
            for name in PLAIN:
                await plain(page, url, name)
                await page.screenshot(path=PICTURES / f"{name}-{light}.png")
            phone = await browser.new_context(viewport={"width": 360, "height": 740}, color_scheme=light)  # type: ignore[arg-type]
            page = await phone.new_page()
            await plain(page, url, "approvals")
            await page.screenshot(path=PICTURES / f"phone-{light}.png")
            await browser.close()
        server.stop()


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for light in ("light", "dark"):
        asyncio.run(take(light))
