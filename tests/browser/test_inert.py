"""Whatever a model, a tool, a name or a file says: it is text. Nothing in it acts, and no request leaves."""

from __future__ import annotations

from typing import Any

from hostile_texts import TEXTS
from playwright.async_api import expect
from sight import Sight, say

FOREIGN = (
    *("iframe", "object", "embed", "form[action]", "video", "audio", "base", "math", "style", "meta[http-equiv]"),
    'link:not([href^="/static/"])',
    'script:not([src^="/static/"])',
    'img:not([src^="/static/"])',
    'a[href]:not([href^="#"]):not([href^="http"]):not([href^="/"])',
)
NOTHING_BUT_OURS = f"[...document.querySelectorAll({', '.join(FOREIGN)!r})].map(each => each.outerHTML)"


def test_there_are_as_many_texts_as_it_takes() -> None:
    assert len(set(TEXTS)) >= 150


async def test_no_text_of_a_model_acts(sight: Sight, room: Any) -> None:
    half = len(TEXTS) // 2
    here = room(
        {"reasoning": ["\n\n".join(TEXTS[:20])], "content": [f"{text}\n\n" for text in TEXTS[:half]]},
        {"content": [f"{text}\n\n" for text in TEXTS[half:]] + ["the very end"]},
    )
    page = await sight.open(here.url)
    await say(page, TEXTS[0])
    await expect(page.locator(".said.assistant .tools")).to_have_count(1)
    await page.get_by_role("button", name="Steps").or_(page.get_by_role("button", name="Hide steps")).click()
    await say(page, "\n".join(TEXTS))
    await expect(page.locator(".said.assistant").last).to_contain_text("the very end")
    await page.mouse.move(640, 300)
    await page.mouse.wheel(0, -20_000)
    assert await page.evaluate("window.hit") is None
    assert await page.evaluate(NOTHING_BUT_OURS) == []
    await page.reload()
    await expect(page.locator(".said.assistant").last).to_contain_text("the very end")
    assert await page.evaluate("window.hit") is None
    assert await page.evaluate(NOTHING_BUT_OURS) == []


async def test_no_name_and_no_output_of_a_tool_acts(sight: Sight, room: Any) -> None:
    calls = [{"id": "c1", "name": "file_read", "arguments": {"path": "<img src=x onerror=window.hit=1>.txt"}}]
    ask = [{"id": "c2", "name": "shell_exec_safe", "arguments": {"command": f"echo '{TEXTS[0]}' && {TEXTS[1]}"}}]
    here = room({"calls": calls}, {"calls": ask}, {"content": ["the very end"]})
    (here.workspace / "<img src=x onerror=window.hit=1>.txt").write_text("\n".join(TEXTS))
    page = await sight.open(here.url)
    await say(page, "Read <svg onload=window.hit=1>")
    await page.get_by_role("button", name="file_read").click()
    await expect(page.locator(".card-body")).to_contain_text("evil.example")
    await page.get_by_role("button", name="Deny").click()
    await expect(page.locator(".said.assistant").last).to_contain_text("the very end")
    for name in ("approvals", "runs", "audit"):
        await page.evaluate("to => location.hash = '#/' + to", name)
        await expect(page.locator("h1")).to_be_visible()
        assert await page.evaluate(NOTHING_BUT_OURS) == []
    assert await page.evaluate("window.hit") is None
