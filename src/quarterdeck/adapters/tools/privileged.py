"""What sudo came to, in words, and how one that is not wanted any more is ended."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from quarterdeck.adapters.tools.output import Output
from quarterdeck.ports import Done

END_S = 5.0
_REFUSED = ("incorrect password attempt", "no password was provided", "a password is required")


@dataclass(frozen=True, slots=True)
class Ran:
    """`status` is None where sudo did not run, or not to its end."""

    status: int | None
    stdout: str
    stderr: str

    def said(self, prompt: str) -> str:
        parts = (self.stdout, self.stderr.replace(prompt, ""))
        return "\n".join(part.rstrip("\n") for part in parts if part)


def told(ran: Ran, prompt: str, said: Output) -> Done:
    """`prompt` twice means that the first answer was wrong."""
    if ran.status and (ran.stderr.count(prompt) > 1 or any(sign in ran.stderr for sign in _REFUSED)):
        return Done("sudo did not accept the password; nothing was run.", ok=False, exit_status=ran.status)
    text = said.text.strip("\n") or "(it said nothing)"
    if ran.status:
        text = f"{text}\n[exit status {ran.status}]"
    return Done(text, ok=ran.status == 0, exit_status=ran.status, digest=said.digest)


async def end(prompt: str, ran: asyncio.Task[Ran]) -> None:
    """End the sudo that was given this prompt, which is nobody else's, and what it started.

    As far as we may: what belongs to root is not ended by a server that is not root's, but by its time limit at most.
    """
    await asyncio.to_thread(_end, prompt.encode())
    with suppress(asyncio.CancelledError):
        await asyncio.wait([ran], timeout=END_S)


def _end(prompt: bytes) -> None:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # gone, or root's and not ours to end
            if prompt in entry.read_bytes().split(b"\0"):
                os.killpg(int(entry.parent.name), signal.SIGKILL)
