"""A team at work in a real browser: its plan drawn, a debate, words from people, and an early stop."""

from __future__ import annotations

import json
from typing import Any

from playwright.async_api import Page, expect
from sight import Sight

PLAN = {
    "phases": [
        {"id": "look", "name": "Look around", "expert": "Ada", "task": "Look.", "depends_on": []},
        {"id": "doubt", "name": "Find risks", "expert": "Boris", "task": "Doubt.", "depends_on": []},
        {"id": "join", "name": "Join both", "expert": "Ada", "task": "Join.", "depends_on": ["look", "doubt"]},
    ]
}
VERDICT = {
    "verdict": "Take SQLite.",
    "reasons": ["It is enough."],
    "dissent": ["Boris is not sure."],
    "confidence": 0.8,
}
SLOWLY = [f"w{n} " for n in range(40)]
PLANNED = {"when": "Divide the task", "content": [json.dumps(PLAN)]}
DEBATED = (
    {"when": "You moderate a debate", "content": ["Which database?"]},
    {"when": "You have not heard the others", "content": ["I am for SQLite."]},
    {"when": "The debate goes on", "content": ["Agreed then.\nAGREE"]},
    {"when": "You moderated this debate", "content": [json.dumps(VERDICT)]},
)
ANSWER = {"when": "the work is over", "content": ["All in all: **it works**."]}
STOPPED = {"when": "stopped the work early", "content": ["This is what there was."]}
WORK = {"content": SLOWLY, "pace": 0.03}


async def begun(sight: Sight, url: str, *, ask_first: bool = False) -> Page:
    page = await sight.open(f"{url}#/teams")
    await page.get_by_label("Name of the team").fill("Crew")
    await page.get_by_role("button", name="Form the team").click()
    await page.get_by_label("What shall the team do?").fill("Choose a database")
    if ask_first:
        await page.get_by_label("Show me the plan first").check()
    await page.get_by_role("button", name="Begin").click()
    await expect(page.get_by_role("heading", name="Choose a database")).to_be_visible()
    return page


def phase(page: Page, name: str) -> Any:
    return page.locator(".phase", has_text=name)


async def test_a_team_works_debates_and_answers(sight: Sight, room: Any) -> None:
    page = await begun(sight, room(PLANNED, *DEBATED, ANSWER, STOPPED, WORK).url)
    await expect(phase(page, "Look around")).to_have_class("phase running execution")
    await expect(phase(page, "Find risks")).to_have_class("phase running execution")
    await expect(phase(page, "Join both")).to_have_class("phase pending execution")
    await page.locator("#composer").fill("/debate SQLite or PostgreSQL")
    await page.locator("#composer").press("Enter")
    await expect(page.get_by_role("list", name="What was said")).to_contain_text("applied")
    debate = phase(page, "SQLite or PostgreSQL")
    await expect(debate).to_have_class("phase completed debate")
    await debate.click()
    await expect(page.locator("section.debate")).to_contain_text("I am for SQLite.")
    await expect(page.locator("section.debate .card")).to_contain_text("Take SQLite.")
    await expect(page.locator("section.debate .card")).to_contain_text("Boris is not sure.")
    await expect(page.get_by_role("heading", name="The answer")).to_be_visible()
    await expect(page.locator(".page")).to_contain_text("it works")


async def test_an_experts_words_are_seen_while_they_come(sight: Sight, room: Any) -> None:
    page = await begun(sight, room(PLANNED, *DEBATED, ANSWER, STOPPED, WORK).url)
    await phase(page, "Look around").click()
    await expect(page.locator(".card.here .prose").last).to_contain_text("w3")


async def test_a_plan_waits_is_changed_and_then_carried_out(sight: Sight, room: Any) -> None:
    page = await begun(sight, room(PLANNED, *DEBATED, ANSWER, STOPPED, WORK).url, ask_first=True)
    await expect(page.get_by_text("The plan waits for you.")).to_be_visible()
    await page.get_by_role("button", name="Edit").click()
    await page.locator("fieldset").last.get_by_role("button", name="Leave out").click()
    await page.get_by_role("button", name="Carry this out").click()
    await expect(page.locator(".phase")).to_have_count(2)
    await expect(page.get_by_role("heading", name="The answer")).to_be_visible()


async def test_a_stop_keeps_and_sums_up_what_there_is(sight: Sight, room: Any) -> None:
    page = await begun(sight, room(PLANNED, *DEBATED, ANSWER, STOPPED, {**WORK, "pace": 0.3}).url)
    await expect(phase(page, "Look around")).to_have_class("phase running execution")
    await page.get_by_role("button", name="Stop").click()
    await expect(page.get_by_role("heading", name="What there is")).to_be_visible()
    await expect(page.locator(".head .state")).to_have_text("stopped")
    await expect(page.locator("#composer")).to_be_disabled()
