"""A conversation as long as years, and a server that asks who one is."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.async_api import expect
from sight import Sight, say

from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock
from quarterdeck.events.talk import ConversationOpened, MessageAdded
from quarterdeck.kernel.ids import ConversationId, conversation_stream
from quarterdeck.kernel.scope import LOCAL_TENANT
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.views.tables import TABLES, VIEWS

MESSAGES = 5_000


async def filled(database: Path) -> None:
    log = Log(SqliteStore(database), SystemClock(), TABLES, VIEWS)
    spoken = tuple(MessageAdded("user" if n % 2 else "assistant", f"message {n}") for n in range(MESSAGES))
    stream = conversation_stream(LOCAL_TENANT, ConversationId("long"))
    await log.append(Entry(stream, spoken, opening=(ConversationOpened("Long"),)))
    await log.close()


async def test_of_five_thousand_messages_the_last_are_shown_and_the_others_are_at_hand(
    sight: Sight, room: Any, tmp_path: Path
) -> None:
    await filled(tmp_path / "quarterdeck.db")
    page = await sight.open(f"{room({'content': ['And on it goes.']}).url}#/c/long")
    await expect(page.get_by_text(f"message {MESSAGES - 1}", exact=True)).to_be_in_viewport()
    assert await page.locator(".said").count() < 100
    await page.get_by_role("button", name="Earlier").click()
    await expect(page.get_by_text(f"message {MESSAGES - 100}", exact=True)).to_be_attached()
    await say(page, "Go on")
    await expect(page.locator(".said.assistant").last).to_contain_text("And on it goes.")


def certificate(folder: Path) -> tuple[str, str]:
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    made = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    named = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert)
    subprocess.run([*made, *named], check=True, capture_output=True)
    return cert, key


def first_token(folder: Path) -> str:
    environ = {**os.environ, "QUARTERDECK_DATA_DIR": str(folder)}
    create = [sys.executable, "-m", "quarterdeck", "tokens", "create", "--operator"]
    return subprocess.run(create, env=environ, capture_output=True, text=True, check=True).stdout.split()[-1]


async def test_whoever_signs_in_works_and_whoever_signs_out_sees_nothing(
    sight: Sight, room: Any, tmp_path: Path
) -> None:
    cert, key = await asyncio.to_thread(certificate, tmp_path)
    token = await asyncio.to_thread(first_token, tmp_path)
    guarded = {"QUARTERDECK_AUTH": "on", "QUARTERDECK_TLS_CERT": cert, "QUARTERDECK_TLS_KEY": key}
    here = room({"content": ["Good to see you."]}, **guarded)
    page = await sight.open(here.url, ignore_https_errors=True)
    await page.get_by_label("Token").fill("qd_nobody_nothing")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await page.get_by_label("Token").fill(token)
    await page.get_by_role("button", name="Sign in").click()
    await say(page, "Hello")
    await expect(page.locator(".said.assistant")).to_contain_text("Good to see you.")
    assert token not in await page.evaluate("JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])")
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    await expect(page.get_by_text("Good to see you.")).to_have_count(0)
