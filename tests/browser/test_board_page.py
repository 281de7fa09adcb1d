"""The board in a real browser: tasks moved by hand and by keyboard, a chat that two people see."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Page, expect
from sight import Sight

NAMES = ("Write the copy", "Choose colours")


async def opened(sight: Sight, url: str) -> Page:
    page = await sight.open(f"{url}#/board")
    await page.get_by_label("Name of a new project").fill("Launch")
    await page.get_by_role("button", name="Open a project").click()
    await expect(page.get_by_role("heading", name="Launch")).to_be_visible()
    return page


def column(page: Page, name: str) -> Any:
    return page.get_by_role("region", name=name)


async def test_a_task_is_moved_by_hand_and_by_keyboard_and_stays_there(sight: Sight, room: Any) -> None:
    page = await opened(sight, room({"content": ["Hello."]}).url)
    for name in NAMES:
        await page.get_by_label("New task… to do").fill(name)
        await page.keyboard.press("Enter")
        await expect(column(page, "to do").get_by_text(name)).to_be_visible()
    await column(page, "to do").get_by_text(NAMES[0]).drag_to(column(page, "in progress"))
    await expect(column(page, "in progress").get_by_text(NAMES[0])).to_be_visible()
    await page.get_by_role("link", name=NAMES[1]).focus()
    await page.keyboard.press("Alt+ArrowRight")
    await expect(column(page, "in progress").get_by_text(NAMES[1])).to_be_visible()
    await expect(page.get_by_role("link", name=NAMES[1])).to_be_focused()
    await page.reload()
    for name in NAMES:
        await expect(column(page, "in progress").get_by_text(name)).to_be_visible()


async def test_a_task_that_may_not_go_there_goes_back_and_says_why(sight: Sight, room: Any) -> None:
    page = await opened(sight, room({"content": ["Hello."]}).url)
    await page.get_by_label("New task… backlog").fill(NAMES[0])
    await page.keyboard.press("Enter")
    await column(page, "backlog").get_by_text(NAMES[0]).drag_to(column(page, "in review"))
    await expect(page.get_by_role("alert")).to_contain_text("goes on to one of")
    await expect(column(page, "backlog").get_by_text(NAMES[0])).to_be_visible()


async def test_two_people_see_the_same_task_and_the_same_chat(sight: Sight, room: Any) -> None:
    page = await opened(sight, room({"content": ["Hello."]}).url)
    other = await sight.tab(page.context, page.url)
    await page.get_by_label("New task… to do").fill(NAMES[0])
    await page.keyboard.press("Enter")
    await column(other, "to do").get_by_text(NAMES[0]).click()
    sheet = other.get_by_role("dialog")
    await sheet.get_by_label("Write a comment").fill("Short, please")
    await sheet.get_by_role("button", name="Send").click()
    await expect(sheet.locator(".message")).to_contain_text("Short, please")
    await other.keyboard.press("Escape")
    for each in (page, other):
        await each.get_by_role("link", name="Chat").click()
    await page.locator("#composer").fill("Good morning, everybody")
    await page.locator("#composer").press("Enter")
    await expect(other.locator(".message")).to_contain_text("Good morning, everybody")


async def test_a_new_agents_token_is_shown_once_and_who_would_be_woken_before_it_is(sight: Sight, room: Any) -> None:
    page = await opened(sight, room({"content": ["Hello."]}).url)
    await page.get_by_role("link", name="Members").click()
    await page.get_by_label("Name", exact=True).fill("Ada")
    await page.get_by_label("Who drives it").select_option("external")
    await page.get_by_role("button", name="Add the agent").click()
    await expect(page.locator(".card.here pre")).to_contain_text("QUARTERDECK_TOKEN=qd_")
    await page.get_by_role("link", name="Chat").click()
    await page.locator("#composer").fill("What do you think, @a")
    await page.get_by_role("button", name="@ada").click()
    await expect(page.get_by_text("Wakes: @ada")).to_be_visible()
    await page.get_by_role("link", name="Members").click()
    await expect(page.get_by_text("@ada")).to_be_visible()
    await expect(page.locator(".card.here")).to_have_count(0)


async def test_an_agent_that_we_drive_is_woken_and_is_seen_speaking(sight: Sight, room: Any) -> None:
    words = [f"w{n} " for n in range(80)]
    page = await opened(sight, room({"content": words, "pace": 0.05}).url)
    await page.get_by_role("link", name="Members").click()
    await page.get_by_label("Name", exact=True).fill("Ada")
    await page.get_by_role("button", name="Add the agent").click()
    await expect(page.locator(".card.here")).to_be_visible()
    await page.get_by_role("link", name="Chat").click()
    await page.locator("#composer").fill("@ada, count please")
    await page.locator("#composer").press("Enter")
    await expect(page.locator(".speech")).to_contain_text("w3")
    other = await sight.tab(page.context, page.url)
    await expect(other.locator(".speech")).to_contain_text("w0 w1 w2")
    for each in (page, other):
        await expect(each.locator(".message:not(.speech)").last).to_contain_text("w79")
        await expect(each.locator(".speech")).to_have_count(0)
