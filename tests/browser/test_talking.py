"""Conversations in a real browser: said, streamed, steered, stopped, and picked up again."""

from __future__ import annotations

from typing import Any

from playwright.async_api import expect
from sight import Sight, say

LONG = {"content": [f"w{n} " for n in range(400)], "pace": 0.02}


async def test_a_first_message_is_answered_and_kept(sight: Sight, room: Any) -> None:
    here = room({"reasoning": ["Let me see."], "content": ["Hello **there**, ", "friend."]})
    page = await sight.open(here.url)
    await expect(page.get_by_text("scripted/script answers.")).to_be_visible()
    await say(page, "Good morning")
    await expect(page.locator(".said.assistant")).to_contain_text("Hello there, friend.")
    await expect(page.locator(".said.assistant strong").first).to_have_text("there")
    await page.reload()
    await expect(page.locator(".said.assistant")).to_contain_text("Hello there, friend.")
    await expect(page.locator(".list .line")).to_have_count(1)


async def test_a_new_conversation_is_a_new_one(sight: Sight, room: Any) -> None:
    page = await sight.open(room({"content": ["Hello."]}).url)
    for count in (1, 2, 3):
        await say(page, f"Number {count}")
        await expect(page.locator(".said.assistant")).to_contain_text("Hello.")
        await expect(page.locator(".list .line")).to_have_count(count)
        await page.get_by_role("link", name="New conversation").click()
        await expect(page.get_by_role("heading", name="What shall we do?")).to_be_visible()


async def test_two_tabs_show_the_same_run_at_the_same_point(sight: Sight, room: Any) -> None:
    here = room({"content": [f"w{n} " for n in range(30)], "pace": 0.03})
    one = await sight.open(here.url)
    await say(one, "Count")
    await expect(one.locator(".said.assistant")).to_contain_text("w2")
    other = await sight.tab(one.context, one.url)
    for page in (one, other):
        await expect(page.locator(".said.assistant")).to_contain_text("w29")
    texts = [await page.locator(".said.assistant .prose").inner_text() for page in (one, other)]
    assert texts[0] == texts[1]
    assert texts[0].split() == [f"w{n}" for n in range(30)]


async def test_an_answer_goes_on_after_the_server_was_killed(sight: Sight, room: Any) -> None:
    here = room({"content": [f"w{n} " for n in range(60)], "pace": 0.05})
    page = await sight.open(here.url)
    await say(page, "Count")
    await expect(page.locator(".said.assistant")).to_contain_text("w3")
    here.restart()
    await expect(page.locator(".said.assistant")).to_contain_text("w59")
    await expect(page.locator(".banner")).to_have_count(0)
    said = await page.locator(".said.assistant .prose").inner_text()
    assert said.split() == [f"w{n}" for n in range(60)]


async def test_a_word_to_a_run_that_works_is_heeded_and_a_stop_keeps_what_there_is(sight: Sight, room: Any) -> None:
    here = room(LONG, {"content": ["In short: done."]}, {**LONG, "when": "again"})
    page = await sight.open(here.url)
    await say(page, "Tell me a lot")
    await expect(page.locator(".said.assistant")).to_contain_text("w3")
    await page.get_by_label("When it is heard").select_option("interrupt")
    await say(page, "Shorter, please")
    await expect(page.locator(".said.assistant").last).to_contain_text("In short: done.")
    await say(page, "once again")
    await expect(page.locator(".said.assistant")).to_have_count(2)
    await expect(page.locator(".said.assistant").last).to_contain_text("w2")
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator(".said.assistant").last).to_contain_text("Stopped. This is what there was.")
    await expect(page.locator(".said.assistant").last).to_contain_text("w2")


async def test_words_that_could_not_be_sent_are_kept(sight: Sight, room: Any) -> None:
    here = room({"content": ["Hello."]})
    page = await sight.open(here.url)
    await expect(page.locator(".answers")).to_be_visible()
    port = here.server.port
    here.server.kill()
    await say(page, "Do not lose me")
    await expect(page.get_by_text("Your words are kept here.")).to_be_visible()
    here.server.start(port)
    await expect(page.locator("#composer")).to_have_value("Do not lose me")
    await page.locator("#composer").press("Enter")
    await expect(page.locator(".said.assistant")).to_contain_text("Hello.")
    await expect(page.locator(".said.user")).to_have_count(1)
