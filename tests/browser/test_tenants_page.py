"""A tenant, its provider and its employees, in a real browser."""

from __future__ import annotations

from typing import Any

from playwright.async_api import expect
from sight import Sight, say

KEY = "sk-planted-0815-abcd"


async def test_an_employee_is_hired_and_answers(sight: Sight, room: Any) -> None:
    here = room({"content": ["At your service."]})
    page = await sight.open(f"{here.url}#/tenants")
    await page.get_by_label("Name of a new tenant").fill("Acme & Söhne")
    await page.get_by_role("button", name="Add a tenant").click()
    await expect(page.get_by_role("heading", name="Acme & Söhne")).to_be_visible()
    await page.get_by_label("The server's own model").select_option("when_unset")
    await page.get_by_role("button", name="Keep").click()
    await expect(page.get_by_text("Kept.")).to_be_visible()
    await page.get_by_role("button", name="Hire").click()
    await page.get_by_label("Name", exact=True).fill("Mira")
    await page.get_by_label("Who it is and how it works").fill("You are Mira.")
    await page.locator("form.card").get_by_role("button", name="Keep").click()
    await page.get_by_role("button", name="Talk").click()
    await expect(page.get_by_role("heading", name="Mira")).to_be_visible()
    await say(page, "Good morning")
    await expect(page.locator(".said.assistant")).to_contain_text("At your service.")
    await page.goto(f"{here.url}#/runs")
    await expect(page.get_by_role("link", name="Good morning")).to_be_visible()


async def test_a_key_is_never_shown_again(sight: Sight, room: Any) -> None:
    here = room({"content": ["Hello."]})
    page = await sight.open(f"{here.url}#/tenants")
    await page.get_by_label("Name of a new tenant").fill("Acme")
    await page.get_by_role("button", name="Add a tenant").click()
    await page.get_by_label("Provider", exact=True).fill("openai")
    await page.get_by_label("Model", exact=True).fill("gpt-4.1")
    await page.get_by_label("Key", exact=True).fill(KEY)
    await page.get_by_role("button", name="Keep").click()
    await expect(page.get_by_label("Key (there is one that ends in abcd)")).to_have_value("")
    await page.reload()
    await expect(page.get_by_label("Key (there is one that ends in abcd)")).to_have_value("")
    assert KEY not in await page.content()
