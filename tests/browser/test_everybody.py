"""The control room for everybody: three languages, a phone, the keyboard, a screen reader."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect
from sight import Sight, say

import quarterdeck.server.page as room_page

APP = Path(room_page.__file__).with_name("static") / "app"
AXE = Path(__file__).parent / "node_modules/axe-core/axe.min.js"
TALKING = ("", "approvals", "runs", "teams", "board")
KEEPING = ("tenants", "people", "memory", "experience", "skills", "audit", "usage", "settings")
ROOMS = (*TALKING, *KEEPING)
HELLO = {"content": ["## Hello\n\nA [link](https://example.org), `code` and\n\n```sh\nls\n```\n"]}
SAID = re.compile(r'\bt\(\s*"((?:[^"\\]|\\.)+)"')
LINE = re.compile(r'^  ("(?:[^"\\]|\\.)*"): "', re.MULTILINE)


def book(tag: str) -> set[str]:
    return {json.loads(found) for found in LINE.findall((APP / f"words/{tag}.js").read_text("utf-8"))}


@pytest.mark.parametrize("tag", ["zh", "ru"])
def test_whatever_the_page_says_it_says_in_every_language(tag: str) -> None:
    modules = [path for path in APP.rglob("*.js") if path.parent.name != "words"]
    said = {found for path in modules for found in SAID.findall(path.read_text("utf-8"))}
    assert len(said) > 100
    assert said - book(tag) == set()
    assert book("zh") == book("ru")


@pytest.mark.parametrize(
    ("locale", "title", "send"),
    [
        ("en-GB", "What shall we do?", "Send"),
        ("zh-CN", "我们做什么？", "发送"),
        ("ru-RU", "Что будем делать?", "Отправить"),
    ],
)
async def test_people_are_spoken_to_in_their_language(
    sight: Sight, room: Any, locale: str, title: str, send: str
) -> None:
    page = await sight.open(room(HELLO).url, locale=locale)
    await expect(page.get_by_role("heading", name=title)).to_be_visible()
    await expect(page.get_by_role("button", name=send)).to_be_visible()
    await page.locator(".foot select").first.select_option("ru")
    await expect(page.get_by_role("button", name="Отправить")).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("button", name="Отправить")).to_be_visible()


async def talk_first(page: Page) -> None:
    await say(page, "Hello, please")
    await expect(page.locator(".said.assistant .prose")).to_be_visible()


async def test_nothing_is_wider_than_a_phone(sight: Sight, room: Any) -> None:
    here = room(HELLO)
    page = await sight.open(here.url, width=360, height=740, has_touch=True)
    await talk_first(page)
    for name in (*ROOMS, page.url.partition("#/")[2]):
        await page.goto(f"{here.url}#/{name}")
        await expect(page.locator("main")).not_to_be_empty()
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360, name
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("link", name="Settings").click()
    await expect(page.get_by_role("heading", name="Settings")).to_be_visible()


async def test_every_room_is_reached_by_the_keyboard(sight: Sight, room: Any) -> None:
    page = await sight.open(room(HELLO).url)
    await expect(page.locator("#composer")).to_be_focused()
    await page.locator("#main").focus()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    for key, heading in (("a", "Approvals"), ("r", "Runs"), ("m", "Memory"), ("l", "Audit"), ("u", "Usage")):
        await page.keyboard.press("g")
        await page.keyboard.press(key)
        await expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: npm is missing")
@pytest.mark.parametrize("light", ["light", "dark"])
async def test_a_screen_reader_finds_its_way(sight: Sight, room: Any, light: Any) -> None:
    here = room(HELLO)
    page = await sight.open(here.url, color_scheme=light, bypass_csp=True)
    await talk_first(page)
    await page.add_script_tag(path=AXE)
    for name in (*ROOMS, page.url.partition("#/")[2]):
        await page.evaluate("to => location.hash = '#/' + to", name)
        await expect(page.locator("main")).not_to_be_empty()
        found = await page.evaluate("axe.run().then(told => told.violations)")
        serious = [
            (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in {"serious", "critical"}
        ]
        assert serious == [], name
