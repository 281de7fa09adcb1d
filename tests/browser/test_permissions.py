"""What a run asks of people, answered in a browser, at a desk and on a phone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from playwright.async_api import expect
from sight import Sight, say

PASSWORD = "planted-secret-4711"
# Asks for a password on its standard input as sudo does, and then runs the command with an empty one.
SUDO = """#!/bin/sh
while [ $# -gt 0 ]; do case "$1" in -p) shift; shift;; -*) shift;; *) break;; esac; done
IFS= read -r given
[ "$given" = "planted-secret-4711" ] || { echo "sudo: 1 incorrect password attempt" >&2; exit 1; }
exec "$@" < /dev/null
"""


def wishing(command: str, then: str = "All done.") -> tuple[dict[str, Any], ...]:
    call = {"id": "c1", "name": "shell_exec_safe", "arguments": {"command": command}}
    return ({"calls": [call]}, {"content": [then]})


async def test_what_is_allowed_is_what_runs(sight: Sight, room: Any) -> None:
    here = room(*wishing("echo made > made.txt"))
    page = await sight.open(here.url)
    await say(page, "Make a file")
    card = page.get_by_role("group", name="Waits for your answer")
    await expect(card.locator(".shown")).to_contain_text("echo made > made.txt")
    await expect(page).to_have_title("(1) Quarterdeck")
    assert not (here.workspace / "made.txt").exists()
    await card.get_by_role("button", name="Allow once").click()
    await expect(page.locator(".said.assistant")).to_contain_text("All done.")
    assert (here.workspace / "made.txt").read_text() == "made\n"
    await expect(page).to_have_title("Quarterdeck")


async def test_a_phone_refuses_what_a_desk_began_and_both_see_it(sight: Sight, room: Any) -> None:
    here = room(*wishing("echo made > made.txt", "As you wish."))
    desk = await sight.open(here.url)
    await say(desk, "Make a file")
    await expect(desk.get_by_role("group", name="Waits for your answer")).to_be_visible()
    phone = await sight.open(f"{here.url}#/approvals", width=360, height=740, has_touch=True)
    card = phone.get_by_role("group", name="Waits for your answer")
    await card.get_by_label("Words for the agent (optional)").fill("Not today")
    await card.get_by_role("button", name="Deny").click()
    await expect(phone.get_by_text("Nothing waits for you.")).to_be_visible()
    await expect(desk.locator(".said.assistant")).to_contain_text("As you wish.")
    await expect(desk.locator(".decided")).to_contain_text("Not today")
    assert not (here.workspace / "made.txt").exists()


async def test_arguments_are_edited_before_they_are_allowed(sight: Sight, room: Any) -> None:
    here = room(*wishing("echo one > made.txt"))
    page = await sight.open(here.url)
    await say(page, "Make a file")
    card = page.get_by_role("group", name="Waits for your answer")
    await card.get_by_role("button", name="Edit").click()
    await card.get_by_label("Arguments").fill('{"command": "echo two > made.txt"}')
    await card.get_by_role("button", name="Allow once").click()
    await expect(page.locator(".said.assistant")).to_contain_text("All done.")
    assert (here.workspace / "made.txt").read_text() == "two\n"


async def test_what_cannot_be_seen_is_shown(sight: Sight, room: Any) -> None:
    here = room(*wishing("echo safe \u202e txt.exe \u200b # \x1b[2K"))
    page = await sight.open(here.url)
    await say(page, "Do it")
    shown = page.get_by_role("group", name="Waits for your answer").locator(".shown")
    await expect(shown).to_contain_text("\\u{202e}")
    await expect(shown).to_contain_text("\\u{200b}")
    assert not set(await shown.inner_text()) & {"\u202e", "\u200b", "\x1b"}


async def test_the_one_time_password_is_found_nowhere_afterwards(sight: Sight, room: Any, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sudo").write_text(SUDO)
    (programs / "sudo").chmod(0o755)
    here = room(*wishing("sudo touch effect"), PATH=f"{programs}:{os.environ['PATH']}")
    page = await sight.open(here.url)
    await say(page, "Do it as root")
    await page.get_by_role("button", name="Allow once").click()
    field = page.get_by_label("One-time password")
    await expect(field).to_have_attribute("type", "password")
    await field.fill(PASSWORD)
    await page.get_by_role("button", name="Hand over").click()
    await expect(page.locator(".said.assistant")).to_contain_text("All done.")
    assert PASSWORD not in await page.content()
    kept = await page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, location.href])")
    assert PASSWORD not in kept
    here.server.stop()
    files = [path for path in here.server.folder.rglob("*") if path.is_file() and path != programs / "sudo"]
    assert any(path.name == "quarterdeck.db" for path in files)
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []
