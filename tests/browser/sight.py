"""Pages in a browser, and what they did that no page may: errors, and requests to anybody else."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request

# Streams that were left, and what is not there yet, are told in the console by the browser itself.
HARMLESS = ("Failed to load resource", "net::ERR")


class Sight:
    def __init__(self, browser: Browser, wait_ms: int) -> None:
        self._browser, self._wait_ms = browser, wait_ms
        self._contexts: list[BrowserContext] = []
        self.errors: list[str] = []
        self.strangers: list[str] = []
        self._home = ""

    async def open(self, url: str, *, width: int = 1280, height: int = 800, **options: Any) -> Page:
        """A new window, as somebody who was never here before."""
        self._home = url.split("#", maxsplit=1)[0]
        options = {"locale": "en-US", **options}
        context = await self._browser.new_context(viewport={"width": width, "height": height}, **options)
        self._contexts.append(context)
        context.set_default_timeout(self._wait_ms)
        return await self.tab(context, url)

    async def tab(self, context: BrowserContext, url: str) -> Page:
        page = await context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._said)
        page.on("request", self._asked)
        await page.goto(url)
        return page

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(HARMLESS):
            self.errors.append(message.text)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self._home, "data:", "blob:")):
            self.strangers.append(request.url)

    async def close(self) -> None:
        for context in self._contexts:
            await context.close()


async def say(page: Page, words: str) -> None:
    await page.locator("#composer").fill(words)
    await page.locator("#composer").press("Enter")
