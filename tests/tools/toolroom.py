"""What the tests of tools share: a site, calls and deeds, a small judge, a small redactor."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.adapters.tools.reading import reading_tools
from quarterdeck.adapters.tools.sandbox import Sandbox
from quarterdeck.adapters.tools.toolbox import LocalToolbox
from quarterdeck.adapters.tools.writing import writing_tools
from quarterdeck.engine.policy.command import Judged
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.ids import ConversationId, RunId, TenantId
from quarterdeck.kernel.parts import ToolCall
from quarterdeck.ports import Deed, Done, Site, Toolbox, Weighed

QUERIES = {"uname -a": "system_info", "apt list --upgradable": "package_check", "pwd": "system_info"}
READERS = {"cat", "ls", "head", "wc"}


def at(workspace: Path) -> Site:
    return Site(TenantId("local"), RunId("run"), ConversationId("talk"), str(workspace))


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall("c1", name, json.dumps(arguments))


@dataclass
class Bench:
    """A toolbox in use at one site."""

    box: Toolbox
    site: Site
    said: list[str] = field(default_factory=list)

    async def weigh(self, name: str, **arguments: Any) -> Weighed:
        return await self.box.weigh(call(name, **arguments), self.site)

    async def deed(self, name: str, *, password: str | None = None, **arguments: Any) -> Deed:
        asked = call(name, **arguments)
        return Deed(asked, self.site, await self.box.weigh(asked, self.site), "key", password)

    async def use(self, name: str, *, password: str | None = None, **arguments: Any) -> Done:
        return await self.do(await self.deed(name, password=password, **arguments))

    async def do(self, deed: Deed) -> Done:
        return await self.box.use(deed, self.said.append)

    async def fails(self, name: str, *, password: str | None = None, **arguments: Any) -> str:
        """The sentence with which it fails, at whatever point."""
        with pytest.raises(ToolFailed) as failed:
            await self.use(name, password=password, **arguments)
        return str(failed.value)


def files(workspace: Path) -> Bench:
    return Bench(LocalToolbox([*reading_tools(), *writing_tools()]), at(workspace))


def small_judge(command: str) -> Judged:
    """Knows three queries, four readers and sudo; everything else is the shell's."""
    if command in QUERIES:
        return Judged("low", QUERIES[command], "direct", tuple(command.split()), "It is a known query.")
    if command.startswith("rm -rf /"):
        return Judged("forbidden", "destructive", "none", (), "It destroys the machine.")
    words = tuple(shlex.split(command))
    if words[0] == "sudo":
        return Judged("high", "privileged", "sudo", words[1:], "It runs as root.")
    if words[0] in READERS and not set(command) & set(";|&<>$`\n"):
        reads = tuple(word for word in words[1:] if not word.startswith("-")) or (".",)
        return Judged("low", "file_read", "sandbox", words, "It only reads.", reads)
    return Judged("medium", "shell", "sandbox", ("/bin/sh", "-c", command), "A shell runs it.")


class SmallRedactor:
    """Replaces secrets, holding back what may be the beginning of one."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._secrets = secrets
        self._held = ""
        self._back = max((len(secret) - 1 for secret in secrets), default=0)

    def feed(self, text: str) -> str:
        held = self._held + text
        for secret in self._secrets:
            held = held.replace(secret, "[redacted]")
        cut = max(0, len(held) - self._back)
        self._held = held[cut:]
        return held[:cut]

    def end(self) -> str:
        held, self._held = self._held, ""
        return held


def works_here() -> bool:
    return Sandbox().works()


def confined() -> Callable[[Any], Any]:
    """A mark for tests that need bubblewrap."""
    return pytest.mark.skipif(not works_here(), reason="bubblewrap is absent or cannot confine here")  # type: ignore[return-value]
